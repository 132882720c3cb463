//! Data sets as people have them: several layouts, odd images, and input that is not what it says.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]

mod damage;
mod exports;
mod fisheyes;
mod formats;
#[cfg(unix)]
mod links;
mod notices;

use super::*;
use crate::{ImageOptions, ImageStore, Split, ViewId};
use kiln_scratch::{Scratch, jpeg_with_orientation};

/// A COLMAP data set in text form: a camera line and image names, posed on a line.
fn write_model(folder: &Scratch, camera: &str, names: &[&str]) {
    let images: String = names
        .iter()
        .enumerate()
        .map(|(n, name)| format!("{} 1 0 0 0 {n} 0 0 1 {name}\n\n", n + 1))
        .collect();
    folder.write("sparse/0/cameras.txt", format!("1 {camera}\n"));
    folder.write("sparse/0/images.txt", images);
    folder.write("sparse/0/points3D.txt", "1 0 0 5 255 0 0 0.1\n");
}

fn grey(folder: &Scratch, name: &str, width: u32, height: u32) {
    folder.write_png(name, width, height, 3, &vec![90; (width * height * 3) as usize]);
}

fn all_views() -> SceneOptions {
    SceneOptions {
        eval: false,
        ..SceneOptions::default()
    }
}

fn at(resolution: Resolution) -> SceneOptions {
    SceneOptions {
        resolution,
        ..all_views()
    }
}

fn message(folder: &Scratch) -> String {
    load(folder.path(), &all_views()).unwrap_err().to_string()
}

fn picture(scene: &SceneIndex, index: usize) -> Vec<u8> {
    let store = ImageStore::open(scene, ImageOptions::default()).unwrap();
    let split = Split::Train;
    store.get(ViewId { split, index }).unwrap().to_vec()
}

#[test]
fn folders_spaces_and_other_alphabets_are_names_like_any() {
    let names = ["left/a b.png", "left/Żółw 1.png", "right/a b.png", "right/写真.png"];
    let folder = Scratch::new();
    write_model(&folder, "PINHOLE 40 30 35 36 19 16", &names);
    for name in names {
        grey(&folder, &format!("images/{name}"), 40, 30);
    }
    let scene = load(folder.path(), &all_views()).unwrap();
    let found: Vec<&str> = scene.train.iter().map(|view| view.name.as_str()).collect();
    assert_eq!(found, names);
    let ids: Vec<&str> = scene.train.iter().map(|view| view.id.as_str()).collect();
    assert_eq!(ids, ["a_b", "Żółw_1", "right_a_b", "写真"]);
    assert_eq!(picture(&scene, 2).len(), 40 * 30 * 3);
}

#[test]
fn ready_made_folders_are_taken_where_they_match_the_resolution() {
    let folder = Scratch::new();
    write_model(&folder, "PINHOLE 101 75 80 80 50.5 37.5", &["a.png", "b.png"]);
    let load = |options: SceneOptions| load(folder.path(), &options).unwrap();
    let size = |scene: &SceneIndex| (scene.train[0].camera.width_px, scene.train[0].camera.height_px);
    for name in ["a.png", "b.png"] {
        grey(&folder, &format!("images/{name}"), 101, 75);
        // rounded up, where the rule itself rounds to even
        grey(&folder, &format!("images_2/{name}"), 51, 38);
        grey(&folder, &format!("images_4/{name}"), 50, 37);
    }
    let scene = load(at(Resolution::Divide(2)));
    assert!(
        scene.images.ends_with("images_2") && scene.notices[0].contains("images_2"),
        "{:?}",
        scene.notices
    );
    assert_eq!(size(&scene), (51, 38));
    assert!((scene.train[0].camera.fx - 80.0 * 51.0 / 101.0).abs() < 1e-4);
    assert_eq!(size(&scene.rescaled(2.0)), (26, 19));
    // of another size
    let scene = load(at(Resolution::Divide(4)));
    assert!(scene.images.ends_with("images"));
    assert!(scene.notices[0].contains("a.png there is 50x37"), "{:?}", scene.notices);
    assert_eq!(size(&scene), (25, 19));
    // not all there
    grey(&folder, "images_8/a.png", 13, 9);
    let scene = load(at(Resolution::Divide(8)));
    assert!(
        scene.notices[0].contains("1 of the images and images 2"),
        "{:?}",
        scene.notices
    );
    // not asked for
    assert!(load(at(Resolution::Divide(1))).images.ends_with("images"));
    assert!(load(at(Resolution::Width(51))).images.ends_with("images"));
    let named = SceneOptions {
        images: Some("./images".to_owned()),
        ..at(Resolution::Divide(2))
    };
    let scene = load(named);
    assert!(scene.notices.is_empty() && scene.images.ends_with("images"));
    assert_eq!(size(&scene), (50, 38));
}

