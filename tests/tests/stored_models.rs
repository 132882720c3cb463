//! `kiln eval` and `kiln render` give again what `kiln train` wrote: the same figures, the same pictures.
#![expect(clippy::expect_used, clippy::panic, reason = "tests stop at the first surprise")]

use std::path::{Path, PathBuf};

use kiln::cli::{self, Exit, Failure, Request};
use kiln::eval::EvalFile;
use kiln::export::{PlyComments, PlyFlavor, write_ply};
use kiln::plan::{Faults, open_device};
use kiln::run::{Cameras, Location, Stored};
use kiln_config::{Inputs, Override, resolve};
use kiln_scene::Split;
use kiln_scene::math::transpose;
use kiln_tests::gpu;
use kiln_tests::runs::{self, Scratch};
use kiln_tests::scenes::Scene;

/// Runs a command line; gives what it printed.
fn kiln(arguments: &[&str]) -> Result<String, Box<dyn Failure>> {
    let mut out = Vec::new();
    let line = std::iter::once("kiln").chain(arguments.iter().copied());
    let exit = match cli::parse(line).expect("arguments") {
        Request::Train(train) => cli::run_train(train),
        Request::Eval(eval) => cli::run_eval(eval, &mut out),
        Request::Render(render) => cli::run_render(render, &mut out),
        other => panic!("{other:?}"),
    }?;
    assert_eq!(exit, Exit::Ok);
    Ok(String::from_utf8(out).expect("text"))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path that is text")
}

fn recorded(run: &Path, iteration: u32) -> EvalFile {
    let path = run.join(format!("eval/iteration_{iteration}/metrics.json"));
    serde_json::from_str(&std::fs::read_to_string(path).expect("an evaluation")).expect("its format")
}

/// Largest difference of PSNR and of LPIPS over all views, which must be the same in both.
fn differences(a: &EvalFile, b: &EvalFile) -> [f64; 2] {
    let mut largest = [0.0_f64; 2];
    for set in [Split::Test, Split::Train] {
        let [a, b] = [a, b].map(|file| &file.set(set).expect("both sets").views);
        assert_eq!(a.len(), b.len());
        for (a, b) in a.iter().zip(b) {
            assert_eq!((&a.name, a.lpips.is_some()), (&b.name, b.lpips.is_some()));
            largest[0] = largest[0].max((a.metrics.psnr - b.metrics.psnr).abs());
            largest[1] = largest[1].max((a.lpips.unwrap_or(0.0) - b.lpips.unwrap_or(0.0)).abs());
        }
    }
    largest
}

/// Largest difference of two pictures in bytes.
fn picture_difference(a: &Path, b: &Path) -> u8 {
    let [a, b] = [a, b].map(|path| image::open(path).expect("a picture").to_rgb8());
    assert_eq!(a.dimensions(), b.dimensions());
    let pairs = a.into_raw().into_iter().zip(b.into_raw());
    pairs.map(|(a, b)| a.abs_diff(b)).max().unwrap_or(0)
}

