//! Scenes far from zero: what f32 cannot hold is taken off in f64, and everything that is written says so.

use std::fs;

use kiln_scene::{SceneIndex, SceneOptions};
use kiln_tests::captures::{self, Model, copy_photos};
use kiln_tests::runs::{self, Scratch, outcome};
use serde_json::Value;

/// UTM, the globe's centre, and both below zero.
const SHIFTS: [[f64; 3]; 3] = [
    [448_262.0, 5_411_932.0, 311.0],
    [4_077_985.25, 931_942.5, 4_801_716.0],
    [-448_262.0, -1_234.5, 9_000_000.0],
];

/// The bundled model, larger by `scale` and then moved by `shift` times that.
fn moved(shift: [f64; 3], scale: f64) -> Model {
    let mut model = Model::bundled();
    for image in &mut model.images {
        image.translation = image.translation.map(|value| value * scale);
    }
    for point in &mut model.points {
        point.position = point.position.map(|value| value * scale);
    }
    model.shift(shift.map(|value| value * scale));
    model
}

fn load(scratch: &Scratch) -> SceneIndex {
    SceneIndex::load(&scratch.join(""), &SceneOptions::default()).unwrap()
}

/// Holds a scene against the one that was not moved, up to what f32 has.
fn assert_is_moved(scene: &SceneIndex, usual: &SceneIndex, shift: [f64; 3], scale: f64) {
    let close = |a: [f32; 3], b: [f32; 3]| {
        let off = (0..3).map(|axis| {
            let there = scene.origin[axis] + f64::from(a[axis]);
            (there / scale - shift[axis] - f64::from(b[axis])).abs()
        });
        off.fold(0.0, f64::max) < 2e-5
    };
    assert_eq!(scene.train.len(), usual.train.len());
    for (a, b) in scene.train.iter().zip(&usual.train) {
        assert!(
            close(a.camera.position(), b.camera.position()),
            "{}: {:?}",
            a.name,
            a.camera
        );
    }
    assert_eq!(scene.points.len(), usual.points.len());
    for (a, b) in scene.points.iter().zip(&usual.points) {
        assert!(close(a.position, b.position), "{a:?} {b:?}");
    }
    let ratio = f64::from(scene.extent / usual.extent) / scale;
    assert!((ratio - 1.0).abs() < 1e-5, "{ratio}");
    assert!(
        scene.notices.iter().any(|notice| notice.contains("far from zero")),
        "{:?}",
        scene.notices
    );
}

#[test]
fn scenes_far_from_zero_are_those_near_it() {
    let usual = SceneIndex::load(&runs::scene(), &SceneOptions::default()).unwrap();
    assert_eq!(usual.origin, [0.0; 3]);
    assert!(usual.notices.is_empty(), "{:?}", usual.notices);
    let scratch = Scratch::new("origins");
    copy_photos(&scratch.join(""));
    for shift in SHIFTS {
        for scale in [1e-4, 1.0, 1e4] {
            moved(shift, scale).write(&scratch.join("sparse/0"), true);
            assert_is_moved(&load(&scratch), &usual, shift, scale);
        }
    }
    // The same as transforms.json with a cloud of doubles.
    fs::remove_dir_all(scratch.join("sparse")).unwrap();
    let model = moved(SHIFTS[0], 1.0);
    let mut transforms = model.transforms();
    transforms["ply_file_path"] = "points.ply".into();
    fs::write(scratch.join("transforms.json"), transforms.to_string()).unwrap();
    let cloud = model.points_ply().replace("property float", "property double");
    fs::write(scratch.join("points.ply"), cloud).unwrap();
    assert_is_moved(&load(&scratch), &usual, SHIFTS[0], 1.0);
}

