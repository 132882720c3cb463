//! Where images live does not change what is learnt, masks hide what they cover, and damaged images cost no more than
//! themselves.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};

use kiln::run::interrupt::Interrupt;
use kiln_tests::runs::{self, Scratch, json, outcome};
use serde_json::Value;

/// 24 steps, two epochs of the scenes made here, with a densification; phases of two image sizes.
const BRIEF: &[(&str, &str)] = &[
    ("dataset.resolution", "1"),
    ("schedule.iterations", "24"),
    ("schedule.test", "[]"),
    ("schedule.save", "[]"),
    ("schedule.resolution", "[{ until: 6, scale: 0.5 }]"),
    ("memory.max_gaussians", "1500"),
    (
        "strategy.densify",
        "{ from: 2, until: 20, every: 8, grad_threshold: 0.0005 }",
    ),
    ("init", "{ kind: random_box, count: 600, half_side: 0.6 }"),
    ("train.deterministic", "true"),
    ("eval.lpips", "false"),
    ("eval.views_logged", "1"),
    ("diagnose.validation", "false"),
];

const SIZE: (u32, u32) = (96, 64);
const VIEWS: u32 = 14;

/// A Blender scene of coloured discs seen from a ring of cameras; `alter` may change the bytes of an image's pixels.
fn write_scene(root: &Path, alter: impl Fn(u32, &mut image::RgbImage)) {
    fs::create_dir_all(root.join("train")).unwrap();
    let mut frames = Vec::new();
    for n in 0..VIEWS {
        let angle = f64::from(n) * std::f64::consts::TAU / f64::from(VIEWS);
        let (s, c) = angle.sin_cos();
        let mut picture = image::RgbImage::from_fn(SIZE.0, SIZE.1, |x, y| {
            let at = |cx: f64, cy: f64| (f64::from(x) - cx).hypot(f64::from(y) - cy);
            match (at(48.0 + 20.0 * s, 32.0), at(48.0 - 14.0 * c, 24.0)) {
                (near, _) if near < 14.0 => image::Rgb([220, 90, (x * 2) as u8]),
                (_, far) if far < 9.0 => image::Rgb([40, 200, (y * 3) as u8]),
                _ => image::Rgb([30, 30, (40 + y) as u8]),
            }
        });
        alter(n, &mut picture);
        picture.save(root.join(format!("train/v{n:02}.png"))).unwrap();
        // looks at the origin from two units away
        frames.push(format!(
            r#"{{"file_path":"train/v{n:02}","transform_matrix":
                [[{c},0,{s},{}],[0,1,0,0],[{},0,{c},{}],[0,0,0,1]]}}"#,
            2.0 * s,
            -s,
            2.0 * c
        ));
    }
    let json = format!(r#"{{"camera_angle_x":0.9,"frames":[{}]}}"#, frames.join(","));
    fs::write(root.join("transforms_train.json"), json).unwrap();
}

fn train(root: &Path, scene: &Path, settings: &[(&str, &str)]) {
    let profile = runs::profile(root, &[BRIEF, settings]);
    runs::train_scene(profile, scene.to_owned(), None, &Interrupt::unattached()).unwrap();
}

fn warnings(root: &Path) -> Vec<String> {
    let text = |row: Value| row["detail"]["message"].as_str().unwrap().to_owned();
    runs::events(root, "warning").into_iter().map(text).collect()
}

/// Runs of one scene with images in device memory, in host memory, and streamed through a cache that holds 28 of 40.
fn residencies(scratch: &Scratch, scene: &Path, settings: &[(&str, &str)]) -> Vec<PathBuf> {
    let ways = [("device", "1"), ("host", "1"), ("stream", "0.001")];
    let run = |(residency, cache)| {
        let root = scratch.join(residency);
        let way = [("dataset.residency", residency), ("dataset.cache_gib", cache)];
        train(&root, scene, &[settings, &way].concat());
        root
    };
    ways.into_iter().map(run).collect()
}

fn assert_same_models(roots: &[PathBuf], iteration: u32) {
    let first = runs::raw_model(&roots[0], iteration);
    for other in &roots[1..] {
        assert_eq!(runs::history(&roots[0]), runs::history(other));
        assert!(
            first == runs::raw_model(other, iteration),
            "{} differs",
            other.display()
        );
    }
}