#[test]
fn a_run_is_evaluated_and_rendered_as_training_did() {
    gpu::take_turn();
    let folder = Scratch::new("stored");
    let scene = runs::scene();
    let run = folder.join("run");
    let settings = "--profile cpu --recipe demo --iterations 120 -r 66 --save-iterations 60 --set eval.lpips=false \
                    --set schedule.resolution=[] --set memory.max_gaussians=5000 -q";
    let mut train = vec!["train", text(&scene), "-o", text(&run)];
    train.extend(settings.split_whitespace());
    kiln(&train).expect("trains");
    let written = recorded(&run, 120);

    // the raw model, the run's own scene
    let again = kiln(&["eval", text(&run), "--json", "-q"]).expect("evaluates");
    let again: EvalFile = serde_json::from_str(&again).expect("JSON");
    assert_eq!((again.iteration, again.gaussians), (120, written.gaussians));
    assert!(differences(&written, &again)[0] < 1e-3);
    assert_eq!(recorded(&run, 120), written, "nothing is written unless asked for");

    // the fused model, with too little room at first
    let fused = run.join("point_cloud/iteration_120/point_cloud.ply");
    let line = [
        "eval",
        text(&fused),
        text(&scene),
        "--json",
        "-q",
        "--fault",
        "i_cap=3600",
    ];
    let again: EvalFile = serde_json::from_str(&kiln(&line).expect("evaluates")).expect("JSON");
    assert!(differences(&written, &again)[0] < 0.02);

    // another trainer's file does not say how it is drawn: as plain 3DGS, unless set
    let foreign = folder.join("foreign.ply");
    without_comments(&fused, &foreign);
    // outside of the run, whose settings are not theirs
    let alone = folder.join("stated.ply");
    std::fs::copy(&fused, &alone).expect("a copy");
    let evaluate = |model: &Path, more: &[&str]| -> EvalFile {
        let line = [
            &["eval", text(model), text(&scene), "--json", "-q", "--allow-cpu"],
            more,
        ]
        .concat();
        serde_json::from_str(&kiln(&line).expect("evaluates")).expect("JSON")
    };
    let stated = evaluate(&alone, &[]);
    let evaluate = |more: &[&str]| evaluate(&foreign, more);
    let plain = evaluate(&[]);
    let apart = differences(&stated, &plain);
    assert!(apart[0] > 0.02, "{apart:?}");
    for told in [
        &["--set", "model.kind=mip", "--set", "mip.kernel_size=0.1"][..],
        &["--set", "model.kind=mip"],
        &["--kernel-size", "0.1"],
    ] {
        let apart = differences(&stated, &evaluate(told));
        assert!(apart[0] < 1e-6, "{told:?}: {apart:?}");
    }
    let classic = evaluate(&["--set", "model.kind=classic"]);
    assert_eq!(differences(&plain, &classic), [0.0; 2]);
    for (model, setting, words) in [
        (&foreign, "strategy.kind=mcmc", "`eval` does not read `strategy.kind`"),
        (
            &fused,
            "mip.kernel_size=0.3",
            "says itself how it is drawn: mip, 0.1 px^2",
        ),
    ] {
        let line = ["eval", text(model), text(&scene), "-q", "--allow-cpu", "--set", setting];
        let refusal = kiln(&line).expect_err("a refusal");
        assert!(
            refusal.exit() == Exit::Usage && refusal.to_string().contains(words),
            "{refusal}"
        );
    }

    // fewer visible records than Gaussians in view
    let half = format!("v_cap={}", written.gaussians / 2);
    let line = ["eval", text(&fused), text(&scene), "--json", "-q", "--fault", &half];
    let few: EvalFile = serde_json::from_str(&kiln(&line).expect("evaluates")).expect("JSON");
    assert_eq!(differences(&again, &few), [0.0; 2]);

    // no room for the model: parts of it take turns on the device, from memory or from the file
    let room = format!("resident={}", written.gaussians / 4 * 3);
    let in_memory = ["--fault", "chunk=512", "--fault", &room, "--fault", "bands=4"];
    let in_file = ["--fault", "host_mib=0"];
    let parts: [&[&str]; 2] = [&in_memory, &[&in_memory[..], &in_file].concat()];
    for faults in parts {
        let line = [&["eval", text(&fused), text(&scene), "--json", "-q"], faults].concat();
        let found: EvalFile = serde_json::from_str(&kiln(&line).expect("evaluates")).expect("JSON");
        assert_eq!(found, again, "{faults:?}");
    }

    // pictures
    let out = folder.join("views");
    let printed = kiln(&["render", text(&run), "-q", "-o", text(&out)]).expect("renders");
    assert_eq!(printed.lines().count(), 5);
    let view = |set: &str, name: &str| run.join(format!("eval/iteration_120/render/{set}/{name}.png"));
    for row in &written.set(Split::Test).expect("test views").views {
        let rendered = out.join(format!("{}.png", row.name));
        assert!(
            picture_difference(&rendered, &view("test", &row.name)) <= 1,
            "{}",
            row.name
        );
    }
    let bands = folder.join("bands");
    kiln(&["render", text(&run), "-q", "-o", text(&bands), "--fault", &half]).expect("renders");
    for row in &written.set(Split::Test).expect("test views").views {
        let name = format!("{}.png", row.name);
        assert_eq!(picture_difference(&bands.join(&name), &out.join(&name)), 0, "{name}");
    }
    for faults in parts {
        let folder = folder.join("parts");
        let line = [&["render", text(&run), "-q", "-o", text(&folder)], faults].concat();
        kiln(&line).expect("renders");
        for row in &written.set(Split::Test).expect("test views").views {
            let name = format!("{}.png", row.name);
            assert_eq!(
                picture_difference(&folder.join(&name), &out.join(&name)),
                0,
                "{name} {faults:?}"
            );
        }
    }
    let cameras = run.join("cameras.json");
    kiln(&[
        "render",
        text(&run),
        "-q",
        "-o",
        text(&out),
        "--cameras",
        text(&cameras),
    ])
    .expect("renders");
    for row in &written.set(Split::Train).expect("training views").views {
        let rendered = out.join(format!("{}.png", row.name));
        assert!(
            picture_difference(&rendered, &view("train", &row.name)) <= 1,
            "{}",
            row.name
        );
    }

    // an earlier model, written where training did not evaluate
    let table = kiln(&["eval", text(&run), "--iteration", "60", "--write", "-q"]).expect("evaluates");
    assert!(
        table.starts_with("iteration 60, ") && table.contains("\ntrain      5 "),
        "{table}"
    );
    assert_eq!(recorded(&run, 60).iteration, 60);
    assert!(run.join("eval/iteration_60/render/test/view_000.png").is_file());
    let index = std::fs::read_to_string(run.join("run.json")).expect("the index");
    assert!(index.contains("\"eval/iteration_60/metrics.json\"") && index.contains("\"status\": \"done\""));

    // refusals
    let line = ["render", text(&run), "-q", "-o", text(&out), "--fault", "v_cap=256"];
    let refusal = kiln(&line).expect_err("hundreds of splats touch a tile");
    assert!(
        refusal.to_string().contains("256 visible records") && refusal.exit() == Exit::DoesNotFit,
        "{refusal}"
    );
    let line = ["render", text(&run), "-q", "-o", text(&out), "--fault", "resident=256"];
    let refusal = kiln(&line).expect_err("hundreds of splats touch a tile");
    assert!(
        refusal.to_string().contains("has room for 256") && refusal.exit() == Exit::DoesNotFit,
        "{refusal}"
    );
    let line = [
        "render",
        text(&run),
        "--depth",
        "-q",
        "-o",
        text(&out),
        "--fault",
        "host_mib=0",
    ];
    let refusal = kiln(&line).expect_err("depths need all of the model");
    assert!(
        refusal.to_string().contains("GiB of host memory") && refusal.exit() == Exit::DoesNotFit,
        "{refusal}"
    );
    let error = |line: &[&str]| {
        let error = kiln(line).expect_err("a refusal");
        (error.exit(), error.to_string())
    };
    let (exit, message) = error(&["eval", text(&run), "--iteration", "7", "-q"]);
    assert!(exit == Exit::Data && message.contains("there is 60, 120"), "{message}");
    let (exit, _) = error(&["eval", text(&fused), "--write", "-q"]);
    assert_eq!(exit, Exit::Usage);
    let alone = folder.join("alone.ply");
    std::fs::copy(&fused, &alone).expect("a copy");
    let (exit, message) = error(&["eval", text(&alone), "--allow-cpu", "-q"]);
    assert!(exit == Exit::Usage && message.contains("no scene"), "{message}");
    validated(&run, &folder.join("validated"));
}