#[test]
fn missing_images_name_the_folders_that_could_be_meant() {
    let folder = Scratch::new();
    write_model(&folder, "PINHOLE 40 30 35 36 19 16", &["a.png", "b.png"]);
    let absent = message(&folder);
    assert!(
        absent.contains("none of its 2 images") && absent.contains("no folder") && absent.contains("a.png, b.png"),
        "{absent}"
    );
    grey(&folder, "images_4/a.png", 10, 8);
    let other = message(&folder);
    assert!(other.contains("they are in images_4: add `-i images_4`"), "{other}");
}

#[test]
fn a_camera_with_distortion_gives_pinhole_views() {
    let folder = Scratch::new();
    write_model(
        &folder,
        "OPENCV 160 120 130 128 82 58 -0.15 0.04 0.001 -0.002",
        &["a.png", "b.png"],
    );
    grey(&folder, "images/a.png", 160, 120);
    grey(&folder, "images/b.png", 80, 60);
    let scene = load(folder.path(), &at(Resolution::Divide(2))).unwrap();
    let [a, b] = &scene.train[..] else {
        unreachable!("two images were written")
    };
    assert!(a.source_width > 160 && a.source_height > 120 && a.intrinsics.fx == 130.0);
    assert!((b.intrinsics.fx - 65.0).abs() < 1e-9 && b.source_width.abs_diff(a.source_width / 2) <= 1);
    assert_eq!(
        a.camera.width_px,
        (f64::from(a.source_width) / 2.0).round_ties_even() as u32
    );
    for (index, view) in scene.train.iter().enumerate() {
        assert_eq!(picture(&scene, index), vec![90; 3 * view.pixels() as usize]);
    }
    assert_eq!(scene.cameras.len(), 2);
    let lost = scene.cameras[0].lost.unwrap();
    assert!((0.0..0.2).contains(&lost), "{lost}");
    assert_eq!(scene.notices.len(), 2);
    let notice = format!(
        "camera OPENCV 160x120 (1 image): undistorted to {}x{}, {:.1} % of a picture are lost at the edges",
        a.source_width,
        a.source_height,
        100.0 * lost
    );
    assert!(scene.notices.contains(&notice), "{:?}", scene.notices);
}

#[test]
fn photographs_are_turned_where_their_cameras_say_so() {
    let folder = Scratch::new();
    // stored 48x32, dark on the left; shown upright it is 32x48
    write_model(&folder, "PINHOLE 32 48 40 40 16 24", &["a.jpg"]);
    folder.write("images/a.jpg", jpeg_with_orientation(48, 32, 6));
    let scene = load(folder.path(), &all_views()).unwrap();
    assert!(scene.notices[0].contains("EXIF"), "{:?}", scene.notices);
    let turned = picture(&scene, 0);
    assert_eq!(turned.len(), 32 * 48 * 3);
    let red = |x: usize, y: usize| turned[(y * 32 + x) * 3];
    // a quarter turn clockwise takes the left to the top
    assert!(red(4, 4) < 60 && red(28, 4) < 60 && red(4, 44) > 180 && red(28, 44) > 180);
    // without the tag the sizes contradict each other
    folder.write("images/a.jpg", jpeg_with_orientation(48, 32, 0));
    let error = message(&folder);
    assert!(error.contains("48x32") && error.contains("32x48"), "{error}");
    // a camera of the stored size was calibrated on the stored picture
    write_model(&folder, "PINHOLE 48 32 40 40 24 16", &["a.jpg"]);
    folder.write("images/a.jpg", jpeg_with_orientation(48, 32, 6));
    let scene = load(folder.path(), &all_views()).unwrap();
    assert!(scene.notices.is_empty() && picture(&scene, 0)[4 * 3] < 60);
}

