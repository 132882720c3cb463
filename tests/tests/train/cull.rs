//! Culling by the training cameras in whole runs of the bundled scene, under every strategy.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use kiln::export::read_ply;
use kiln::run::ResumeFrom;
use kiln::run::interrupt::Interrupt;
use kiln_scene::{SceneIndex, SceneOptions};
use kiln_tests::runs::{self, Scratch, events, json, profile, rows, train_scene};
use kiln_twins::camera_cull::testimony;
use kiln_twins::gaussian::{Gaussian, View};

type Settings = &'static [(&'static str, &'static str)];

/// 24 steps on small images, without culling.
const SHORT: Settings = &[
    ("cull", "null"),
    ("dataset.resolution", "48"),
    ("schedule.iterations", "24"),
    ("schedule.test", "[]"),
    ("schedule.save", "[20]"),
    ("schedule.checkpoint", "[11]"),
    ("memory.max_gaussians", "8000"),
    ("train.deterministic", "true"),
    ("eval.views_logged", "0"),
    ("eval.lpips", "false"),
    ("diagnose.validation", "true"),
];

const CULL: Settings = &[("cull", "{ kind: floaters, every: 6 }")];

const STRATEGIES: [(&str, &str); 4] = [
    ("fixed", "{ kind: fixed }"),
    (
        "adaptive",
        "{ kind: adaptive, densify: { from: 2, until: 15, every: 4, grad_threshold: 0.002 }, reset: { every: null } }",
    ),
    (
        "mcmc",
        "{ kind: mcmc, densify: { from: 2, until: 15, every: 4, growth: 0.05 }, noise: 50000 }",
    ),
    (
        "error_guided",
        "{ kind: error_guided, densify: { from: 2, until: 15, every: 4, growth: 0.1 } }",
    ),
];

fn scene() -> SceneIndex {
    SceneIndex::load(&runs::scene(), &SceneOptions::default()).unwrap()
}

/// Four points a small step apart, so that their Gaussians are small.
fn bunch(at: [f32; 3], step: f32) -> [[f32; 3]; 4] {
    let [x, y, z] = at;
    [[x, y, z], [x + step, y, z], [x, y + step, z], [x, y, z + step]]
}

/// The scene's points in a file, with some planted in front of a camera and some where no camera looks; gives these two places.
fn plant(path: &Path, scene: &SceneIndex) -> [[f32; 3]; 2] {
    let camera = &scene.train[7].camera;
    let near = scene.near.distance.unwrap();
    let (centre, ahead) = (camera.position(), camera.rotation[2]);
    let in_front = [0, 1, 2].map(|axis| centre[axis] + 0.3 * near * ahead[axis]);
    let views: Vec<View<f32>> = scene.train.iter().map(|view| View::new(&view.camera)).collect();
    let far = 20.0 * scene.extent;
    let is_hidden = |mean: &[f32; 3]| {
        let ball = Gaussian {
            mean: *mean,
            quat: [1.0, 0.0, 0.0, 0.0],
            log_scale: [(0.1 * scene.extent).ln(); 3],
            ..Gaussian::ZERO
        };
        !testimony(&ball, 0.0, &views, 9.0).is_seen
    };
    let axes = [0, 1, 2].map(|axis| [0, 1, 2].map(|k| if k == axis { far } else { 0.0 }));
    let mut places = axes.into_iter().flat_map(|place| [place, place.map(|x| -x)]);
    let hidden = places.find(is_hidden).unwrap();
    let step = 0.001 * scene.extent;
    let planted = [bunch(in_front, step), bunch(hidden, step)].concat();
    let mut text = format!(
        "ply\nformat ascii 1.0\nelement vertex {}\nproperty float x\nproperty float y\nproperty float z\n\
         property uchar red\nproperty uchar green\nproperty uchar blue\nend_header\n",
        scene.points.len() + planted.len()
    );
    let known = scene.points.iter().map(|point| (point.position, point.color));
    for ([x, y, z], [r, g, b]) in known.chain(planted.iter().map(|place| (*place, [90; 3]))) {
        writeln!(text, "{x} {y} {z} {r} {g} {b}").unwrap();
    }
    fs::write(path, text).unwrap();
    [in_front, hidden]
}

