//! Scenes as the engine reads them.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::PathBuf;

use kiln_mesh::solids::TRUTH_FILE;
use kiln_scene::{Axes, SceneIndex, SceneOptions, Split, ViewId, decode};

use super::{Synthetic, SyntheticKind};

pub(super) fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("kiln-lab-{name}-{}", std::process::id()))
}

#[test]
fn a_scene_is_read_back_and_as_many_points_are_in_view_as_asked_for() {
    let root = scratch("sheets");
    let made = Synthetic {
        gaussians: 2000,
        visible: Some(700),
        size_px: [160, 90],
        views: 9,
        seed: 3,
        ..Synthetic::default()
    };
    made.write(&root).unwrap();
    let scene = SceneIndex::load(&root, &SceneOptions::default()).unwrap();
    assert_eq!(scene.points.len(), 2000);
    assert_eq!(scene.views().count(), 9);
    for (_, view) in scene.views() {
        let camera = &view.camera;
        let seen = scene.points.iter().filter(|point| {
            let [x, y, z] = [0, 1, 2].map(|i| f64::from(point.position[i]) + f64::from(camera.translation[i]));
            let u = f64::from(camera.fx) * x / z + f64::from(camera.cx);
            let v = f64::from(camera.fy) * y / z + f64::from(camera.cy);
            z > 0.0 && (0.0..160.0).contains(&u) && (0.0..90.0).contains(&v)
        });
        assert_eq!(seen.count(), 700, "{}", view.name);
    }
    let again = made.write(&root).unwrap_err().to_string();
    assert!(again.contains("the folder is not empty"), "{again}");
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn solids_are_seen_where_their_points_lie() {
    let root = scratch("solids");
    let made = Synthetic {
        kind: SyntheticKind::Solids,
        gaussians: 300,
        size_px: [320, 240],
        views: 4,
        seed: 3,
        samples: 1,
        truth: 3000,
        ..Synthetic::default()
    };
    made.write(&root).unwrap();
    let scene = SceneIndex::load(&root, &SceneOptions::default()).unwrap();
    let (_, view) = scene.views().next().unwrap();
    let photo = image::open(&view.image_path).unwrap().into_rgb8();
    let camera = &view.camera;
    let (mut seen, mut alike) = (0, 0);
    for point in &scene.points {
        let at: [f32; 3] = std::array::from_fn(|row| {
            let turned: f32 = (0..3)
                .map(|axis| camera.rotation[row][axis] * point.position[axis])
                .sum();
            turned + camera.translation[row]
        });
        let (u, v) = (
            camera.fx * at[0] / at[2] + camera.cx,
            camera.fy * at[1] / at[2] + camera.cy,
        );
        if at[2] > 0.0 && (0.0..320.0).contains(&u) && (0.0..240.0).contains(&v) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "inside the image"
            )]
            let pixel = photo.get_pixel(u as u32, v as u32).0;
            seen += 1;
            let off: i32 = (0..3)
                .map(|c| (i32::from(pixel[c]) - i32::from(point.color[c])).abs())
                .sum();
            alike += i32::from(off < 150);
        }
    }
    // Some are hidden, and some lie beside an edge.
    assert!(seen > 200 && 10 * alike > 6 * seen, "{alike} of {seen} of 300");
    let options = SceneOptions {
        seen_points: 1000,
        eval: false,
        ..SceneOptions::default()
    };
    let scene = SceneIndex::load(&root, &options).unwrap();
    let listed: Vec<usize> = scene.train.iter().map(|view| view.seen.len()).collect();
    assert!(listed.iter().all(|n| (50..300).contains(n)), "{listed:?}");
    assert!(scene.seen_bytes() > 200 * 16);
    let with_depths = SceneOptions {
        depths: Some("depths".into()),
        eval: false,
        ..SceneOptions::default()
    };
    let deep = SceneIndex::load(&root, &with_depths).unwrap();
    assert!(deep.train.iter().all(|view| view.depth.is_some()));
    for (axes, right) in [(Axes::Opengl, true), (Axes::Rdb, false)] {
        let with_normals = SceneOptions {
            normals: Some(("normals".into(), axes)),
            eval: false,
            ..SceneOptions::default()
        };
        let told = SceneIndex::load(&root, &with_normals).unwrap();
        assert!(told.train.iter().all(|view| view.normal.is_some()));
        let warned = told
            .warnings
            .iter()
            .any(|told| told.contains("dataset.normals.axes=opengl"));
        assert_eq!(warned, !right, "{:?}", told.warnings);
    }
    let truth = kiln_mesh::ply::read(&std::fs::read(root.join(TRUTH_FILE)).unwrap()[..]).unwrap();
    let (count, normals) = (truth.positions().len(), truth.normals().unwrap());
    assert!((1000..3000).contains(&count) && truth.triangles().is_empty(), "{count}");
    for (place, normal) in truth.positions().iter().zip(normals) {
        assert!(kiln_mesh::solids::distance(*place).0 < 1e-6, "{place:?} {normal:?}");
    }
    std::fs::remove_dir_all(root).unwrap();
}

/// What Kiln makes of a fisheye's photos is what the pinhole that it chooses would have taken.
#[test]
fn a_fisheye_is_undistorted_to_what_a_pinhole_takes() {
    let made = |flattened: bool| {
        let root = scratch(if flattened { "flattened" } else { "fisheye" });
        let made = Synthetic {
            kind: SyntheticKind::Solids,
            gaussians: 300,
            size_px: [320, 240],
            views: 2,
            samples: 4,
            fisheye: Some(110),
            flattened,
            ..Synthetic::default()
        };
        made.write(&root).unwrap();
        let scene = SceneIndex::load(&root, &SceneOptions::default()).unwrap();
        let id = ViewId {
            split: Split::Train,
            index: 0,
        };
        let photo = decode(&scene, id, [0.0; 3]).unwrap();
        let camera = scene.train[0].camera.clone();
        std::fs::remove_dir_all(root).unwrap();
        (camera, photo)
    };
    let ((bent, found), (flat, wanted)) = (made(false), made(true));
    assert_eq!((bent.width_px, bent.height_px), (flat.width_px, flat.height_px));
    assert!(
        (bent.fx - flat.fx).abs() < 1e-3 && (bent.cx - flat.cx).abs() < 1.0,
        "{bent:?} {flat:?}"
    );
    let (found, wanted) = (found.bytes(), wanted.bytes());
    let squares = found
        .iter()
        .zip(wanted)
        .map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2));
    let psnr = 10.0 * (255.0_f64.powi(2) * wanted.len() as f64 / squares.sum::<f64>()).log10();
    assert!(psnr > 25.0, "{psnr}");
}