#[test]
fn an_origin_may_be_given_and_does_not_depend_on_the_photos() {
    let scratch = Scratch::new("given-origin");
    copy_photos(&scratch.join(""));
    moved(SHIFTS[0], 1.0).write(&scratch.join("sparse/0"), true);
    let chosen = load(&scratch).origin;
    for name in ["view_003.jpg", "view_017.jpg"] {
        fs::remove_file(scratch.join("images").join(name)).unwrap();
    }
    assert_eq!(load(&scratch).origin, chosen);
    fs::write(scratch.join("origin.txt"), "448000 5411000 0\n").unwrap();
    let scene = load(&scratch);
    assert_eq!(scene.origin, [448_000.0, 5_411_000.0, 0.0]);
    assert!(
        scene.notices.iter().any(|notice| notice.contains("origin.txt")),
        "{:?}",
        scene.notices
    );
    fs::write(scratch.join("origin.txt"), "here").unwrap();
    let error = SceneIndex::load(&scratch.join(""), &SceneOptions::default()).unwrap_err();
    assert!(error.to_string().contains("origin.txt"), "{error}");
}

#[test]
fn a_georeferenced_scene_trains_and_its_files_say_where_it_is() {
    let scratch = Scratch::new("georeferenced");
    let scene = scratch.join("scene");
    copy_photos(&scene);
    moved(SHIFTS[0], 1.0).write(&scene.join("sparse/0"), true);
    let trained = captures::train(&scratch, &scene, 60, &["--set", "exporters=[{kind: ply}, {kind: glb}]"]);
    // 11.8 where it lies at zero, 7.2 where its coordinates are rounded.
    assert!(trained.psnr > 11.5, "{} dB", trained.psnr);
    assert!(trained.printed.contains("far from zero"), "{}", trained.printed);
    let record: Value = serde_json::from_slice(&fs::read(trained.run.join("run.json")).unwrap()).unwrap();
    let origin: [f64; 3] = serde_json::from_value(record["scene"]["origin"].clone()).unwrap();
    assert!(
        (0..3).all(|axis| (origin[axis] - SHIFTS[0][axis]).abs() < 10.0),
        "{origin:?}"
    );
    let models = trained.run.join("point_cloud/iteration_60");
    let ply = fs::read(models.join("point_cloud.ply")).unwrap();
    let comment = format!("comment origin {} {} {}\n", origin[0], origin[1], origin[2]);
    assert!(String::from_utf8_lossy(&ply[..600]).contains(&comment), "{comment}");
    let glb = fs::read(models.join("point_cloud.glb")).unwrap();
    let placed = format!("\"translation\":[{:?},{:?},{:?}]", origin[0], -origin[1], -origin[2]);
    assert!(String::from_utf8_lossy(&glb).contains(&placed), "{placed}");
    // What reads the model beside the scene finds it in its place.
    let model = models.join("point_cloud.ply");
    let mut command = runs::kiln();
    command
        .arg("eval")
        .arg(&model)
        .arg(&scene)
        .args(["--allow-cpu", "-r", "4", "--json"]);
    let output = command.args(["--set", "eval.lpips=false"]).output().unwrap();
    let figures: Value = serde_json::from_slice(&output.stdout).unwrap();
    let psnr = figures["test"]["mean"]["psnr_image"].as_f64().unwrap_or_default();
    assert!((psnr - trained.psnr).abs() < 0.1, "{psnr} dB, {figures}");
    let tiles = scratch.join("tiles");
    let mut command = runs::kiln();
    command
        .arg("export")
        .arg(&model)
        .args(["--format", "3d-tiles", "-o"])
        .arg(&tiles);
    let (code, printed) = outcome(&mut command);
    assert_eq!(code, Some(0), "{printed}");
    let tileset: Value = serde_json::from_slice(&fs::read(tiles.join("tileset.json")).unwrap()).unwrap();
    let transform: Vec<f64> = serde_json::from_value(tileset["root"]["transform"].clone()).unwrap();
    assert_eq!(transform[12..15], [origin[0], origin[2], -origin[1]]);
    // A box in the coordinates of the data set.
    let [x, y, z] = SHIFTS[0];
    let around = format!(
        "{},{},{},{},{},{}",
        x - 2.0,
        y - 2.0,
        z - 2.0,
        x + 2.0,
        y + 2.0,
        z + 2.0
    );
    let mut command = runs::kiln();
    command
        .arg("export")
        .arg(&model)
        .args(["--format", "ply", "--crop", &around, "-o"]);
    let (code, printed) = outcome(command.arg(scratch.join("cropped.ply")));
    assert_eq!(code, Some(0), "{printed}");
}