/// A PNG of 4 x 2 pixels with a palette of three colours, at two bits a pixel.
const PALETTE: &[u8] = b"\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x04\x00\x00\x00\x02\x02\x03\x00\x00\x00\x02\xc6\x95\xf0\x00\x00\x00\x0c\x50\x4c\x54\x45\x0a\x14\x1e\xc8\x64\x00\x00\xff\x4d\x00\x00\x00\x0c\x32\x91\x98\x00\x00\x00\x0c\x49\x44\x41\x54\x78\x9c\x63\x90\x60\x58\x0a\x00\x00\xf1\x00\xbe\xb2\x27\x2c\xba\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\x82";

#[test]
fn images_of_every_depth_become_eight_bit_colour() {
    let folder = Scratch::new();
    write_model(&folder, "PINHOLE 4 2 4 4 2 1", &["a.png"]);
    let path = folder.write("images/a.png", PALETTE);
    let now = || picture(&load(folder.path(), &all_views()).unwrap(), 0);
    let [ink, rust, green] = [[10, 20, 30], [200, 100, 0], [0, 255, 77]];
    assert_eq!(now(), [ink, rust, green, ink, green, green, rust, rust].concat());
    // 16 bits are rounded: 257 values a step, so 128 more is the next
    let deep: Vec<u8> = [0_u16, 128, 129, 257, 385, 386, 65_406, 65_407]
        .iter()
        .flat_map(|value| value.to_ne_bytes())
        .collect();
    let expected: Vec<u8> = [0, 0, 1, 1, 1, 2, 254, 255]
        .iter()
        .flat_map(|value| [*value; 3])
        .collect();
    image::save_buffer(&path, &deep, 4, 2, image::ColorType::L16).unwrap();
    assert_eq!(now(), expected);
    let rgb: Vec<u8> = deep.chunks(2).flat_map(|value| value.repeat(3)).collect();
    image::save_buffer(&path, &rgb, 4, 2, image::ColorType::Rgb16).unwrap();
    assert_eq!(now(), expected);
    image::save_buffer(&path, &[0, 1, 2, 3, 4, 5, 6, 255], 4, 2, image::ColorType::L8).unwrap();
    assert_eq!(now()[15..], [5, 5, 5, 6, 6, 6, 255, 255, 255]);
    image::save_buffer(&path, &[7; 16], 4, 2, image::ColorType::La8).unwrap();
    assert_eq!(now(), [7; 24]);
}