/// Images of 37 KB each; the bundled scene's 40 do not fit the smallest cache, so `stream` decodes some twice.
#[test]
fn every_residency_learns_the_same_bytes() {
    let scratch = Scratch::new("residency");
    let settings = [
        ("dataset.resolution", "128"),
        ("init", "{ kind: sfm_points }"),
        ("schedule.iterations", "44"),
        ("memory.max_gaussians", "4000"),
    ];
    let roots = residencies(&scratch, &runs::scene(), &settings);
    assert_same_models(&roots, 44);
    for root in &roots {
        let images = runs::events(root, "images");
        assert_eq!(images.len(), 1);
        let detail = &images[0]["detail"];
        assert!(root.ends_with(detail["residency"].as_str().unwrap()));
        assert_eq!(detail["images"], 40);
        let first = runs::events(root, "first_step");
        let detail = &first[0]["detail"];
        assert!(detail["images"].as_u64().unwrap() > 0 && detail["seconds"].as_f64().unwrap() > 0.0);
        assert!(warnings(root).is_empty());
    }
    let needed = |root: &Path| {
        runs::events(root, "images")[0]["detail"]["host_bytes"]
            .as_u64()
            .unwrap()
    };
    assert!(needed(&roots[2]) < needed(&roots[1]));
}

#[test]
fn damaged_images_are_told_once_and_left_out() {
    let scratch = Scratch::new("damaged");
    let scene = scratch.join("scene");
    write_scene(&scene, |_, _| ());
    let damage = |n: u32| {
        let path = scene.join(format!("train/v{n:02}.png"));
        let whole = fs::read(&path).unwrap();
        fs::write(path, &whole[..whole.len() * 2 / 3]).unwrap();
    };
    // v00 and v08 are the test views
    damage(3);
    damage(8);
    damage(10);
    let roots = residencies(&scratch, &scene, &[]);
    assert_same_models(&roots, 24);
    for root in &roots {
        let found = warnings(root);
        for name in ["v03.png", "v08.png", "v10.png"] {
            let count = found
                .iter()
                .filter(|w| w.contains(name) && w.contains("left out"))
                .count();
            assert_eq!(count, 1, "{name} in {found:?}");
        }
        let eval = json(&root.join("eval/iteration_24/metrics.json"));
        assert_eq!(eval["test"]["mean"]["n"], 1);
        assert_eq!(json(&root.join("run.json"))["status"], "done");
    }
}

#[test]
fn a_scene_without_a_usable_image_ends_with_the_code_of_bad_data() {
    let scratch = Scratch::new("unusable");
    let scene = scratch.join("scene");
    write_scene(&scene, |_, _| ());
    for n in 0..VIEWS {
        let path = scene.join(format!("train/v{n:02}.png"));
        let whole = fs::read(&path).unwrap();
        fs::write(path, &whole[..200]).unwrap();
    }
    for residency in ["device", "stream"] {
        let mut command = runs::kiln();
        command.arg("train").arg(&scene).arg("-o").arg(scratch.join(residency));
        for (key, value) in BRIEF.iter().chain(&[("dataset.residency", residency)]) {
            command.args(["--set", &format!("{key}={value}")]);
        }
        command.args(["--profile", "cpu"]);
        let (code, text) = outcome(&mut command);
        assert_eq!(code, Some(4), "{text}");
        assert!(text.contains("none of its 12 training images can be used"), "{text}");
        assert!(!text.contains("panicked"), "{text}");
    }
}

/// Whether a pixel counts in the masks of these tests.
fn counts(n: u32, x: u32, y: u32) -> bool {
    x > 12 + n && !(y < 20 && x > 70)
}

fn write_masks(folder: &Path) {
    fs::create_dir_all(folder.join("train")).unwrap();
    for n in 0..VIEWS {
        let value = |x, y| image::Luma([if counts(n, x, y) { 255 } else { 0 }]);
        let mask = image::GrayImage::from_fn(SIZE.0, SIZE.1, value);
        mask.save(folder.join(format!("train/v{n:02}.png"))).unwrap();
    }
}

