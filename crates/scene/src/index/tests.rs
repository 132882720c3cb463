//! Whole data sets, the bundled one and small synthetic ones.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use super::*;
use crate::{Alpha, ImageOptions, ImageStore};
use kiln_scratch::Scratch;

fn bundled() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scenes/stilllife")
}

/// A COLMAP data set in text form with `count` cameras on a line, and the images of `present`.
fn colmap_scene(count: usize, present: impl IntoIterator<Item = usize>) -> Scratch {
    let folder = Scratch::new();
    let images: String = (0..count)
        .map(|n| format!("{} 1 0 0 0 {n} 0 0 1 v{n:02}.png\n\n", n + 1))
        .collect();
    folder.write("sparse/0/cameras.txt", "1 PINHOLE 40 30 35 36 19 16\n");
    folder.write("sparse/0/images.txt", images);
    folder.write("sparse/0/points3D.txt", "1 0 0 5 255 0 0 0.1\n");
    for n in present {
        folder.write_png(&format!("images/v{n:02}.png"), 40, 30, 3, &[n as u8; 3600]);
    }
    folder
}

fn load(folder: &Scratch) -> Result<SceneIndex, SceneError> {
    SceneIndex::load(folder.path(), &SceneOptions::default())
}

fn message(folder: &Scratch, options: &SceneOptions) -> String {
    SceneIndex::load(folder.path(), options).unwrap_err().to_string()
}

#[test]
fn bundled_scene_is_read_as_it_was_made() {
    let scene = SceneIndex::load(&bundled(), &SceneOptions::default()).unwrap();
    assert_eq!(
        (scene.kind, scene.train.len(), scene.test.len()),
        (SceneKind::Colmap, 35, 5)
    );
    assert_eq!((scene.points.len(), scene.warnings.len()), (3500, 0));
    let names: Vec<&str> = scene.test.iter().map(|view| view.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "view_000.jpg",
            "view_008.jpg",
            "view_016.jpg",
            "view_024.jpg",
            "view_032.jpg"
        ]
    );
    let camera = &scene.train[0].camera;
    assert_eq!(
        (camera.width_px, camera.height_px, camera.cx, camera.cy),
        (256, 192, 128.0, 96.0)
    );
    assert!((camera.fx - 230.9).abs() < 0.1 && camera.fx == camera.fy);
    // cameras circle the table at about two units
    assert!((1.5..4.0).contains(&scene.extent), "{}", scene.extent);
    assert!(
        scene
            .views()
            .all(|(id, view)| scene.view(id) == Some(view) && view.id == view.name[..8])
    );
}

#[test]
fn points_lie_in_front_of_bundled_cameras_and_match_their_pixels() {
    let scene = SceneIndex::load(&bundled(), &SceneOptions::default()).unwrap();
    let store = ImageStore::open(&scene, ImageOptions::default()).unwrap();
    let id = ViewId {
        split: Split::Train,
        index: 4,
    };
    let (camera, picture) = (&scene.train[4].camera, store.get(id).unwrap());
    let (mut seen, mut close) = (0, 0);
    for point in &scene.points {
        let p: [f32; 3] = std::array::from_fn(|row| {
            (0..3)
                .map(|axis| camera.rotation[row][axis] * point.position[axis])
                .sum::<f32>()
                + camera.translation[row]
        });
        assert!(p[2] > 0.2, "a point behind the camera");
        let (u, v) = (camera.fx * p[0] / p[2] + camera.cx, camera.fy * p[1] / p[2] + camera.cy);
        if !(0.0..256.0).contains(&u) || !(0.0..192.0).contains(&v) {
            continue;
        }
        seen += 1;
        let at = (v as usize * 256 + u as usize) * 3;
        let error: i32 = (0..3)
            .map(|c| (i32::from(picture[at + c]) - i32::from(point.color[c])).abs())
            .sum();
        close += i32::from(error < 90);
    }
    // the rest is hidden behind something nearer in this view
    assert!(
        seen > 1000 && close * 2 > seen,
        "{close} of {seen} points have the colour of their pixel"
    );
}

#[test]
fn every_eighth_view_is_held_out_or_none() {
    let folder = colmap_scene(18, 0..18);
    let scene = load(&folder).unwrap();
    let names = |views: &[View]| views.iter().map(|view| view.id.clone()).collect::<Vec<_>>();
    assert_eq!(names(&scene.test), ["v00", "v08", "v16"]);
    assert_eq!((scene.train.len(), names(&scene.train)[7].as_str()), (15, "v09"));
    // training centres are at -1..=-17 without -8 and -16; the mean is -129 / 15
    assert!(
        (scene.extent - 1.1 * (17.0 - 129.0 / 15.0)).abs() < 1e-4,
        "{}",
        scene.extent
    );
    let all = SceneIndex::load(
        folder.path(),
        &SceneOptions {
            eval: false,
            ..SceneOptions::default()
        },
    )
    .unwrap();
    assert_eq!((all.train.len(), all.test.len()), (18, 0));
}

