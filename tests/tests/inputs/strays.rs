//! Cameras and points far from all others: they are named, and decide nothing.

use kiln::project::Survey;
use kiln_scene::{SceneIndex, SceneOptions};
use kiln_tests::captures::{Model, copy_photos, rotation};
use kiln_tests::runs::{self, Scratch};

fn load(scratch: &Scratch, model: &Model) -> SceneIndex {
    if !scratch.join("images").is_dir() {
        copy_photos(&scratch.join(""));
    }
    model.write(&scratch.join("sparse/0"), true);
    SceneIndex::load(&scratch.join(""), &SceneOptions::default()).unwrap()
}

fn bundled() -> SceneIndex {
    SceneIndex::load(&runs::scene(), &SceneOptions::default()).unwrap()
}

#[test]
fn a_camera_far_away_is_named_and_left_out() {
    let usual = bundled();
    let scratch = Scratch::new("stray");
    for far in [[30.0, 0.0, 0.0], [0.0, -300.0, 0.0], [3e3, 3e3, 0.0], [0.0, 0.0, 1e6]] {
        // The last is a test view.
        for image in [17, 33, 16] {
            let mut model = Model::bundled();
            model.move_camera(image, far);
            let name = model.images[image].text().to_owned();
            let scene = load(&scratch, &model);
            assert!(
                (scene.extent / usual.extent - 1.0).abs() < 0.05,
                "{far:?}: {}",
                scene.extent
            );
            assert!(
                (scene.near_z() / usual.near_z() - 1.0).abs() < 0.1,
                "{far:?}: {}",
                scene.near_z()
            );
            let is_named = |said: &String| said.contains(&name) && said.contains(" times as far)");
            assert!(scene.warnings.iter().any(is_named), "{far:?}: {:?}", scene.warnings);
            // No point is in its picture, or some are because it looks this way.
            let left = scene.train.len() + scene.test.len();
            assert_eq!(left + scene.strays.len(), 40, "{far:?}");
            assert_eq!(scene.origin, [0.0; 3], "{far:?}");
        }
    }
}

#[test]
fn several_cameras_and_a_few_points_far_away_decide_nothing() {
    let usual = bundled();
    let scratch = Scratch::new("strays");
    let mut model = Model::bundled();
    for (image, far) in [(3, 40.0), (12, -500.0), (25, 2e4), (30, 2e4)] {
        model.move_camera(image, [far, 0.0, 0.0]);
    }
    for (at, place) in [(5, [1e6, 0.0, 0.0]), (77, [0.0, -2e7, 3e3]), (200, [1e5; 3])] {
        model.points[at].position = place;
    }
    let scene = load(&scratch, &model);
    assert!((scene.extent / usual.extent - 1.0).abs() < 0.1, "{}", scene.extent);
    assert_eq!(scene.points.len(), usual.points.len() - 3);
    for image in [3, 12, 25, 30] {
        let name = model.images[image].text();
        assert!(
            scene.warnings.iter().any(|said| said.contains(name)),
            "{name}: {:?}",
            scene.warnings
        );
    }
    assert!(
        scene.warnings.iter().any(|said| said.contains("3 of")),
        "{:?}",
        scene.warnings
    );
}

#[test]
fn the_bundled_scene_has_none() {
    let scene = bundled();
    assert!(scene.strays.is_empty() && scene.train.iter().all(|view| !view.is_stray));
    assert!(scene.warnings.is_empty(), "{:?}", scene.warnings);
}

#[test]
fn a_split_is_where_the_others_are() {
    let survey = |scene: &SceneIndex| Survey::of(scene, scene, None).unwrap();
    let usual = survey(&bundled());
    let scratch = Scratch::new("split-strays");
    let mut model = Model::bundled();
    // Backwards, so that it shows all of the scene and stays.
    let back = rotation(model.images[17].quaternion)[2].map(|value| -100.0 * value);
    model.move_camera(17, back);
    // Straight up, which is where points spread least.
    for at in [5, 77, 200] {
        model.points[at].position[2] += 400.0;
    }
    let scene = load(&scratch, &model);
    assert!(scene.strays.is_empty() && scene.train.iter().any(|view| view.is_stray));
    let usual_points = bundled().points.len();
    assert_eq!(scene.points.len(), usual_points, "too near to be left out");
    assert_eq!(scene.points_together().count(), usual_points - 3);
    let found = survey(&scene);
    assert_eq!(found.ground, usual.ground);
    for (side, usual) in found.bounds().sides().into_iter().zip(usual.bounds().sides()) {
        assert!((side / usual - 1.0).abs() < 0.1, "{side} instead of {usual}");
    }
}