#[test]
fn what_is_masked_changes_neither_model_nor_figures() {
    let scratch = Scratch::new("masked");
    let [plain, spoiled] = ["plain", "spoiled"].map(|name| scratch.join(name));
    write_scene(&plain, |_, _| ());
    write_scene(&spoiled, |n, picture| {
        for (x, y, pixel) in picture.enumerate_pixels_mut() {
            if !counts(n, x, y) {
                *pixel = image::Rgb([255, (x * 7 + n) as u8, (y * 11) as u8]);
            }
        }
    });
    for scene in [&plain, &spoiled] {
        write_masks(&scene.join("masks"));
    }
    // resampling would carry what is masked across the edge
    let whole = [("schedule.resolution", "[]")];
    let streamed = [("schedule.resolution", "[]"), ("dataset.residency", "device")];
    let off = [("schedule.resolution", "[]"), ("dataset.masks", "off")];
    let run = |name: &str, scene: &Path, settings: &[(&str, &str)]| {
        let root = scratch.join(name);
        train(&root, scene, settings);
        root
    };
    let roots = [
        run("a", &plain, &whole),
        run("b", &spoiled, &whole),
        run("c", &spoiled, &streamed),
    ];
    assert_same_models(&roots, 24);
    let figures = |root: &Path| {
        let mut file = json(&root.join("eval/iteration_24/metrics.json"));
        file["t_s"] = Value::Null;
        file
    };
    assert_eq!(figures(&roots[0]), figures(&roots[1]));
    assert_eq!(figures(&roots[0]), figures(&roots[2]));
    // the error picture is that of a perfect view where nothing counts
    let error = image::open(roots[1].join("eval/iteration_24/error/test/v00.png"))
        .unwrap()
        .to_rgb8();
    assert_eq!(error.get_pixel(2, 2).0, [0, 255, 255]);
    let unmasked = run("d", &spoiled, &off);
    assert!(runs::raw_model(&unmasked, 24) != runs::raw_model(&roots[0], 24));
    // an evaluation of the stored model sees the same masks
    let eval = runs::kiln()
        .args(["eval", "--json"])
        .args([&roots[1], &spoiled])
        .arg("--allow-cpu")
        .output()
        .unwrap();
    let text = String::from_utf8(eval.stdout).unwrap();
    let again: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        again["test"]["mean"]["psnr"],
        figures(&roots[0])["test"]["mean"]["psnr"]
    );
}

#[test]
fn images_that_do_not_fit_the_device_are_refused_with_numbers() {
    let scratch = Scratch::new("unfit");
    let scene = scratch.join("scene");
    write_scene(&scene, |_, _| ());
    // headers alone, for 12 training images of 1300 x 1000 pixels
    for n in 0..VIEWS {
        let path = scene.join(format!("train/v{n:02}.png"));
        let mut bytes = fs::read(&path).unwrap();
        bytes[16..20].copy_from_slice(&1300_u32.to_be_bytes());
        bytes[20..24].copy_from_slice(&1000_u32.to_be_bytes());
        let crc = crc32(&bytes[12..29]);
        bytes[29..33].copy_from_slice(&crc.to_be_bytes());
        fs::write(path, bytes).unwrap();
    }
    let plan = |residency: &str, cap_mib: f64| {
        let mut command = runs::kiln();
        command.arg("plan").arg(&scene).args(["--profile", "cpu", "-r", "1"]);
        for setting in [
            format!("dataset.residency={residency}"),
            format!("memory.cap_gib={}", cap_mib / 1024.0),
            "memory.max_gaussians=256".to_owned(),
            "eval.lpips=false".to_owned(),
            "init={ kind: random_box, count: 256 }".to_owned(),
        ] {
            command.args(["--set", &setting]);
        }
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    let total = |(code, text): (Option<i32>, String)| -> f64 {
        assert_eq!(code, Some(0), "{text}");
        let line = text.lines().find_map(|line| line.trim().strip_prefix("device total"));
        line.unwrap().trim().parse().unwrap()
    };
    let host = total(plan("host", 1024.0));
    let device = total(plan("device", 1024.0));
    assert!((device - host - 44.6).abs() < 0.5, "{device} and {host} MiB");
    let cap = (host + 20.0).floor();
    total(plan("host", cap));
    let (code, text) = plan("device", cap);
    assert_eq!(code, Some(6), "{text}");
    let words = [
        "12 training images need 44.6 MiB",
        &format!("the cap is {cap:.1} MiB"),
        "residency=host",
    ];
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & 0_u32.wrapping_sub(crc & 1))
        })
    })
}