#[test]
fn nerfstudio_scenes_bring_points_and_their_split() {
    let folder = Scratch::new();
    let frame = |n: u32| {
        grey(&folder, &format!("images/{n}.png"), 40, 30);
        let matrix = format!("[[1,0,0,{n}],[0,1,0,0],[0,0,1,0],[0,0,0,1]]");
        format!(r#"{{"file_path":"images/{n}.png","transform_matrix":{matrix}}}"#)
    };
    let frames: Vec<String> = (0..5).map(frame).collect();
    let file = |more: &str| {
        let lens = r#""camera_model":"OPENCV","fl_x":40,"fl_y":41,"cx":20,"cy":15,"w":40,"h":30,"k1":-0.05"#;
        let absent = frames[0].replace("images/0", "images/absent");
        folder.write(
            "transforms.json",
            format!("{{{lens},{more}\"frames\":[{},{absent}]}}", frames.join(",")),
        );
    };
    file("");
    let scene = load(folder.path(), &SceneOptions::default()).unwrap();
    assert_eq!(
        (scene.kind, scene.train.len(), scene.test.len()),
        (SceneKind::Nerfstudio, 4, 1)
    );
    assert_eq!(scene.missing, ["images/absent.png"]);
    let warned = |word: &str| scene.warnings.iter().any(|warning| warning.contains(word));
    assert!(
        warned("1 of 6 images") && warned("random points"),
        "{:?}",
        scene.warnings
    );
    assert!(scene.cameras[0].lost.is_some());
    let points = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n\
        end_header\n1 2 -3\n";
    folder.write("sparse_pc.ply", points);
    file(r#""ply_file_path":"sparse_pc.ply","test_filenames":["images/1.png","images/3.png"],"#);
    let scene = load(folder.path(), &SceneOptions::default()).unwrap();
    assert_eq!(scene.points[0].position, [1.0, 2.0, -3.0]);
    let test: Vec<&str> = scene.test.iter().map(|view| view.id.as_str()).collect();
    assert_eq!((test, scene.train.len()), (vec!["1", "3"], 3));
    assert_eq!(load(folder.path(), &all_views()).unwrap().train.len(), 5);
    file(r#""ply_file_path":"absent.ply","#);
    assert!(message(&folder).contains("absent.ply"));
}

#[test]
fn multiscale_scenes_train_on_full_size_and_test_on_all() {
    let folder = Scratch::new();
    let set = |names: &[(&str, u32)]| {
        let list =
            |value: &dyn Fn(u32) -> String| names.iter().map(|(_, side)| value(*side)).collect::<Vec<_>>().join(",");
        for (name, side) in names {
            grey(&folder, name, *side, *side);
        }
        let paths: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        let mut n = 0;
        let poses: Vec<String> = names
            .iter()
            .map(|_| {
                n += 1;
                format!("[[1,0,0,{n}],[0,1,0,0],[0,0,1,0],[0,0,0,1]]")
            })
            .collect();
        let sides = list(&|side| side.to_string());
        let focal = list(&|side| (f64::from(side) * 1.25).to_string());
        format!(
            r#"{{"file_path":{paths:?},"cam2world":[{}],"focal":[{focal}],"width":[{sides}],"height":[{sides}]}}"#,
            poses.join(",")
        )
    };
    let train = set(&[
        ("train/r_0_d0.png", 64),
        ("train/r_0_d1.png", 32),
        ("train/r_1_d0.png", 64),
    ]);
    let test = set(&[("test/r_0_d0.png", 64), ("test/r_0_d2.png", 16)]);
    folder.write("metadata.json", format!(r#"{{"train":{train},"test":{test}}}"#));
    let scene = load(folder.path(), &SceneOptions::default()).unwrap();
    assert_eq!(
        (scene.kind, scene.train.len(), scene.test.len()),
        (SceneKind::Multiscale, 2, 2)
    );
    let small = &scene.test[1].camera;
    assert_eq!((small.width_px, small.fx, small.cx), (16, 20.0, 8.0));
}

#[test]
fn counts_of_images_down_to_none() {
    let folder = Scratch::new();
    write_model(&folder, "PINHOLE 40 30 35 36 19 16", &[]);
    assert!(message(&folder).contains("lists no images"));
    write_model(&folder, "PINHOLE 40 30 35 36 19 16", &["a.png"]);
    grey(&folder, "images/a.png", 40, 30);
    let held_out = load(folder.path(), &SceneOptions::default()).unwrap_err().to_string();
    assert!(
        held_out.contains("1 usable view") && held_out.contains("--no-eval"),
        "{held_out}"
    );
    let one = load(folder.path(), &all_views()).unwrap();
    assert_eq!((one.train.len(), one.extent > 0.0), (1, true));
}

#[test]
fn images_under_another_ending_are_found() {
    for (listed, there) in [
        ("000.jpg", "000.JPG"),
        ("000.jpg", "000.png"),
        ("sub/000.png", "sub/000.jpeg"),
    ] {
        let folder = Scratch::new();
        write_model(&folder, "PINHOLE 40 30 35 36 19 16", &[listed]);
        folder.write(&format!("images/{there}"), jpeg_with_orientation(40, 30, 0));
        let scene = load(folder.path(), &all_views()).unwrap();
        assert_eq!(scene.train[0].name, listed);
        // To Windows names in other letters are the same ones.
        if cfg!(windows) && listed.eq_ignore_ascii_case(there) {
            assert!(scene.train[0].image_path.is_file() && scene.notices.is_empty());
            continue;
        }
        assert!(scene.train[0].image_path.ends_with(there));
        let reported = "1 of 1 images are there under another ending, such as 000.";
        assert!(
            scene.notices.iter().any(|notice| notice.starts_with(reported)),
            "{:?}",
            scene.notices
        );
        // of two that may be meant, none is taken
        let other = if there.ends_with("png") { "000.jpeg" } else { "000.png" };
        let other = there.replace(there.rsplit('/').next().unwrap(), other);
        folder.write(&format!("images/{other}"), jpeg_with_orientation(40, 30, 0));
        let found = load(folder.path(), &all_views());
        assert!(
            listed.ends_with("png") && other.ends_with("png") || found.is_err(),
            "{other}"
        );
    }
}

#[test]
fn an_image_folder_of_another_name_is_named() {
    let folder = Scratch::new();
    write_model(&folder, "PINHOLE 40 30 35 36 19 16", &["a.png"]);
    grey(&folder, "photos/a.png", 40, 30);
    let error = message(&folder);
    assert!(
        error.contains("there is no folder") && error.contains("they are in photos: add `-i photos`"),
        "{error}"
    );
    // what INRIA's converter starts from is taken
    std::fs::rename(folder.path().join("photos"), folder.path().join("input")).unwrap();
    let scene = load(folder.path(), &all_views()).unwrap();
    assert!(scene.images.ends_with("input") && scene.notices[0].contains("images are taken from input"));
}

#[test]
fn models_where_other_tools_leave_them() {
    for place in ["colmap/sparse/0", "distorted/sparse/0", "colmap", "."] {
        let folder = Scratch::new();
        let inner = Scratch::new();
        write_model(&inner, "PINHOLE 40 30 35 36 19 16", &["a.png"]);
        grey(&folder, "images/a.png", 40, 30);
        let to = folder.path().join(place);
        std::fs::create_dir_all(&to).unwrap();
        for name in ["cameras.txt", "images.txt", "points3D.txt"] {
            std::fs::rename(inner.path().join("sparse/0").join(name), to.join(name)).unwrap();
        }
        let scene = load(folder.path(), &all_views()).unwrap();
        assert!(scene.notices[0].contains("poses are taken from"), "{:?}", scene.notices);
    }
}

#[test]
fn what_is_no_data_set_is_told_what_it_is() {
    let folder = Scratch::new();
    let error = |path: &Path| load(path, &all_views()).unwrap_err();
    assert!(error(folder.path()).to_string().contains("found an empty folder"));
    grey(&folder, "b.png", 8, 8);
    for n in 0..3 {
        grey(&folder, &format!("input/{n}.png"), 8, 8);
    }
    match error(folder.path()) {
        SceneError::NoPoses {
            photos: 3,
            folder,
            database: None,
            ..
        } => assert!(folder.ends_with("input")),
        other => panic!("{other:?}"),
    }
    folder.write("database.db", "");
    assert!(
        error(folder.path())
            .to_string()
            .contains("database.db, from which no model was made")
    );
    assert!(matches!(
        error(&folder.path().join("input")),
        SceneError::NoPoses { photos: 3, .. }
    ));
    let film = folder.write("film.MP4", "");
    assert!(matches!(error(&film), SceneError::Film { .. }));
    let parent = Scratch::new();
    let inner = Scratch::new();
    write_model(&inner, "PINHOLE 40 30 35 36 19 16", &["a.png"]);
    std::fs::rename(
        inner.path().join("sparse"),
        parent.write("plush/x", "").with_file_name("sparse"),
    )
    .unwrap();
    parent.write("fox/transforms.json", "{}");
    let reported = error(parent.path()).to_string();
    assert!(reported.ends_with("a folder of data sets: fox, plush"), "{reported}");
}

#[test]
fn views_are_held_out_by_number_or_by_list() {
    let folder = Scratch::new();
    let names: Vec<String> = (0..10).map(|n| format!("v{n}.png")).collect();
    write_model(
        &folder,
        "PINHOLE 40 30 35 36 19 16",
        &names.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    for name in &names {
        grey(&folder, &format!("images/{name}"), 40, 30);
    }
    let held = |hold_out: HoldOut| {
        let options = SceneOptions {
            hold_out,
            ..SceneOptions::default()
        };
        load(folder.path(), &options).map(|scene| {
            let names: Vec<String> = scene.test.iter().map(|view| view.name.clone()).collect();
            assert_eq!(scene.train.len() + names.len(), 10);
            (names, scene.warnings)
        })
    };
    assert_eq!(held(HoldOut::Usual).unwrap().0, ["v0.png", "v8.png"]);
    assert_eq!(held(HoldOut::Every(4)).unwrap().0, ["v0.png", "v4.png", "v8.png"]);
    let list = folder.write("sparse/0/test.txt", "# held out\r\nv3.png\n\n v7 \nmissing.png\n");
    for file in [PathBuf::from("sparse/0/test.txt"), list.clone()] {
        let (names, warnings) = held(HoldOut::Listed(file)).unwrap();
        assert_eq!(names, ["v3.png", "v7.png"]);
        assert!(
            warnings[0].contains("1 of 3 names") && warnings[0].ends_with("of no view: missing"),
            "{warnings:?}"
        );
    }
    folder.write("sparse/0/test.txt", "missing\n");
    let error = held(HoldOut::Listed(list)).unwrap_err().to_string();
    assert!(error.contains("test.txt, the list: no name of a view"), "{error}");
    let error = held(HoldOut::Listed("absent.txt".into())).unwrap_err().to_string();
    assert!(
        error.contains("absent.txt, which is to name the held-out views"),
        "{error}"
    );
}
