//! `transforms.json` and `transforms_train.json` as other programs write them, held against the same data in plain form: cameras, points and
//! decoded photos are those of the plain form, and so is what a short training makes of them.

use std::fs;
use std::path::Path;

use kiln_scene::{Photo, SceneIndex, SceneOptions, Split, ViewId, decode};
use kiln_tests::captures::{self, Model, copy_photos};
use kiln_tests::photos::{self, MAGENTA};
use kiln_tests::runs::{self, Scratch};
use serde_json::{Value, json};

fn load(scene: &Path) -> SceneIndex {
    SceneIndex::load(scene, &SceneOptions::default()).unwrap()
}

fn photo(scene: &SceneIndex, split: Split, index: usize) -> Photo {
    decode(scene, ViewId { split, index }, [0.0; 3]).unwrap()
}

/// The same names, cameras up to `f32`, points and pixels of some photos.
fn assert_same(a: &SceneIndex, b: &SceneIndex) {
    let views = |scene: &SceneIndex| {
        scene
            .views()
            .map(|(id, view)| (id, view.name.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(views(a), views(b));
    for ((_, a), (_, b)) in a.views().zip(b.views()) {
        let numbers = |view: &kiln_scene::View| {
            let camera = &view.camera;
            let lens = [camera.fx, camera.fy, camera.cx, camera.cy];
            let pose = camera.rotation.iter().flatten().chain(&camera.translation);
            pose.chain(&lens).copied().collect::<Vec<f32>>()
        };
        for (x, y) in numbers(a).into_iter().zip(numbers(b)) {
            assert!((x - y).abs() <= 2e-5 * x.abs().max(1.0), "{}: {x} {y}", a.name);
        }
    }
    assert_eq!(a.points, b.points);
    for (split, index) in [(Split::Train, 0), (Split::Train, 7), (Split::Test, 1)] {
        assert_eq!(
            photo(a, split, index).bytes(),
            photo(b, split, index).bytes(),
            "{split:?} {index}"
        );
    }
}

fn write_json(path: &Path, value: &Value) {
    fs::write(path, value.to_string()).unwrap();
}

#[test]
fn masks_that_frames_name_hide_what_they_mask() {
    let scratch = Scratch::new("frames-masks");
    let model = Model::bundled();
    let [plain, named] = ["plain", "named"].map(|name| scratch.join(name));
    let model = photos::rename_to_png(model);
    let names: Vec<&str> = model.images.iter().map(captures::ModelImage::text).collect();
    for (scene, masks) in [(&plain, "masks"), (&named, "mattes/of frames")] {
        for name in &names {
            let painted = photos::bundled(name, |[x, _], color| if x < 128 { color } else { MAGENTA });
            photos::write(&scene.join("images").join(name), &painted);
            photos::write(&scene.join(masks).join(name), &photos::mask(256, 192, |[x, _]| x < 128));
        }
    }
    model.write(&plain.join("sparse/0"), true);
    let mut frames = model.transforms();
    frames["ply_file_path"] = "cloud.ply".into();
    for frame in frames["frames"].as_array_mut().unwrap() {
        let mask = frame["file_path"]
            .as_str()
            .unwrap()
            .replace("images", "mattes/of frames");
        frame["file_path"] = frame["file_path"]
            .as_str()
            .unwrap()
            .replace("images/", "./images/")
            .into();
        frame["mask_path"] = mask.into();
    }
    write_json(&named.join("transforms.json"), &frames);
    fs::write(named.join("cloud.ply"), model.points_ply()).unwrap();

    let (a, b) = (load(&plain), load(&named));
    assert!(a.masked && b.masked && b.warnings.is_empty(), "{:?}", b.warnings);
    for (split, index) in [(Split::Train, 0), (Split::Train, 20), (Split::Test, 4)] {
        let (a, b) = (photo(&a, split, index), photo(&b, split, index));
        assert_eq!((a.bytes(), a.mask()), (b.bytes(), b.mask()));
    }
    assert_eq!(a.points, b.points);
    // What is hidden is not trained: as good as the plain form, and far from what magenta halves give.
    let [a, b] = [(&plain, "a"), (&named, "b")].map(|(scene, name)| {
        let folder = Scratch::new(name);
        captures::train(&folder, scene, 60, &[]).psnr
    });
    assert!((a - b).abs() < 0.3, "{a} {b}");
}

#[test]
fn both_files_have_the_same_keys() {
    let scratch = Scratch::new("frames-keys");
    let (model, crop) = (photos::rename_to_png(Model::bundled()), 48);
    let names: Vec<&str> = model.images.iter().map(captures::ModelImage::text).collect();
    let [one, two] = ["one", "two"].map(|name| scratch.join(name));
    for scene in [&one, &two] {
        for name in &names {
            let whole = photos::bundled(name, |_, color| color);
            photos::write(&scene.join("images").join(name), &photos::crop_left(&whole, crop));
        }
        fs::write(scene.join("cloud.ply"), model.points_ply()).unwrap();
    }
    let all = model.transforms();
    let frames = all["frames"].as_array().unwrap();
    let [train, test]: [Vec<&Value>; 2] = [true, false].map(|train| {
        (0..frames.len())
            .filter(|at| (at % 8 != 0) == train)
            .map(|at| &frames[at])
            .collect()
    });
    let number = |key: &str| all[key].as_f64().unwrap();
    let size = [256 - crop, 192];
    for (k1, k2, p1) in [(0.0, 0.0, 0.0), (0.05, -0.01, 0.002)] {
        let with = |frames: &[&Value], more: Value| {
            let mut file = json!({
                "fl_x": number("fl_x"), "fl_y": number("fl_y"), "cx": number("cx") - f64::from(crop), "cy": number("cy"),
                "w": size[0], "h": size[1], "k1": k1, "k2": k2, "p1": p1, "p2": 0.0, "aabb_scale": 4,
                "ply_file_path": "cloud.ply", "frames": frames,
            });
            file.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            file
        };
        let files = |frames: &[&Value]| frames.iter().map(|frame| frame["file_path"].clone()).collect::<Value>();
        let lists = json!({"train_filenames": files(&train), "test_filenames": files(&test)});
        let all_frames: Vec<&Value> = frames.iter().collect();
        write_json(&one.join("transforms.json"), &with(&all_frames, lists));
        let plain = load(&one);
        assert_eq!((plain.train.len(), plain.test.len()), (35, 5));
        // As scripts for Blender write it, where the angle is that of the sensor and not of this lens, and without an angle.
        for angle in [json!({"camera_angle_x": 0.9}), json!({})] {
            write_json(&two.join("transforms_train.json"), &with(&train, angle.clone()));
            write_json(&two.join("transforms_test.json"), &with(&test, angle));
            let found = load(&two);
            assert_same(&plain, &found);
            assert!(found.warnings.is_empty(), "{:?}", found.warnings);
            let camera = &found.train[0].camera;
            assert!(k1 != 0.0 || camera.cx == (number("cx") - 48.0) as f32);
        }
    }
    // A file for tests whose lens differs is read with its own.
    let mut other = all.clone();
    other["frames"] = test.iter().map(|frame| (*frame).clone()).collect();
    other["fl_x"] = (2.0 * number("fl_x")).into();
    other["w"] = size[0].into();
    other["cx"] = 104.0.into();
    write_json(&two.join("transforms_test.json"), &other);
    let found = load(&two);
    assert_eq!(
        (found.test[0].camera.fx, found.test[0].camera.cx),
        (2.0 * number("fl_x") as f32, 104.0)
    );
}

/// ScanNet's exports have frames whose pose was not found.
#[test]
fn frames_without_a_pose_are_left_out_and_named() {
    let scratch = Scratch::new("frames-inf");
    let scene = scratch.join("scene");
    copy_photos(&scene);
    let model = Model::bundled();
    let mut with = model.transforms();
    with["ply_file_path"] = "cloud.ply".into();
    fs::write(scene.join("cloud.ply"), model.points_ply()).unwrap();
    let mut without = with.clone();
    without["frames"] = {
        let frames = without["frames"].as_array().unwrap();
        let kept = frames.iter().enumerate().filter(|(at, _)| ![3, 9].contains(at));
        kept.map(|(_, frame)| frame.clone()).collect()
    };
    write_json(&scene.join("transforms.json"), &without);
    let plain = load(&scene);
    with["frames"][3]["transform_matrix"] = json!([["X", "X", "X", "X"], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]]);
    with["frames"][9]["transform_matrix"][0][3] = "N".into();
    let python = with.to_string().replace("\"X\"", "-Infinity").replace("\"N\"", "NaN");
    fs::write(scene.join("transforms.json"), python).unwrap();
    let found = load(&scene);
    assert_same(&plain, &found);
    assert_eq!(found.warnings.len(), 1);
    for words in [
        "2 of 40 frames in transforms.json have no pose",
        "view_003.jpg",
        "view_009.jpg",
    ] {
        assert!(found.warnings[0].contains(words), "{:?}", found.warnings);
    }
    // All of them: nothing is left to train on.
    let none = python_all(&model);
    fs::write(scene.join("transforms.json"), none).unwrap();
    let error = SceneIndex::load(&scene, &SceneOptions::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("transforms.json"), "{error}");
    let (code, said) = runs::outcome(runs::kiln().args(["inspect", "scene"]).current_dir(scratch.join("")));
    assert!(code == Some(4) && said.contains("no pose"), "{code:?} {said}");
}

fn python_all(model: &Model) -> String {
    let mut all = model.transforms();
    for frame in all["frames"].as_array_mut().unwrap() {
        frame["transform_matrix"][1][1] = "N".into();
    }
    all.to_string().replace("\"N\"", "NaN")
}
