//! COLMAP models as its versions and users' ways of calling it write them: camera models, names of photos, points elsewhere.

use std::fs;
use std::path::Path;

use kiln_scene::{SceneIndex, SceneOptions};
use kiln_tests::captures::{Model, copy_photos};
use kiln_tests::runs::Scratch;

/// The model with photos as a data set in `scratch`.
fn write(scratch: &Scratch, model: &Model) {
    if !scratch.join("images").is_dir() {
        copy_photos(&scratch.join(""));
    }
    model.write(&scratch.join("sparse/0"), true);
}

fn load(scratch: &Scratch) -> Result<SceneIndex, String> {
    SceneIndex::load(&scratch.join(""), &SceneOptions::default()).map_err(|error| error.to_string())
}

/// The bundled model with a camera of another kind: its number, and parameters from the focal length and the middle.
fn with_camera(number: u32, parameters: impl Fn(f64, [f64; 2]) -> Vec<f64>) -> Model {
    let mut model = Model::bundled();
    let camera = &mut model.cameras[0];
    let middle = [camera.parameters[2], camera.parameters[3]];
    camera.parameters = parameters(camera.parameters[0], middle);
    camera.model = number;
    model
}

#[test]
fn models_that_equal_known_ones_are_read() {
    let scratch = Scratch::new("camera-models");
    let add = |zeros: usize| move |f: f64, [x, y]: [f64; 2]| [vec![f, f, x, y], vec![0.0; zeros]].concat();
    for (name, model, is_fisheye) in [
        ("DIVISION", with_camera(13, add(1)), false),
        (
            "SIMPLE_DIVISION",
            with_camera(12, |f, [x, y]| vec![f, x, y, 0.0]),
            false,
        ),
        ("EUCM", with_camera(16, |f, [x, y]| vec![f, f, x, y, 0.0, 1.0]), false),
        ("FISHEYE", with_camera(15, add(0)), true),
        ("SIMPLE_FISHEYE", with_camera(14, |f, [x, y]| vec![f, x, y]), true),
        ("RAD_TAN_THIN_PRISM_FISHEYE", with_camera(11, add(12)), true),
    ] {
        write(&scratch, &model);
        let scene = load(&scratch).unwrap();
        let camera = &scene.cameras[0];
        assert_eq!(
            (scene.train.len(), camera.model, camera.is_fisheye),
            (35, name, is_fisheye)
        );
        assert_eq!(
            scene.train[0].camera.fx, model.cameras[0].parameters[0] as f32,
            "{name}"
        );
    }
}

#[test]
fn models_that_add_something_are_refused_by_name() {
    let scratch = Scratch::new("camera-models");
    for (name, model, way) in [
        (
            "DIVISION",
            with_camera(13, |f, [x, y]| vec![f, f, x, y, -0.1]),
            "image_undistorter",
        ),
        (
            "SIMPLE_DIVISION",
            with_camera(12, |f, [x, y]| vec![f, x, y, -0.1]),
            "image_undistorter",
        ),
        (
            "EUCM",
            with_camera(16, |f, [x, y]| vec![f, f, x, y, 0.5, 1.0]),
            "image_undistorter",
        ),
        (
            "RAD_TAN_THIN_PRISM_FISHEYE",
            with_camera(11, |f, [x, y]| [vec![f, f, x, y], vec![0.0; 11], vec![0.01]].concat()),
            "image_undistorter",
        ),
        (
            "EQUIRECTANGULAR",
            with_camera(17, |_, _| vec![256.0, 192.0]),
            "panoramas",
        ),
        ("number 42", with_camera(42, |_, _| vec![1.0; 2]), "not known"),
    ] {
        write(&scratch, &model);
        let said = load(&scratch).unwrap_err();
        assert!(
            said.contains(name) && said.contains(way) && said.contains("camera 1 "),
            "{said}"
        );
        // As long as no photo was taken by it, it is nobody's business.
        if name.starts_with("number") {
            continue;
        }
        let mut spare = Model::bundled();
        let mut camera = model.cameras[0].clone();
        camera.id = 9;
        spare.cameras.push(camera);
        write(&scratch, &spare);
        assert_eq!(load(&scratch).unwrap().train.len(), 35, "{name}");
    }
}

#[test]
fn names_with_other_folders_before_them_are_found() {
    let plain = Model::bundled();
    for (kind, before) in [
        ("the scene's root", "images/"),
        ("Windows", "images\\"),
        ("another machine", "/home/me/scan/images/"),
        ("another Windows", "D:\\scan\\photos\\"),
        ("a folder that is gone", "camera1/"),
    ] {
        let scratch = Scratch::new("names");
        let mut model = plain.clone();
        for image in &mut model.images {
            image.name = [before.as_bytes(), &image.name].concat();
        }
        write(&scratch, &model);
        let scene = load(&scratch).unwrap();
        assert_eq!((scene.train.len(), scene.test.len()), (35, 5), "{kind}");
        let view = &scene.train[0];
        assert!(
            view.image_path.ends_with("images/view_001.jpg") || view.image_path.is_file(),
            "{kind}: {view:?}"
        );
        assert!(
            scene.notices.iter().any(|notice| notice.contains("view_0")),
            "{kind}: {:?}",
            scene.notices
        );
    }
}

#[test]
fn names_in_another_spelling_are_found_and_lost_photos_are_not_made_up() {
    let scratch = Scratch::new("spelling");
    let mut model = Model::bundled();
    let stem = |name: &[u8]| String::from_utf8(name.to_vec()).unwrap();
    copy_photos(&scratch.join(""));
    let rename =
        |from: &str, to: &str| fs::rename(scratch.join("images").join(from), scratch.join("images").join(to)).unwrap();
    // Composed in the model and decomposed on disk; Latin-1 in the model; another photo gone, with one of its name elsewhere.
    let names: Vec<String> = model.images.iter().map(|image| stem(&image.name)).collect();
    rename(&names[1], "caf\u{65}\u{301}.jpg");
    model.images[1].name = "caf\u{e9}.jpg".into();
    rename(&names[2], "stra\u{df}e.jpg");
    model.images[2].name = b"stra\xdfe.jpg".to_vec();
    fs::create_dir(scratch.join("images/old")).unwrap();
    rename(&names[3], &format!("old/{}", names[3]));
    write(&scratch, &model);
    let scene = load(&scratch).unwrap();
    assert_eq!(scene.missing, [names[3].clone()]);
    assert_eq!(scene.train.len() + scene.test.len(), 39);
    assert!(
        scene.notices.iter().any(|notice| notice.contains("under another name")),
        "{:?}",
        scene.notices
    );
}

#[test]
fn a_cloud_stands_in_for_the_points_of_a_model() {
    let scratch = Scratch::new("cloud");
    let model = Model::bundled();
    copy_photos(&scratch.join(""));
    let sparse = scratch.join("sparse/0");
    model.write(&sparse, true);
    let usual = load(&scratch).unwrap();
    fs::remove_file(sparse.join("points3D.bin")).unwrap();
    fs::write(sparse.join("points3D.ply"), model.points_ply()).unwrap();
    let scene = load(&scratch).unwrap();
    assert_eq!(scene.points, usual.points);
    let said = |text: &str| scene.notices.iter().any(|notice| notice.contains(text));
    assert!(
        said("points3D.ply") && scene.warnings.is_empty(),
        "{:?} {:?}",
        scene.notices,
        scene.warnings
    );
    assert!(Path::new(&scene.model).ends_with("sparse/0"));
}