#[test]
fn resolution_moves_principal_point_and_focal_length() {
    let folder = colmap_scene(3, 0..3);
    let options = SceneOptions {
        resolution: Resolution::Divide(4),
        ..SceneOptions::default()
    };
    let scene = SceneIndex::load(folder.path(), &options).unwrap();
    let camera = &scene.train[0].camera;
    assert_eq!((camera.width_px, camera.height_px), (10, 8));
    assert_eq!((camera.fx, camera.fy), (35.0 / 4.0, 36.0 * 8.0 / 30.0));
    assert_eq!((camera.cx, camera.cy), (19.0 / 4.0, 16.0 * 8.0 / 30.0));
    assert!(scene.warnings[0].contains("10x8"), "{:?}", scene.warnings);
    assert_eq!(scene.largest_px(), (10, 8));
    assert_eq!(scene.rescaled(2.0).largest_px(), (5, 4));
}

#[test]
fn missing_images_are_left_out_until_none_is_left() {
    let scene = load(&colmap_scene(12, 4..12)).unwrap();
    assert_eq!((scene.train.len(), scene.test.len()), (7, 1));
    assert_eq!(scene.test[0].name, "v04.png");
    let warning = &scene.warnings[0];
    assert!(
        warning.contains("4 of 12") && warning.contains("v00.png, v01.png, v02.png and 1 more"),
        "{warning}"
    );
    let error = message(&colmap_scene(12, []), &SceneOptions::default());
    assert!(
        error.contains("none of its 12 images") && error.contains("-i FOLDER"),
        "{error}"
    );
    let error = message(&colmap_scene(0, []), &SceneOptions::default());
    assert!(error.contains("lists no images"), "{error}");
    let error = message(&colmap_scene(1, [0]), &SceneOptions::default());
    assert!(error.contains("--no-eval"), "{error}");
}

#[test]
fn folders_of_no_known_kind_name_the_markers() {
    let folder = Scratch::new();
    let error = message(&folder, &SceneOptions::default());
    for marker in [
        "sparse/0/cameras.bin",
        "sparse/cameras.bin",
        "transforms_train.json",
        "metadata.json",
        "transforms.json",
        "an empty folder",
    ] {
        assert!(error.contains(marker), "{error}");
    }
    let absent = SceneIndex::load(&folder.path().join("absent"), &SceneOptions::default()).unwrap_err();
    assert!(absent.to_string().contains("absent"), "{absent}");
}

#[test]
fn images_of_another_shape_or_kind_are_errors() {
    let folder = colmap_scene(2, 0..2);
    folder.write_png("images/v01.png", 30, 40, 3, &[0; 3600]);
    let error = message(&folder, &SceneOptions::default());
    assert!(error.contains("v01.png") && error.contains("30x40"), "{error}");
    folder.write("images/v00.png", "GIF89a nothing");
    folder.write("images/v01.png", "GIF89a nothing");
    let error = message(&folder, &SceneOptions::default());
    assert!(
        error.contains("can be decoded: v00.png (") && error.contains("v01.png ("),
        "{error}"
    );
}

#[test]
fn blender_frames_follow_their_files() {
    let folder = Scratch::new();
    let transforms = |names: &[&str]| {
        let frames: Vec<String> = names
            .iter()
            .enumerate()
            .map(|(n, name)| {
                folder.write_png(&format!("{name}.png"), 20, 10, 4, &[200; 800]);
                let matrix = format!("[[1,0,0,{n}],[0,1,0,0],[0,0,1,0],[0,0,0,1]]");
                format!(r#"{{"file_path":"./{name}","transform_matrix":{matrix}}}"#)
            })
            .collect();
        format!(r#"{{"camera_angle_x":1.0,"frames":[{}]}}"#, frames.join(","))
    };
    folder.write("transforms_train.json", transforms(&["train/r_1", "train/r_0"]));
    let scene = load(&folder).unwrap();
    assert_eq!((scene.train.len(), scene.test.len()), (1, 1));
    assert!(
        scene
            .warnings
            .iter()
            .any(|warning| warning.contains("transforms_test.json")),
        "{:?}",
        scene.warnings
    );
    folder.write("transforms_test.json", transforms(&["test/r_0"]));
    let scene = load(&folder).unwrap();
    assert_eq!(
        (scene.kind, scene.train.len(), scene.test.len()),
        (SceneKind::Blender, 2, 1)
    );
    assert_eq!(
        (scene.train[0].id.as_str(), scene.test[0].id.as_str()),
        ("r_0", "test_r_0")
    );
    let camera = &scene.train[0].camera;
    assert!((camera.fx - 10.0 / 0.5_f32.tan()).abs() < 1e-4 && camera.fx == camera.fy);
    assert_eq!((camera.cx, camera.cy), (10.0, 5.0));
    assert_eq!(scene.train[0].alpha, Alpha::Composite);
    let all = SceneIndex::load(
        folder.path(),
        &SceneOptions {
            eval: false,
            ..SceneOptions::default()
        },
    )
    .unwrap();
    assert_eq!((all.train.len(), all.test.len()), (3, 0));
}

#[test]
fn cameras_in_one_place_get_an_extent_from_the_points() {
    let folder = colmap_scene(2, 0..2);
    let scene = load(&folder).unwrap();
    assert!((scene.extent - 1.1 * 26.0_f32.sqrt()).abs() < 1e-5, "{}", scene.extent);
    assert!(scene.warnings.iter().any(|warning| warning.contains("one position")));
}
