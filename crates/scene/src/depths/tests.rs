//! Depth maps of a made scene: a plane and a wall behind it, in every kind of file.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use super::map::STEPS;
use super::*;
use crate::maps::made::{self, HEIGHT, PHOTOS, WIDTH, pixels};
use crate::maps::npy_file as npy;
use crate::{ImageOptions, ImageStore, SceneIndex, SceneOptions, Split, ViewId};
use kiln_scratch::Scratch;

/// Depth of a pixel.
fn depth(x: u32, y: u32) -> f64 {
    if x < 20 { 2.0 + 0.05 * f64::from(y) } else { 7.0 }
}

fn scene() -> Scratch {
    made::scene(2, depth)
}

fn options() -> SceneOptions {
    SceneOptions {
        eval: false,
        depths: Some("depths".into()),
        ..SceneOptions::default()
    }
}

/// A 16-bit PNG of the depths through `value`.
fn png(folder: &Scratch, name: &str, value: impl Fn(f64) -> f64) {
    let values: Vec<u16> = pixels().map(|(x, y)| value(depth(x, y)).round() as u16).collect();
    let path = folder.write(name, []);
    image::ImageBuffer::<image::Luma<u16>, _>::from_raw(WIDTH, HEIGHT, values)
        .unwrap()
        .save(path)
        .unwrap();
}

/// Depths that the words of a photo say, 0 for none.
fn depths_of(scene: &SceneIndex, index: usize) -> Vec<f64> {
    let store = ImageStore::open(scene, ImageOptions::default()).unwrap();
    let split = Split::Train;
    let photo = store.get(ViewId { split, index }).unwrap();
    let [unit, words @ ..] = photo.depths().unwrap() else {
        unreachable!("a unit comes first")
    };
    let unit = f64::from(f32::from_le_bytes(*unit));
    let depth = |word: &[u8; 4]| match u32::from_le_bytes(*word) {
        0 => 0.0,
        word => 1.0 / (unit * f64::from(word & 0xffff) / STEPS),
    };
    words.iter().map(depth).collect()
}

fn agree(found: &[f64], most: f64) {
    assert_eq!(found.len(), (WIDTH * HEIGHT) as usize);
    for ((x, y), found) in pixels().zip(found) {
        assert!(
            (found / depth(x, y) - 1.0).abs() < most,
            "{x} {y}: {found} instead of {}",
            depth(x, y)
        );
    }
}

#[test]
fn maps_of_every_kind_say_the_same_depths() {
    let folder = scene();
    // what a network makes, a phone's millimetres, and metres in another unit
    png(&folder, "depths/p1.png", |z| 60_000.0 / z + 2000.0);
    png(&folder, "depths/p2.png", |z| 1370.0 * z);
    let metres: Vec<u8> = pixels()
        .flat_map(|(x, y)| ((0.4 * depth(x, y)) as f32).to_le_bytes())
        .collect();
    folder.write("depths/p3.npy", npy("<f4", "False", "(30, 40)", &metres));
    let scene = SceneIndex::load(folder.path(), &options()).unwrap();
    let meaning = |at: usize| scene.train[at].depth.as_ref().unwrap().fit.meaning;
    assert_eq!(
        [0, 1, 2].map(meaning),
        [Meaning::Inverse, Meaning::Depth, Meaning::Depth]
    );
    assert!(scene.parts().depths);
    for at in 0..3 {
        agree(&depths_of(&scene, at), 2e-3);
    }
    let reported = scene
        .notices
        .iter()
        .find(|notice| notice.starts_with("depth maps of 3 of 3"))
        .unwrap();
    assert!(
        reported.contains("1 of inverse depth; the median point is 0.0 % off"),
        "{reported}"
    );
    // only who asks for maps has them
    let plain = SceneOptions {
        depths: None,
        ..options()
    };
    assert!(!SceneIndex::load(folder.path(), &plain).unwrap().parts().depths);
}

#[test]
fn maps_that_do_not_follow_the_points_are_left_out() {
    let folder = scene();
    png(&folder, "depths/p1.png", |z| 1370.0 * z);
    // a constant, and nothing
    png(&folder, "depths/p2.png", |_| 900.0);
    folder.write("depths/p3.exr", "no map");
    let scene = SceneIndex::load(folder.path(), &options()).unwrap();
    let with: Vec<bool> = scene.train.iter().map(|view| view.depth.is_some()).collect();
    assert_eq!(with, [true, false, false]);
    let reported = scene
        .warnings
        .iter()
        .find(|warning| warning.contains("are left out"))
        .unwrap();
    assert!(
        reported.starts_with("2 of 3 depth maps") && reported.contains("p2.png (") && reported.contains("p3.png ("),
        "{reported}"
    );
    // photos without a map carry nothing in its place
    assert!(depths_of_none(&scene, 1));
    std::fs::remove_file(folder.path().join("depths/p1.png")).unwrap();
    let error = SceneIndex::load(folder.path(), &options()).unwrap_err().to_string();
    assert!(error.contains("none of 2 maps can be used"), "{error}");
    std::fs::remove_dir_all(folder.path().join("depths")).unwrap();
    let error = SceneIndex::load(folder.path(), &options()).unwrap_err().to_string();
    assert!(
        error.contains("there is no folder ") && error.contains("depths, which"),
        "{error}"
    );
    folder.write("depths/other.png", "");
    let error = SceneIndex::load(folder.path(), &options()).unwrap_err().to_string();
    assert!(
        error.contains("looked for p1.png, p1.exr, p1.npy, p1.tif, p1.tiff;"),
        "{error}"
    );
}

