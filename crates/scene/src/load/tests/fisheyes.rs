//! Photos of fisheyes that stay as they are.

use super::*;
use crate::{CameraUse, Undistort};

fn kept(resolution: Resolution) -> SceneOptions {
    SceneOptions {
        undistort: Undistort::ExceptFisheye,
        ..at(resolution)
    }
}

#[test]
fn a_colmap_fisheye_is_kept_at_every_resolution() {
    let folder = Scratch::new();
    write_model(
        &folder,
        "THIN_PRISM_FISHEYE 160 120 70 71 82 58 0.02 -0.01 0.001 0.002 0.004 -0.001 0.001 -0.001",
        &["a.png", "b.png"],
    );
    grey(&folder, "images/a.png", 160, 120);
    grey(&folder, "images/b.png", 80, 60);
    let scene = load(folder.path(), &kept(Resolution::Divide(2))).unwrap();
    let [a, b] = &scene.train[..] else {
        unreachable!("two images were written")
    };
    assert_eq!((a.source_width, a.source_height, a.intrinsics.fx), (160, 120, 70.0));
    let camera = &a.camera;
    assert_eq!((camera.width_px, camera.height_px), (80, 60));
    assert_eq!((camera.fx, camera.fy, camera.cx, camera.cy), (35.0, 35.5, 41.0, 29.0));
    let lens = camera.lens.unwrap();
    assert_eq!(lens.radial, [0.02, -0.01, 0.004, -0.001]);
    assert_eq!((lens.tangential, lens.prism), ([0.001, 0.002], [0.001, -0.001]));
    assert!((80.0..100.0).contains(&lens.reach.to_degrees()), "{lens:?}");
    assert_eq!(b.camera.lens, a.camera.lens);
    assert_eq!(scene.rescaled(2.0).train[0].camera.lens, a.camera.lens);
    assert_eq!(picture(&scene, 0), vec![90; 3 * 80 * 60]);
    assert!(scene.notices.is_empty() && !scene.masked, "{:?}", scene.notices);
    assert!(scene.cameras.iter().all(CameraUse::is_kept));

    let inside = load(folder.path(), &at(Resolution::Divide(1))).unwrap();
    assert!(inside.train.iter().all(|view| view.camera.lens.is_none()));
    let remedy = "`dataset.undistort: auto` leaves fisheyes as they are where nothing needs pinholes; elsewhere `whole` keeps more of them";
    assert!(
        inside.notices.iter().any(|notice| notice == remedy),
        "{:?}",
        inside.notices
    );
}

#[test]
fn pixels_without_a_ray_are_masked() {
    let folder = Scratch::new();
    // Its radius grows hardly from 105 degrees on, 75 pixels from the middle.
    write_model(&folder, "SIMPLE_RADIAL_FISHEYE 160 160 60 80 80 -0.0943", &["a.png"]);
    grey(&folder, "images/a.png", 160, 160);
    let scene = load(folder.path(), &kept(Resolution::Divide(2))).unwrap();
    assert!(scene.masked);
    let store = ImageStore::open(&scene, ImageOptions::default()).unwrap();
    let photo = store
        .get(ViewId {
            split: Split::Train,
            index: 0,
        })
        .unwrap();
    let mask = photo.mask().unwrap();
    let camera = &scene.train[0].camera;
    let radius = 30.0 * camera.lens.unwrap().radius(camera.lens.unwrap().reach)[0];
    for (at, value) in mask.iter().enumerate() {
        let [x, y] = [at % 80, at / 80].map(|side| side as f32 + 0.5 - 40.0);
        let off = x.hypot(y) - radius;
        assert!(off.abs() < 1.0 || (*value == 255) == (off < 0.0), "{x} {y} {radius}");
    }
    assert!((30.0..40.0).contains(&radius), "{radius}");
}

#[test]
fn nerfstudio_fisheyes_are_kept_and_others_undistorted() {
    let folder = Scratch::new();
    let pose = "[[1,0,0,2],[0,0,-1,-5],[0,1,0,3],[0,0,0,1]]";
    let frame = |name: &str, own: &str| format!(r#"{{"file_path":"{name}","transform_matrix":{pose}{own}}}"#);
    let frames = [
        frame("a.png", r#","camera_model":"OPENCV_FISHEYE""#),
        frame("b.png", r#","camera_model":"OPENCV""#),
        frame("c.png", r#","is_fisheye":true"#),
    ];
    let shared = r#""fl_x":60,"fl_y":61,"cx":80,"cy":59,"w":160,"h":120,"k1":0.03,"k2":-0.01"#;
    folder.write(
        "transforms.json",
        format!(r#"{{{shared},"frames":[{}]}}"#, frames.join(",")),
    );
    for name in ["a.png", "b.png", "c.png"] {
        grey(&folder, name, 160, 120);
    }
    let scene = load(folder.path(), &kept(Resolution::Divide(1))).unwrap();
    let lens = |index: usize| scene.train[index].camera.lens;
    assert_eq!(lens(0).unwrap().radial, [0.03, -0.01, 0.0, 0.0]);
    assert_eq!((lens(1), lens(2)), (None, lens(0)));
    let camera = &scene.train[0].camera;
    assert_eq!(
        (camera.width_px, camera.height_px, camera.fx, camera.cy),
        (160, 120, 60.0, 59.0)
    );
    assert!(scene.train[1].camera.width_px != 160, "undistorted inside");
}

#[test]
fn a_fisheye_that_shows_next_to_nothing_is_refused() {
    let folder = Scratch::new();
    write_model(&folder, "OPENCV_FISHEYE 160 120 70 70 80 60 -1000000 0 0 0", &["a.png"]);
    grey(&folder, "images/a.png", 160, 120);
    let inside = message(&folder);
    let error = load(folder.path(), &kept(Resolution::Divide(1)))
        .unwrap_err()
        .to_string();
    assert_eq!(error, inside);
    assert!(error.contains("a.png") && error.contains("OPENCV_FISHEYE"), "{error}");
}
