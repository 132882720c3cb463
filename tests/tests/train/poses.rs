//! Runs that correct the poses of their cameras.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs;
use std::path::Path;

use kiln::export::read_cameras;
use kiln::run::ResumeFrom;
use kiln::run::interrupt::Interrupt;
use kiln_scene::math::{dot, norm};
use kiln_scene::{Camera, SceneIndex, SceneOptions, SplitMix64};
use kiln_tests::runs::{self, QUICK, Scratch, json, profile, train_scene};

const REFINE: (&str, &str) = ("train.refine_poses", "{ lr: 0.008, lr_end: 0.0008, test_steps: 40 }");
const DETERMINISTIC: (&str, &str) = ("train.deterministic", "true");

/// The bundled scene with every camera turned by `degrees` and moved by `shift` world units, in random directions.
fn perturbed(folder: &Path, degrees: f64, shift: f64) {
    fs::create_dir_all(folder.join("sparse/0")).unwrap();
    fs::create_dir_all(folder.join("images")).unwrap();
    for part in ["images", "sparse/0"] {
        for entry in fs::read_dir(runs::scene().join(part)).unwrap() {
            let from = entry.unwrap().path();
            fs::copy(&from, folder.join(part).join(from.file_name().unwrap())).unwrap();
        }
    }
    let path = folder.join("sparse/0/images.bin");
    let mut bytes = fs::read(&path).unwrap();
    let mut random = SplitMix64::new(3);
    let mut direction = |length: f64| {
        let v = [0; 3].map(|_| f64::from(random.next_f32()) - 0.5);
        let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        v.map(|x| length * x / norm)
    };
    let number = |bytes: &[u8], at: usize| f64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let count = u64::from_le_bytes(bytes[..8].try_into().unwrap());
    let mut at = 8;
    for _ in 0..count {
        // Number, then quaternion and translation world to camera.
        let q: [f64; 4] = std::array::from_fn(|i| number(&bytes, at + 4 + 8 * i));
        let t: [f64; 3] = std::array::from_fn(|i| number(&bytes, at + 36 + 8 * i));
        let [x, y, z] = direction(0.5 * degrees.to_radians());
        let turned = [
            q[0] - x * q[1] - y * q[2] - z * q[3],
            q[1] + x * q[0] + y * q[3] - z * q[2],
            q[2] - x * q[3] + y * q[0] + z * q[1],
            q[3] + x * q[2] - y * q[1] + z * q[0],
        ];
        let norm = turned.iter().map(|x| x * x).sum::<f64>().sqrt();
        let turned = turned.map(|x| x / norm);
        let along = [
            t[0] + 2.0 * (y * t[2] - z * t[1]),
            t[1] + 2.0 * (z * t[0] - x * t[2]),
            t[2] + 2.0 * (x * t[1] - y * t[0]),
        ];
        let s = direction(shift);
        for (i, value) in turned.into_iter().chain([0, 1, 2].map(|i| along[i] + s[i])).enumerate() {
            bytes[at + 4 + 8 * i..at + 12 + 8 * i].copy_from_slice(&value.to_le_bytes());
        }
        at += 64;
        at += bytes[at..].iter().position(|byte| *byte == 0).unwrap() + 1;
        let points = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        at += 8 + 24 * usize::try_from(points).unwrap();
    }
    assert_eq!(at, bytes.len());
    fs::write(&path, bytes).unwrap();
}

fn test_psnr(run: &Path, iteration: u32) -> f64 {
    let file = json(&run.join(format!("eval/iteration_{iteration}/metrics.json")));
    file["test"]["mean"]["psnr_image"].as_f64().unwrap()
}

/// Mean angle between the training cameras of a file and those of the bundled scene, degrees.
fn mean_angle(cameras: &Path) -> f64 {
    let truth = SceneIndex::load(&runs::scene(), &SceneOptions::default()).unwrap();
    let found = read_cameras(cameras).unwrap();
    let angles = truth.train.iter().map(|view| {
        let (_, camera) = found.iter().find(|(stem, _)| *stem == view.id).unwrap();
        let pairs = view
            .camera
            .rotation
            .as_flattened()
            .iter()
            .zip(camera.rotation.as_flattened());
        let squared: f64 = pairs.map(|(a, b)| f64::from(a - b).powi(2)).sum();
        (0.5 * squared).sqrt().to_degrees()
    });
    angles.sum::<f64>() / truth.train.len() as f64
}