fn depths_of_none(scene: &SceneIndex, index: usize) -> bool {
    let store = ImageStore::open(scene, ImageOptions::default()).unwrap();
    let split = Split::Train;
    let photo = store.get(ViewId { split, index }).unwrap();
    photo.depths().unwrap().iter().all(|word| *word == [0; 4])
}

/// A fifth of the map is something else, and the rest keeps its meaning.
#[test]
fn a_fifth_of_nonsense_does_not_move_the_rest() {
    let folder = scene();
    for n in 1..=PHOTOS {
        let values: Vec<u16> = pixels()
            .map(|(x, y)| match (x * 7 + y * 3 + n) % 5 {
                0 => (500 + 97 * ((x * 31 + y * 17) % 90)) as u16,
                _ => (1370.0 * depth(x, y)).round() as u16,
            })
            .collect();
        let path = folder.write(&format!("depths/p{n}.png"), []);
        image::ImageBuffer::<image::Luma<u16>, _>::from_raw(WIDTH, HEIGHT, values)
            .unwrap()
            .save(path)
            .unwrap();
    }
    let scene = SceneIndex::load(folder.path(), &options()).unwrap();
    for at in 0..3 {
        let found = depths_of(&scene, at);
        let sound = pixels()
            .zip(&found)
            .filter(|((x, y), _)| !(x * 7 + y * 3 + at as u32 + 1).is_multiple_of(5));
        for ((x, y), found) in sound {
            assert!((found / depth(x, y) - 1.0).abs() < 5e-3, "{x} {y}: {found}");
        }
    }
}

/// Scale of inverse depth for maps that count 30 000 at depth 1.
const SCALE: f64 = 65_536.0 / 30_000.0;

/// A scene with such maps, and `depth_params.json`.
fn with_params(every: u32, params: &str) -> (Scratch, SceneIndex) {
    let folder = made::scene(every, depth);
    for n in 1..=PHOTOS {
        png(&folder, &format!("depths/p{n}.png"), |z| 30_000.0 / z);
    }
    folder.write(
        "sparse/0/depth_params.json",
        params.replace("SCALE", &SCALE.to_string()),
    );
    let scene = SceneIndex::load(folder.path(), &options()).unwrap();
    (folder, scene)
}

/// True where one of `reported` has all of `words`.
fn says(reported: &[String], words: &[&str]) -> bool {
    reported
        .iter()
        .any(|reported| words.iter().all(|word| reported.contains(word)))
}

#[test]
fn inria_params_and_confidence_are_respected() {
    let good =
        r#"{"p1":{"scale":SCALE,"offset":0},"p2.png":{"scale":SCALE,"offset":0},"p3":{"scale":SCALE,"offset":0}}"#;
    let (folder, _) = with_params(2, good);
    let mut trust = vec![255; (WIDTH * HEIGHT) as usize];
    trust[7] = 0;
    let path = folder.write("depths/p1.confidence.png", []);
    image::GrayImage::from_raw(WIDTH, HEIGHT, trust)
        .unwrap()
        .save(path)
        .unwrap();
    let scene = SceneIndex::load(folder.path(), &options()).unwrap();
    assert!(!says(&scene.warnings, &["depth"]) && !says(&scene.notices, &["depth_params"]));
    for view in &scene.train {
        assert_eq!(view.depth.as_ref().unwrap().fit.scale, SCALE, "as it is given");
    }
    let store = ImageStore::open(&scene, ImageOptions::default()).unwrap();
    let split = Split::Train;
    let photo = store.get(ViewId { split, index: 0 }).unwrap();
    let words = photo.depths().unwrap();
    assert_eq!((words[1 + 7][2], words[1 + 8][2]), (0, 255));
}