/// Of 300 000 Gaussians no more than half fit under the least cap that there is.
#[test]
fn a_model_above_the_cap_is_drawn_in_parts() {
    gpu::take_turn();
    let folder = Scratch::new("parts");
    let scene = Scene {
        count: 300_000,
        size: [200, 150],
        focal: 190.0,
        scales: [0.003, 0.02],
        ..Scene::default()
    };
    let model = folder.join("model.ply");
    write_ply(&model, &scene.model(), PlyFlavor::Raw, PlyComments::default()).expect("a file");
    let camera = scene.camera();
    let cameras = serde_json::json!([{
        "id": 0, "img_name": "view", "width": camera.width_px, "height": camera.height_px,
        "position": camera.position(), "rotation": transpose(camera.rotation),
        "fy": camera.fy, "fx": camera.fx, "cx": camera.cx, "cy": camera.cy, "split": "test",
    }]);
    let views = folder.join("cameras.json");
    std::fs::write(&views, cameras.to_string()).expect("a file");
    let picture = |name: &str, more: &[&str]| {
        let out = folder.join(name);
        let line = [
            "render",
            text(&model),
            "--cameras",
            text(&views),
            "-q",
            "--allow-cpu",
            "-o",
            text(&out),
        ];
        kiln(&[&line[..], more].concat()).expect("renders");
        std::fs::read(out.join("view.png")).expect("a picture")
    };
    let whole = picture("whole", &[]);
    let cap = ["--set", "memory.cap_gib=0.0625"];
    assert!(picture("capped", &cap) == whole, "from memory");
    let in_file = [&cap[..], &["--fault", "host_mib=40"]].concat();
    assert!(picture("in file", &in_file) == whole, "from the file");
}

