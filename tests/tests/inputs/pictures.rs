//! What photos, masks and depth maps of other programs say of pixels, held against the plain form of the same data.

use std::fs;
use std::path::{Path, PathBuf};

use kiln_scene::{Photo, SceneIndex, SceneOptions, Split, ViewId, decode};
use kiln_tests::captures::{Model, ModelImage, copy_photos};
use kiln_tests::photos::{self, MAGENTA};
use kiln_tests::runs::Scratch;
use serde_json::{Value, json};

fn load(scene: &Path) -> SceneIndex {
    SceneIndex::load(scene, &SceneOptions::default()).unwrap()
}

fn photo(scene: &SceneIndex, index: usize) -> Photo {
    let split = Split::Train;
    decode(scene, ViewId { split, index }, [0.0; 3]).unwrap()
}

/// Masks of all photos, and pixels of some, are the same.
fn assert_same(a: &SceneIndex, b: &SceneIndex, what: &str) {
    assert!(a.masked && b.masked, "{what}");
    assert_eq!((a.train.len(), a.test.len()), (b.train.len(), b.test.len()), "{what}");
    for index in [0, 17, 34] {
        let (a, b) = (photo(a, index), photo(b, index));
        assert_eq!((a.bytes(), a.mask()), (b.bytes(), b.mask()), "{what}: {index}");
    }
}

#[test]
fn transparent_photos_are_photos_with_masks() {
    let scratch = Scratch::new("pictures-rgba");
    let model = photos::rename_to_png(Model::bundled());
    let [plain, rgba] = ["plain", "rgba"].map(|name| scratch.join(name));
    for name in model.images.iter().map(ModelImage::text) {
        let painted = photos::bundled(name, |[_, y], color| if y < 96 { MAGENTA } else { color });
        photos::write(&plain.join("images").join(name), &painted);
        photos::write(
            &plain.join("masks").join(name),
            &photos::mask(256, 192, |[_, y]| y >= 96),
        );
        let mut cut = painted.into_rgba8();
        for (_, y, pixel) in cut.enumerate_pixels_mut() {
            pixel.0[3] = if y < 96 { 0 } else { 255 };
        }
        photos::write(&rgba.join("images").join(name), &cut.into());
    }
    for scene in [&plain, &rgba] {
        model.write(&scene.join("sparse/0"), true);
    }
    let (plain, rgba) = (load(&plain), load(&rgba));
    assert_same(&plain, &rgba, "RGBA");
    let told = rgba
        .notices
        .iter()
        .any(|told| told.contains("50 % of all: they are masked"));
    assert!(told, "{:?}", rgba.notices);
}

#[test]
fn masks_of_other_programs_are_masks() {
    let scratch = Scratch::new("pictures-masks");
    let model = Model::bundled();
    let [plain, scene] = ["plain", "scene"].map(|name| scratch.join(name));
    for folder in [&plain, &scene] {
        copy_photos(folder);
        model.write(&folder.join("sparse/0"), true);
    }
    let mask = photos::mask(256, 192, |[x, _]| x < 128);
    let write = |folder: &Path, place: &str| -> Vec<PathBuf> {
        let names = model.images.iter().map(|image| image.text().trim_end_matches(".jpg"));
        let files: Vec<PathBuf> = names.map(|stem| folder.join(place.replace('*', stem))).collect();
        for file in &files {
            photos::write(file, &mask);
        }
        files
    };
    write(&plain, "masks/*.png");
    let plain = load(&plain);
    for (place, is_usual) in [
        ("masks/*.jpg.png", true),
        ("mask/*.png", true),
        ("masks/*.jpg", false),
        ("masks/*_mask.png", false),
        ("images/*_mask.png", false),
        ("masks/cut/*.png", false),
        ("Mask/*_MASK.JPEG", false),
    ] {
        let files = write(&scene, place);
        let found = load(&scene);
        assert_same(&plain, &found, place);
        assert_eq!(found.notices.is_empty(), is_usual, "{place}: {:?}", found.notices);
        assert!(found.warnings.is_empty(), "{place}: {:?}", found.warnings);
        files.iter().for_each(|file| fs::remove_file(file).unwrap());
    }
}

/// Maps of inverse depth with values at the sparse points alone, as numbers of so many bits, and what INRIA's script says of them.
fn depth_maps(scene: &Path, index: &SceneIndex, bits: u32) -> Value {
    let (low, high, top) = (0.02_f64, 1.2_f64, f64::from((1_u32 << bits) - 1));
    let mut params = serde_json::Map::new();
    for (_, view) in index.views() {
        let mut values = vec![0.0_f64; 256 * 192];
        for point in &index.points {
            if let Some([x, y, depth]) = view.camera.sees(point.position) {
                let share = ((1.0 / f64::from(depth) - low) / (high - low)).clamp(0.0, 1.0);
                let value = &mut values[y as usize * 256 + x as usize];
                *value = value.max((share * (top - 1.0) + 1.0).round());
            }
        }
        let stem = view.name.trim_end_matches(".jpg");
        let path = scene.join(format!("depths/{stem}.png"));
        let map: image::DynamicImage = if bits == 8 {
            let values = values.iter().map(|value| *value as u8).collect();
            image::GrayImage::from_raw(256, 192, values).unwrap().into()
        } else {
            let values = values.iter().map(|value| *value as u16).collect();
            image::ImageBuffer::<image::Luma<u16>, _>::from_raw(256, 192, values)
                .unwrap()
                .into()
        };
        photos::write(&path, &map);
        // value / 65 536 is what that script calls the map
        let scale = 65_536.0 * (high - low) / (top - 1.0);
        params.insert(
            stem.to_owned(),
            json!({"scale": scale, "offset": low - scale / 65_536.0}),
        );
    }
    params.into()
}

#[test]
fn given_scales_of_depth_maps_are_right_or_not_taken() {
    let scratch = Scratch::new("pictures-depths");
    let scene = scratch.join("scene");
    copy_photos(&scene);
    Model::bundled().write(&scene.join("sparse/0"), true);
    let options = SceneOptions {
        depths: Some("depths".into()),
        ..SceneOptions::default()
    };
    let load = || SceneIndex::load(&scene, &options).unwrap();
    let file = scene.join("sparse/0/depth_params.json");
    let index = self::load(&scene);
    for bits in [8, 16] {
        let _ = fs::remove_file(&file);
        let params = depth_maps(&scene, &index, bits);
        let own = load();
        let slopes = |scene: &SceneIndex| {
            let fits = scene.train.iter().map(|view| view.depth.as_ref().unwrap().fit);
            fits.map(|fit| (fit.scale, fit.error)).collect::<Vec<_>>()
        };
        fs::write(&file, params.to_string()).unwrap();
        let given = load();
        assert!(given.warnings.is_empty(), "{bits}: {:?}", given.warnings);
        for ((own, _), (given, error)) in slopes(&own).into_iter().zip(slopes(&given)) {
            assert!(
                (given / own - 1.0).abs() < 0.05 && error < 0.02,
                "{bits}: {own} {given} {error}"
            );
        }
        // Those of maps with another number of bits, which the points contradict.
        let other = params.to_string().replace("\"scale\":", "\"scale\":3");
        fs::write(&file, other).unwrap();
        let found = load();
        assert_eq!(slopes(&found), slopes(&own), "{bits}");
        let told = found
            .warnings
            .iter()
            .any(|told| told.contains("belongs to other depth maps"));
        assert!(told, "{bits}: {:?}", found.warnings);
    }
}