#[test]
fn a_given_scale_that_cannot_be_right_is_named_and_fitted_anew() {
    for (entry, why) in [
        (r#""p2":{"scale":19.6,"offset":0},"#, "% off"),
        (r#""p2":{"scale":0.02,"offset":0},"#, "% off"),
        (r#""p2":{"scale":SCALE,"offset":-9},"#, "behind the camera"),
        (r#""p2":{"scale":SCALE,"offset":2.5},"#, "% off"),
        (r#""p2":{"scale":NaN,"offset":0},"#, "scale there is NaN"),
        (r#""p2":{"scale":0,"offset":0},"#, "scale there is 0"),
        (r#""p2":{"scale":-2.0,"offset":0},"#, "scale there is -2"),
        (r#""p2":{"scale":SCALE,"offset":Infinity},"#, "offset NaN"),
        (r#""p2":{"scale":"SCALE"},"#, "scale there is NaN"),
        (r#""p2":{},"#, "scale there is NaN"),
        ("", "no entry"),
    ] {
        let rest = r#""p1":{"scale":SCALE,"offset":0},"p3":{"scale":SCALE,"offset":0}}"#;
        let (_folder, scene) = with_params(2, &format!("{{{entry}{rest}"));
        let words = ["1 of 3 depth maps", "p2.png (", why, "fitted to"];
        assert!(says(&scene.warnings, &words), "{entry}: {:?}", scene.warnings);
        for at in 0..3 {
            agree(&depths_of(&scene, at), 2e-3);
        }
        assert_eq!(scene.train[0].depth.as_ref().unwrap().fit.scale, SCALE);
    }
    // Where the points have no line for the map either, it is left out with both reasons.
    let folder = scene();
    png(&folder, "depths/p1.png", |z| 30_000.0 / z);
    png(&folder, "depths/p2.png", |_| 900.0);
    let params = r#"{"p1":{"scale":2.184533,"offset":0},"p2":{"scale":2.184533,"offset":0}}"#;
    folder.write("sparse/0/depth_params.json", params);
    let scene = SceneIndex::load(folder.path(), &options()).unwrap();
    assert!(scene.train[1].depth.is_none());
    let words = [
        "1 of 2 depth maps are left out: p2.png (",
        "no line fits",
        "with its scale in",
    ];
    assert!(says(&scene.warnings, &words), "{:?}", scene.warnings);
}

#[test]
fn params_of_other_maps_are_named_once() {
    let all = |scale: &str| {
        let entry = |n| format!(r#""p{n}":{{"scale":{scale},"offset":0}}"#);
        format!("{{{}}}", [1, 2, 3].map(entry).join(","))
    };
    for scale in ["559.2", "0.0085", "4.0"] {
        let (_folder, scene) = with_params(2, &all(scale));
        let words = ["belongs to other depth maps", "in each of 3 photos"];
        assert!(says(&scene.warnings, &words), "{scale}: {:?}", scene.warnings);
        for at in 0..3 {
            agree(&depths_of(&scene, at), 2e-3);
        }
    }
    let (_folder, scene) = with_params(2, &all("0"));
    assert!(says(&scene.warnings, &["3 of 3 depth maps have no scale"]));
    let (_folder, scene) = with_params(2, &all("SCALE").replace('p', "x"));
    assert!(says(&scene.warnings, &["3 of 3 depth maps", "no entry"]));
    assert!(says(&scene.notices, &["3 of 3 entries", "x1, x2, x3"]));
    // One point says nothing.
    let (_folder, scene) = with_params(40, &all("SCALE"));
    assert!(says(&scene.notices, &["3 depth maps are taken", "unchecked"]));
    assert_eq!(scene.train[0].depth.as_ref().unwrap().fit.scale, SCALE);
}

/// That trainer divides every value by 65 536, also those of pictures with 8 bits and of floats.
#[test]
fn params_count_as_their_trainer_does() {
    let value = |x, y| 30_000.0 / 256.0 / depth(x, y);
    for kind in ["8 bits", "floats"] {
        let folder = scene();
        for n in 1..=PHOTOS {
            if kind == "floats" {
                let values: Vec<u8> = pixels().flat_map(|(x, y)| (value(x, y) as f32).to_le_bytes()).collect();
                folder.write(&format!("depths/p{n}.npy"), npy("<f4", "False", "(30, 40)", &values));
            } else {
                let values = pixels().map(|(x, y)| value(x, y).round() as u8).collect();
                let path = folder.write(&format!("depths/p{n}.png"), []);
                image::GrayImage::from_raw(WIDTH, HEIGHT, values)
                    .unwrap()
                    .save(path)
                    .unwrap();
            }
        }
        let entry = |n| format!(r#""p{n}":{{"scale":{},"offset":0}}"#, 256.0 * SCALE);
        folder.write(
            "sparse/0/depth_params.json",
            format!("{{{}}}", [1, 2, 3].map(entry).join(",")),
        );
        let scene = SceneIndex::load(folder.path(), &options()).unwrap();
        let words = ["3 depth maps", "divided by 65536"];
        assert!(
            says(&scene.notices, &words) && !says(&scene.warnings, &["depth"]),
            "{kind}"
        );
        for at in 0..3 {
            agree(&depths_of(&scene, at), 4e-2);
        }
    }
}