/// Gaussians of a model within `radius` of a place, and all of them.
fn around(run: &Path, iteration: u32, place: [f32; 3], radius: f32) -> (usize, usize) {
    let path = run.join(format!("point_cloud/iteration_{iteration}/point_cloud_raw.ply"));
    let (model, _) = read_ply(&path).unwrap();
    let distance = |mean: &[f32; 3]| (0..3).map(|k| (mean[k] - place[k]).powi(2)).sum::<f32>().sqrt();
    let inside = model.means.iter().filter(|mean| distance(mean) < radius).count();
    (inside, model.len())
}

#[test]
fn planted_gaussians_go_under_every_strategy_and_a_pause_changes_nothing() {
    let (scratch, scene, never) = (Scratch::new("cull"), scene(), Interrupt::unattached());
    let file = scratch.join("points.ply");
    let [in_front, hidden] = plant(&file, &scene);
    let init = format!("{{ kind: ply, path: \"{}\" }}", file.display());
    for (name, strategy) in STRATEGIES {
        let own: &[(&str, &str)] = &[("strategy", strategy), ("init", &init)];
        let run = |folder: &str, settings: &[&[(&str, &str)]]| {
            let root = scratch.join(&format!("{name}-{folder}"));
            let lists = [&[SHORT, own], settings].concat();
            runs::train(profile(&root, &lists), None, &never).unwrap();
            root
        };
        let near = 0.05 * scene.near.distance.unwrap();
        let (off, on) = (run("off", &[]), run("on", &[CULL]));
        assert!(
            around(&off, 24, in_front, near).0 >= 4 && around(&off, 24, hidden, scene.extent).0 >= 4,
            "{name}"
        );
        assert!(events(&off, "cull").is_empty(), "{name}");
        for iteration in [20, 24] {
            assert_eq!(around(&on, iteration, in_front, near).0, 0, "{name}");
            assert_eq!(around(&on, iteration, hidden, scene.extent).0, 0, "{name}");
        }
        let culls = events(&on, "cull");
        let its: Vec<u64> = culls.iter().filter_map(|row| row["it"].as_u64()).collect();
        assert_eq!(its, [6, 12, 18, 24], "{name}");
        assert!(
            culls[0]["detail"]["removed"].as_u64().unwrap() >= 8,
            "{name}: {culls:?}"
        );
        // What is measured is what is saved.
        let (_, saved) = around(&on, 24, hidden, 1.0);
        let measured = rows(&on.join("metrics.jsonl"));
        let measured = measured
            .iter()
            .find(|row| row["type"] == "eval" && row["it"] == 24)
            .unwrap();
        assert_eq!(measured["gaussians"].as_u64(), Some(saved as u64), "{name}");
        if name == "fixed" {
            let removed: u64 = culls.iter().filter_map(|row| row["detail"]["removed"].as_u64()).sum();
            let (_, all) = around(&off, 24, hidden, 1.0);
            assert_eq!(saved as u64 + removed, all as u64);
            // Hardly a Gaussian of the scene itself is in a camera's way.
            assert!(removed < 8 + all as u64 / 50, "{removed} of {all}");
        }

        let from = on.join("checkpoints/checkpoint_00000011.kiln");
        let part = scratch.join(&format!("{name}-part"));
        let lists = [SHORT, own, CULL];
        runs::train(profile(&part, &lists), Some(ResumeFrom::File(from)), &never).unwrap();
        assert!(
            runs::raw_model(&on, 24) == runs::raw_model(&part, 24),
            "{name}: models differ"
        );
        assert_eq!(json(&part.join("run.json"))["status"], "done");
    }
}