/// A PLY file without the comments of its header.
fn without_comments(from: &Path, to: &Path) {
    let bytes = std::fs::read(from).expect("a file");
    let mark = b"end_header\n";
    let end = bytes
        .windows(mark.len())
        .position(|part| part == mark)
        .expect("a header");
    let header = String::from_utf8(bytes[..end].to_vec()).expect("text");
    let kept: Vec<&str> = header.lines().filter(|line| !line.starts_with("comment")).collect();
    assert!(kept.len() < header.lines().count());
    let mut file = kept.join("\n").into_bytes();
    file.push(b'\n');
    file.extend(&bytes[end..]);
    std::fs::write(to, file).expect("a file");
}

/// The passes of both commands under the validation layer.
fn validated(run: &Path, out: &Path) {
    let location = Location::find(run, None).expect("a model");
    let inputs = Inputs {
        file: location.config.clone(),
        overrides: vec![Override {
            key: "diagnose.validation".to_owned(),
            value: "true".to_owned(),
            flag: "--set".to_owned(),
        }],
        ..Inputs::default()
    };
    let profile = resolve(&inputs).expect("the run's settings");
    let scene = PathBuf::from(profile.dataset.path.clone().expect("the run's scene"));
    let open = open_device(&profile, Faults::default()).expect("a device");
    let load = || Stored::load(&location, &profile, &open).expect("a model");
    load().evaluate(&scene, None, &mut |_| ()).expect("evaluates");
    let cameras = Cameras::Scene {
        scene,
        set: Split::Test,
    };
    load().render(&cameras, out, &mut |_| ()).expect("renders");
    gpu::assert_valid(&open.device);
}

/// A scene of three training views and one test view of 24 x 20 pixels.
fn tiny_scene(root: &Path) {
    let frame = |set: &str, index: u32| {
        let name = format!("{set}_{index}");
        let picture = image::RgbaImage::from_fn(24, 20, |x, y| {
            image::Rgba([(x * 10 + index) as u8, (y * 12) as u8, ((x * y) % 256) as u8, 255])
        });
        picture.save(root.join(format!("{name}.png"))).expect("a picture");
        let x = f64::from(index) * 0.4;
        format!(
            r#"{{"file_path": "{name}", "transform_matrix":
                [[1, 0, 0, {x}], [0, 1, 0, 0.1], [0, 0, 1, 4], [0, 0, 0, 1]]}}"#
        )
    };
    for (set, count) in [("train", 3), ("test", 1)] {
        let frames: Vec<String> = (0..count).map(|index| frame(set, index)).collect();
        let file = format!(r#"{{"camera_angle_x": 0.7, "frames": [{}]}}"#, frames.join(","));
        std::fs::write(root.join(format!("transforms_{set}.json")), file).expect("frames");
    }
}

#[test]
fn lpips_is_part_of_the_last_evaluation() {
    gpu::take_turn();
    let folder = Scratch::new("lpips");
    let scene = folder.join("scene");
    std::fs::create_dir_all(&scene).expect("a folder");
    tiny_scene(&scene);
    let run = folder.join("run");
    let settings = "--profile cpu --recipe demo --iterations 20 --test-iterations 10 --set schedule.resolution=[] \
                    --set memory.max_gaussians=2000 --set init.kind=random_box --set init.count=1000 --set eval.lpips=true -q";
    let mut train = vec!["train", text(&scene), "-o", text(&run)];
    train.extend(settings.split_whitespace());

    kiln(&train).expect("trains");
    let of = |file: &EvalFile, set| file.set(set).expect("the set").mean.lpips;
    assert_eq!(of(&recorded(&run, 10), Split::Test), None);
    let last = recorded(&run, 20);
    let value = of(&last, Split::Test).expect("LPIPS");
    assert!(value > 0.01 && value < 2.0, "{value}");
    let rows = runs::rows(&run.join("metrics.jsonl"));
    let row = rows.iter().find(|row| row["set"] == "test" && row["it"] == 20);
    let told = row.and_then(|row| row["lpips"].as_f64()).expect("LPIPS in the row");
    assert!((told - value).abs() < 1e-9);
    let again = kiln(&["eval", text(&run), "--json", "-q"]).expect("evaluates");
    let again: EvalFile = serde_json::from_str(&again).expect("JSON");
    let [psnr, lpips] = differences(&last, &again);
    assert!(psnr < 1e-3 && lpips < 1e-5, "{psnr} dB, {lpips}");
}