/// How far the middle of the scene's points moved before the training cameras since they were given, to the side, as the mean of all
/// sees it and in the mean of each; world units.
fn moved(run: &Path) -> [f64; 2] {
    let [given, found] = ["cameras_given.json", "cameras.json"].map(|file| read_cameras(&run.join(file)).unwrap());
    let scene = SceneIndex::load(&runs::scene(), &SceneOptions::default()).unwrap();
    let share = (scene.points.len() as f64).recip();
    let middle = [0, 1, 2].map(|axis| {
        share
            * scene
                .points
                .iter()
                .map(|point| f64::from(point.position[axis]))
                .sum::<f64>()
    });
    let seen = |cameras: &[(String, Camera)], id: &str| {
        let (_, camera) = cameras.iter().find(|(stem, _)| stem == id).unwrap();
        let rows = camera.rotation.map(|row| row.map(f64::from));
        let [x, y, z] = [0, 1, 2].map(|row| dot(rows[row], middle) + f64::from(camera.translation[row]));
        (rows, [x / z, y / z], z)
    };
    let shifts: Vec<[f64; 3]> = scene
        .train
        .iter()
        .map(|view| {
            let ((rows, from, depth), (_, to, _)) = (seen(&given, &view.id), seen(&found, &view.id));
            let aside = [0, 1].map(|axis| depth * (to[axis] - from[axis]));
            std::array::from_fn(|axis| aside[0] * rows[0][axis] + aside[1] * rows[1][axis])
        })
        .collect();
    let mean = [0, 1, 2].map(|axis| shifts.iter().map(|shift| shift[axis]).sum::<f64>() / shifts.len() as f64);
    let each = shifts.iter().map(|shift| norm(*shift)).sum::<f64>() / shifts.len() as f64;
    [norm(mean), each]
}

/// Cameras that are off come nearer to the truth and pictures get better; a pause changes no byte, and what the run leaves is
/// measured again as it was.
#[test]
fn cameras_that_are_off_are_corrected() {
    // Two steps after the third time that what corrections share is taken out of them.
    const LAST: u32 = 302;
    let scratch = Scratch::new("poses");
    let scene = scratch.join("scene");
    perturbed(&scene, 1.5, 0.05);
    let own = [
        DETERMINISTIC,
        ("schedule.iterations", "302"),
        ("schedule.test", "[]"),
        ("schedule.checkpoint", "[200]"),
        ("schedule.checkpoint_minutes", "0"),
    ];
    let train = |name: &str, more: &[(&str, &str)], resume: Option<ResumeFrom>| {
        let profile = profile(&scratch.join(name), &[QUICK, &own, more]);
        train_scene(profile, scene.clone(), resume, &Interrupt::unattached()).unwrap();
        scratch.join(name)
    };
    let plain = train("plain", &[], None);
    let refined = train("refined", &[REFINE], None);
    let [without, with] = [&plain, &refined].map(|run| test_psnr(run, LAST));
    let [before, after] = ["cameras_given.json", "cameras.json"].map(|file| mean_angle(&refined.join(file)));
    println!("{without} dB as given, {with} dB refined; {before} degrees off, then {after}");
    assert!(with > without + 1.0 && after < 0.7 * before);
    let metrics = json(&refined.join(format!("eval/iteration_{LAST}/metrics.json")));
    assert_eq!(metrics["poses"], "aligned");
    assert!(json(&plain.join(format!("eval/iteration_{LAST}/metrics.json")))["poses"].is_null());

    let [together, apart] = moved(&refined);
    println!("the scene moved by {apart} units before each camera, before all together by {together}");
    assert!(together < 0.2 * apart);

    // In bands from where what corrections share had just been taken out of them, over the next time that it is.
    let from = refined.join("checkpoints/checkpoint_00000200.kiln");
    let again = train("again", &[REFINE, ("fault.bands", "3")], Some(ResumeFrom::File(from)));
    assert!(
        runs::raw_model(&refined, LAST) == runs::raw_model(&again, LAST),
        "models differ"
    );
    let file = format!("point_cloud/iteration_{LAST}/cameras.json");
    assert_eq!(
        fs::read(refined.join(&file)).unwrap(),
        fs::read(again.join(&file)).unwrap()
    );

    let mut command = runs::kiln();
    command
        .args(["eval", "--json", "--allow-cpu"])
        .arg(&refined)
        .arg(&scene);
    let output = command.output().unwrap();
    let again: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(again["poses"], "aligned");
    let again = again["test"]["mean"]["psnr_image"].as_f64().unwrap();
    assert!((again - with).abs() < 1e-3, "{again} {with}");
}
