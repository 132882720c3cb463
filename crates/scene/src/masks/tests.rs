#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
use super::*;
use crate::{Alpha, AlphaChoice, ImageOptions, ImageStore, Photo, Resolution, SceneIndex, Split, ViewId};
use kiln_scratch::Scratch;

/// A Blender scene of 8x4 images with these names.
fn scene(folder: &Scratch, names: &[&str]) {
    let frame = |(n, name): (usize, &&str)| {
        folder.write_png(&format!("{name}.png"), 8, 4, 4, &[10, 20, 30, 255].repeat(32));
        format!(r#"{{"file_path":"{name}","transform_matrix":[[1,0,0,{n}],[0,1,0,0],[0,0,1,0],[0,0,0,1]]}}"#)
    };
    let frames: Vec<String> = names.iter().enumerate().map(frame).collect();
    let json = format!(r#"{{"camera_angle_x":0.7,"frames":[{}]}}"#, frames.join(","));
    folder.write("transforms_train.json", json);
}

/// A grey picture of one value a pixel.
fn grey(folder: &Scratch, name: &str, (width, height): (u32, u32), values: &[u8]) {
    let path = folder.write(name, []);
    image::save_buffer(path, values, width, height, image::ColorType::L8).unwrap();
}

fn load(folder: &Scratch, options: SceneOptions) -> Result<SceneIndex, SceneError> {
    let options = SceneOptions {
        eval: false,
        resolution: Resolution::Divide(1),
        ..options
    };
    SceneIndex::load(folder.path(), &options)
}

fn photo(scene: &SceneIndex, index: usize) -> Result<Photo, SceneError> {
    let store = ImageStore::open(scene, ImageOptions::default()).unwrap();
    let split = Split::Train;
    store.get(ViewId { split, index })
}

/// Left half white.
fn left() -> Vec<u8> {
    [[255_u8; 4], [0; 4]].concat().repeat(4)
}

fn each(values: &[u8], f: impl Fn(u8) -> u8) -> Vec<u8> {
    values.iter().map(|&value| f(value)).collect()
}

#[test]
fn masks_are_found_by_every_name_and_the_rest_is_counted() {
    let folder = Scratch::new();
    let names = ["a", "b", "c", "d", "sub/e", "sub/f"];
    scene(&folder, &names);
    let files = [
        "masks/a.png",
        "masks/b.png.png",
        "c.mask.png",
        "d.png.mask.png",
        "masks/sub/e.png",
    ];
    for file in files {
        grey(&folder, file, (8, 4), &left());
    }
    // the tree comes before the file beside the image, the full name before the stem
    grey(&folder, "a.mask.png", (8, 4), &[255; 32]);
    grey(&folder, "masks/b.png", (8, 4), &[255; 32]);
    let found = load(&folder, SceneOptions::default()).unwrap();
    assert!(found.masked);
    let without = found
        .warnings
        .iter()
        .any(|w| w == "1 of 6 images have no mask and count whole: sub/f.png");
    assert!(without, "{:?}", found.warnings);
    for (index, name) in names.into_iter().enumerate() {
        let photo = photo(&found, index).unwrap();
        let expected = if index == 5 { vec![255; 32] } else { left() };
        assert_eq!(photo.mask().unwrap(), expected, "{name}");
        assert_eq!(photo[..3], [10, 20, 30]);
    }
    let masks = MaskChoice::Off;
    let off = load(
        &folder,
        SceneOptions {
            masks,
            ..SceneOptions::default()
        },
    )
    .unwrap();
    assert!(!off.masked && photo(&off, 0).unwrap().mask().is_none());
}

#[test]
fn masks_scale_to_the_image_and_may_be_labels() {
    let folder = Scratch::new();
    scene(&folder, &["a", "b"]);
    // half the size, in a folder of another name; labels 0 and 1
    grey(&folder, "people/a.png", (4, 2), &[1, 1, 0, 0, 1, 1, 0, 0]);
    grey(
        &folder,
        "people/b.png",
        (8, 4),
        &each(&left(), |v| if v > 0 { 128 } else { 127 }),
    );
    let options = SceneOptions {
        masks: MaskChoice::Folder("people".into()),
        ..SceneOptions::default()
    };
    let scene = load(&folder, options).unwrap();
    for index in 0..2 {
        assert_eq!(photo(&scene, index).unwrap().mask().unwrap(), left());
    }
}

#[test]
fn alpha_masks_and_joins_the_file() {
    let folder = Scratch::new();
    scene(&folder, &["a"]);
    // opaque in the upper half
    let pixels = [[10, 20, 30, 200].repeat(16), [10, 20, 30, 100].repeat(16)].concat();
    folder.write_png("a.png", 8, 4, 4, &pixels);
    let alpha = |alpha| SceneOptions {
        alpha: AlphaChoice::Only(alpha),
        ..SceneOptions::default()
    };
    let masked = photo(&load(&folder, alpha(Alpha::Mask)).unwrap(), 0).unwrap();
    assert_eq!(masked.mask().unwrap(), [[255; 16], [0; 16]].concat());
    assert_eq!(masked[93..], [10, 20, 30], "colours stay as they are stored");
    let ignored = photo(&load(&folder, alpha(Alpha::Ignore)).unwrap(), 0).unwrap();
    assert_eq!((&ignored[93..], ignored.mask()), (&[10, 20, 30][..], None));
    let blended = photo(&load(&folder, SceneOptions::default()).unwrap(), 0).unwrap();
    assert_eq!((&blended[93..], blended.mask()), (&[3, 7, 11][..], None));
    grey(&folder, "a.mask.png", (8, 4), &left());
    let both = photo(&load(&folder, alpha(Alpha::Mask)).unwrap(), 0).unwrap();
    assert_eq!(both.mask().unwrap(), [left()[..16].to_vec(), vec![0; 16]].concat());
    // what both leave may be nothing
    grey(&folder, "a.mask.png", (8, 4), &[[0; 16], [255; 16]].concat());
    let error = photo(&load(&folder, alpha(Alpha::Mask)).unwrap(), 0).unwrap_err();
    assert!(
        error.to_string().contains("every pixel of") && error.to_string().contains("a.png"),
        "{error}"
    );
}

#[test]
fn wrong_masks_are_named() {
    let folder = Scratch::new();
    scene(&folder, &["a", "b"]);
    let text = |options| load(&folder, options).unwrap_err().to_string();
    let folder_of = |name: &str| SceneOptions {
        masks: MaskChoice::Folder(name.into()),
        ..SceneOptions::default()
    };
    let none = text(folder_of("nowhere"));
    assert!(
        none.contains("nowhere") && none.contains("2 images") && none.contains("a.png.png"),
        "{none}"
    );
    grey(&folder, "masks/a.png", (4, 4), &[255; 16]);
    let shape = text(SceneOptions::default()).replace('\\', "/");
    let words = ["masks/a.png", "4x4", "8x4", "the mask"];
    assert!(words.iter().all(|word| shape.contains(word)), "{shape}");
    // a damaged one costs its view, not the run
    grey(&folder, "masks/a.png", (8, 4), &left());
    let whole = std::fs::read(folder.path().join("masks/a.png")).unwrap();
    folder.write("masks/a.png", &whole[..whole.len() - 20]);
    let scene = load(&folder, SceneOptions::default()).unwrap();
    let error = photo(&scene, 0).unwrap_err().to_string();
    assert!(error.replace('\\', "/").contains("masks/a.png"), "{error}");
    assert!(photo(&scene, 1).is_ok());
}

#[test]
fn a_folder_of_masks_for_other_images_is_a_warning() {
    let folder = Scratch::new();
    scene(&folder, &["a", "b"]);
    std::fs::create_dir_all(folder.path().join("masks")).unwrap();
    let empty = load(&folder, SceneOptions::default()).unwrap().warnings;
    assert!(!empty.iter().any(|warning| warning.contains("mask")), "{empty:?}");
    grey(&folder, "masks/mask_a.png", (8, 4), &left());
    let found = load(&folder, SceneOptions::default()).unwrap();
    assert!(!found.masked);
    let reported =
        |warning: &String| warning.contains("is the mask of any of the 2 images, and none is used; looked for");
    assert!(found.warnings.iter().any(reported), "{:?}", found.warnings);
}

/// What is said of masks.
fn said(scene: &SceneIndex) -> Vec<&String> {
    let all = scene.warnings.iter().chain(&scene.notices);
    all.filter(|reported| reported.contains("mask")).collect()
}

#[test]
fn masks_under_the_names_of_other_programs_are_found_and_told() {
    for (files, photos) in [
        (["masks/a.jpg", "masks/b.JPEG"], ["a", "b"]),
        (["mask/a.png", "mask/b.png"], ["a", "b"]),
        (["Masks/A.PNG", "Masks/b.png.jpg"], ["a", "b"]),
        (["masks/a_mask.png", "masks/b_mask.jpg"], ["a", "b"]),
        (["masks/a.png_mask.tif", "masks/b.mask.png"], ["a", "b"]),
        (["masks/a-mask.webp", "masks/B_Mask.png"], ["a", "b"]),
        (["a_mask.png", "b-mask.jpg"], ["a", "b"]),
        (["sub/a_mask.png", "sub/b.mask.jpg"], ["sub/a", "sub/b"]),
        // folders that only one side has
        (["masks/a.png", "masks/b_mask.png"], ["sub/a", "sub/b"]),
        (["mask/sub/a.png", "mask/sub/b.jpg"], ["a", "b"]),
        (["sub/masks/a.jpg", "sub/masks/b.png"], ["sub/a", "sub/b"]),
        (["masks/1/x.png", "masks/2/x.jpg"], ["cams/1/x", "cams/2/x"]),
    ] {
        let folder = Scratch::new();
        scene(&folder, &photos);
        for file in files {
            let path = folder.write(file, []);
            let rgb: Vec<u8> = left().into_iter().flat_map(|value| [value; 3]).collect();
            image::save_buffer(path, &rgb, 8, 4, image::ColorType::Rgb8).unwrap();
        }
        let found = load(&folder, SceneOptions::default()).unwrap();
        for (index, name) in photos.into_iter().enumerate() {
            assert_eq!(
                photo(&found, index).unwrap().mask().unwrap(),
                left(),
                "{files:?} {name}"
            );
        }
        let is_usual = files == ["mask/a.png", "mask/b.png"];
        let reported = said(&found);
        assert_eq!(reported.len(), usize::from(!is_usual), "{files:?}: {reported:?}");
        assert!(
            is_usual || reported[0].contains("are there under other names, such as"),
            "{reported:?}"
        );
    }
}

#[test]
fn a_mask_that_could_be_of_two_images_is_that_of_none() {
    let folder = Scratch::new();
    scene(&folder, &["1/x", "2/x", "2/y"]);
    for file in ["masks/x.png", "masks/y.png", "masks/z.png", "2/w_mask.png"] {
        grey(&folder, file, (8, 4), &left());
    }
    let found = load(&folder, SceneOptions::default()).unwrap();
    let masks: Vec<bool> = found.train.iter().map(|view| view.mask.is_some()).collect();
    assert_eq!(masks, [false, false, true]);
    let reported = said(&found);
    let has = |words: &[&str]| {
        reported
            .iter()
            .any(|reported| words.iter().all(|word| reported.contains(word)))
    };
    assert!(has(&["2 of 3 images have no mask", "1/x.png, 2/x.png"]), "{reported:?}");
    assert!(
        has(&[
            "3 files that are called masks",
            "2/w_mask.png, masks/x.png, masks/z.png"
        ]),
        "{reported:?}"
    );
}

#[test]
fn photos_that_are_called_masks_are_photos() {
    let folder = Scratch::new();
    scene(&folder, &["a", "a_mask", "b"]);
    let found = load(&folder, SceneOptions::default()).unwrap();
    assert!(!found.masked && found.train.len() == 3 && said(&found).is_empty());
    // the more exact name wins: `a_mask.png` is the mask of the photo that is called so
    grey(&folder, "masks/a_mask.png", (8, 4), &left());
    let found = load(&folder, SceneOptions::default()).unwrap();
    let masks: Vec<bool> = found.train.iter().map(|view| view.mask.is_some()).collect();
    assert_eq!(masks, [false, true, false]);
    // a folder of photos is none of masks
    let options = SceneOptions {
        masks: MaskChoice::Folder(".".into()),
        ..SceneOptions::default()
    };
    assert!(load(&folder, options).is_err());
}

#[test]
fn what_may_be_masks_and_is_not_read_is_named() {
    let folder = Scratch::new();
    scene(&folder, &["a", "b"]);
    grey(&folder, "sky_masks/a.png", (8, 4), &left());
    grey(&folder, "dynamic_mask_a.png", (8, 4), &left());
    grey(&folder, "mask.png", (8, 4), &left());
    let found = load(&folder, SceneOptions::default()).unwrap();
    assert!(!found.masked);
    let reported = said(&found);
    assert!(
        reported
            .iter()
            .any(|reported| reported.contains("`--set dataset.masks=sky_masks`")),
        "{reported:?}"
    );
    assert!(
        reported
            .iter()
            .any(|reported| reported.contains("dynamic_mask_a.png, mask.png")),
        "{reported:?}"
    );
    // once there are masks, other folders are only named where they have the same name
    grey(&folder, "masks/a.png", (8, 4), &left());
    grey(&folder, "masks/b.png", (8, 4), &left());
    grey(&folder, "mask/a.png", (8, 4), &[0; 32]);
    let found = load(&folder, SceneOptions::default()).unwrap();
    assert_eq!(photo(&found, 0).unwrap().mask().unwrap(), left());
    let reported = said(&found);
    assert!(
        reported.iter().any(|reported| reported.contains("mask is not used")),
        "{reported:?}"
    );
    assert!(
        !reported.iter().any(|reported| reported.contains("sky_masks")),
        "{reported:?}"
    );
}

#[test]
fn transparent_pixels_of_a_mask_do_not_count() {
    let folder = Scratch::new();
    scene(&folder, &["a"]);
    let pixels: Vec<u8> = left().into_iter().flat_map(|value| [255, 255, 255, value]).collect();
    folder.write_png("masks/a.png", 8, 4, 4, &pixels);
    let found = load(&folder, SceneOptions::default()).unwrap();
    assert_eq!(photo(&found, 0).unwrap().mask().unwrap(), left());
}

/// What a name alone makes a mask does not stop a run.
#[test]
fn a_guessed_mask_of_another_shape_is_left_out_and_named() {
    let folder = Scratch::new();
    scene(&folder, &["a", "b", "c"]);
    grey(&folder, "a_mask.png", (4, 4), &[255; 16]);
    folder.write("b_mask.png", "no picture");
    for third in [false, true] {
        if third {
            grey(&folder, "c_mask.png", (4, 2), &[255, 255, 0, 0, 255, 255, 0, 0]);
        }
        let found = load(&folder, SceneOptions::default()).unwrap();
        assert_eq!((found.masked, found.train[2].mask.is_some()), (third, third));
        let reported = said(&found);
        let words = "2 files that are called masks have another shape than their images, or cannot be read, and are not used: a_mask.png, b_mask.png";
        assert!(
            reported.iter().any(|reported| reported.as_str() == words),
            "{reported:?}"
        );
        assert_eq!(
            reported
                .iter()
                .any(|reported| reported.starts_with("2 of 3 images have no mask")),
            third,
            "{reported:?}"
        );
    }
}