/// Where no training picture shows anything the run ends with an empty model and says so, from the first line on.
#[test]
fn an_empty_model_is_told() {
    let (scratch, scene, never) = (Scratch::new("cull-all"), scene(), Interrupt::unattached());
    let copy = scratch.join("scene");
    fs::create_dir_all(copy.join("sparse/0")).unwrap();
    for file in ["cameras.bin", "images.bin"] {
        fs::copy(
            runs::scene().join("sparse/0").join(file),
            copy.join("sparse/0").join(file),
        )
        .unwrap();
    }
    fs::create_dir(copy.join("images")).unwrap();
    for entry in fs::read_dir(runs::scene().join("images")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, copy.join("images").join(path.file_name().unwrap())).unwrap();
    }
    // All points lie where no camera looks.
    let [_, hidden] = plant(&scratch.join("unused.ply"), &scene);
    let mut points = 4_u64.to_le_bytes().to_vec();
    for (id, place) in (1_u64..).zip(bunch(hidden, 0.001 * scene.extent)) {
        points.extend(id.to_le_bytes());
        points.extend(place.into_iter().flat_map(|value| f64::from(value).to_le_bytes()));
        points.extend([90, 90, 90]);
        points.extend(1.0_f64.to_le_bytes());
        points.extend(0_u64.to_le_bytes());
    }
    fs::write(copy.join("sparse/0/points3D.bin"), points).unwrap();

    let root = scratch.join("run");
    let settings: Settings = &[
        ("strategy", "{ kind: fixed }"),
        ("cull", "unseen"),
        ("init.background", "0"),
    ];
    train_scene(profile(&root, &[SHORT, settings]), copy, None, &never).unwrap();
    let warnings = events(&root, "warning");
    let told = |words: &str| {
        let holds = |row: &serde_json::Value| row["detail"]["message"].as_str().unwrap().contains(words);
        assert!(warnings.iter().any(holds), "{words}: {warnings:?}");
    };
    told("no training picture contains any of the 4 sparse points");
    told("the last cull took all of its 4 Gaussians");
    assert_eq!(json(&root.join("run.json"))["status"], "done");
    assert_eq!(around(&root, 24, hidden, scene.extent), (0, 0));
}

/// With nothing between, the last cull takes what no training picture shows, and no training picture changes.
#[test]
fn the_last_cull_changes_no_training_picture() {
    let (scratch, scene, never) = (Scratch::new("cull-last"), scene(), Interrupt::unattached());
    let file = scratch.join("points.ply");
    let [_, hidden] = plant(&file, &scene);
    let init = format!("{{ kind: ply, path: \"{}\" }}", file.display());
    let own: &[(&str, &str)] = &[("strategy", "{ kind: fixed }"), ("init", &init)];
    let run = |folder: &str, settings: &[&[(&str, &str)]]| {
        let root = scratch.join(folder);
        let lists = [&[SHORT, own], settings].concat();
        runs::train(profile(&root, &lists), None, &never).unwrap();
        root
    };
    let last: Settings = &[("cull", "unseen")];
    let (off, on) = (run("off", &[]), run("on", &[last]));
    let counts = [&off, &on].map(|root| around(root, 24, hidden, scene.extent).0);
    assert!(counts[0] >= 4 && counts[1] == 0, "{counts:?}");
    assert!(around(&on, 20, hidden, scene.extent).0 >= 4, "not before the end");
    let figures = |root: &Path| {
        let rows = rows(&root.join("metrics.jsonl"));
        let row = rows
            .iter()
            .find(|row| row["type"] == "eval" && row["set"] == "train" && row["it"] == 24);
        let row = row.unwrap();
        ["l1", "psnr", "ssim"].map(|key| row[key].as_f64().unwrap())
    };
    assert_eq!(figures(&off), figures(&on));
}
