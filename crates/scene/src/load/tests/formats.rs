//! Photos as other programs write them, in all formats and depths that are read.
use super::*;
use crate::AlphaChoice;
use crate::view::Alpha;

/// What `tests/golden/pictures/write.py` had written.
const PICTURES: [(&str, &[u8]); 12] = {
    macro_rules! picture {
        ($name:literal) => {
            (
                $name,
                include_bytes!(concat!("../../../../../tests/golden/pictures/", $name)),
            )
        };
    }
    [
        picture!("opencv-16.png"),
        picture!("opencv-16.tiff"),
        picture!("openexr-piz.exr"),
        picture!("openexr-zip.exr"),
        picture!("pillow-alpha.webp"),
        picture!("pillow-jpeg.tif"),
        picture!("pillow-lossless.webp"),
        picture!("pillow-lossy.webp"),
        picture!("pillow-lzw.tif"),
        picture!("tifffile-big-endian.tif"),
        picture!("tifffile-float.tif"),
        picture!("tifffile-tiled.tif"),
    ]
};

/// The same formula as in the script.
fn written(x: usize, y: usize) -> [u8; 3] {
    [15 * x as u8, 20 * y as u8, 128]
}

fn named(folder: &Scratch, names: &[&str]) -> SceneIndex {
    write_model(folder, "PINHOLE 16 12 15 15 8 6", names);
    load(folder.path(), &all_views()).unwrap()
}

#[test]
fn every_format_gives_the_picture_that_was_written() {
    for (name, bytes) in PICTURES {
        let folder = Scratch::new();
        folder.write(&format!("images/{name}"), bytes);
        let scene = named(&folder, &[name]);
        assert!(scene.undecodable.is_empty(), "{name}: {:?}", scene.warnings);
        let most = match name {
            "pillow-lossy.webp" => 12,
            "pillow-jpeg.tif" => 6,
            // colours of half precision that were multiplied with alpha
            name if name.ends_with("exr") => 1,
            _ => 0,
        };
        for (at, pixel) in picture(&scene, 0).as_chunks::<3>().0.iter().enumerate() {
            let expected = written(at % 16, at / 16);
            let off = (0..3).map(|c| pixel[c].abs_diff(expected[c])).max().unwrap();
            assert!(off <= most, "{name}, pixel {at}: {pixel:?} instead of {expected:?}");
        }
    }
}

#[test]
fn alpha_is_blended_in_every_format() {
    for (name, bytes) in PICTURES {
        if !(name.contains("alpha") || name.ends_with("exr")) {
            continue;
        }
        let folder = Scratch::new();
        folder.write(&format!("images/{name}"), bytes);
        write_model(&folder, "PINHOLE 16 12 15 15 8 6", &[name]);
        let options = SceneOptions {
            alpha: AlphaChoice::Only(Alpha::Composite),
            ..all_views()
        };
        let scene = load(folder.path(), &options).unwrap();
        let pixels = picture(&scene, 0);
        let (opaque, half) = (3 * (16 * 5 + 7), 3 * (16 * 5 + 14));
        assert!(pixels[opaque].abs_diff(105) <= 1, "{name}: {}", pixels[opaque]);
        // 210 at 128 / 255 over black
        assert!(pixels[half].abs_diff(105) <= 1, "{name}: {}", pixels[half]);
    }
}

#[test]
fn photos_are_found_under_every_ending() {
    for (name, bytes) in PICTURES {
        let folder = Scratch::new();
        let (_, ending) = name.split_once('.').unwrap();
        folder.write(&format!("images/photo.{}", ending.to_uppercase()), bytes);
        let scene = named(&folder, &["photo.jpg"]);
        assert_eq!(scene.train[0].name, "photo.jpg");
        assert!(scene.notices[0].contains("under another ending"), "{:?}", scene.notices);
    }
}

/// One rule for all: what is cut short is an error, unless all that is gone lies behind the picture.
#[test]
fn cut_photos_of_every_format_are_errors() {
    for (name, bytes) in PICTURES {
        let folder = Scratch::new();
        let path = format!("images/{name}");
        folder.write(&path, bytes);
        let scene = named(&folder, &[name]);
        let id = ViewId {
            split: Split::Train,
            index: 0,
        };
        let whole = crate::decode(&scene, id, [0.0; 3]).unwrap();
        for kept in (0..bytes.len()).rev() {
            folder.write(&path, &bytes[..kept]);
            if let Ok(photo) = crate::decode(&scene, id, [0.0; 3]) {
                assert_eq!(photo[..], whole[..], "{name}: {kept} of {} bytes", bytes.len());
            }
        }
    }
}

#[test]
fn what_deep_photos_take_is_in_the_estimate() {
    let folder = Scratch::new();
    folder.write("images/a.exr", PICTURES[3].1);
    let scene = named(&folder, &["a.exr"]);
    let options = ImageOptions {
        threads: Some(2),
        ..ImageOptions::default()
    };
    // the photo, and a thread with file, planes and picture of four f32
    let pixels = 16 * 12;
    assert_eq!(crate::estimate_host_bytes(&scene, options), pixels * 3 + pixels * 48);
}

/// Programs that cut out an object leave any colours under its background.
#[test]
fn transparent_pixels_of_colmap_photos_are_masked_and_said() {
    let folder = Scratch::new();
    write_model(&folder, "PINHOLE 8 4 9 9 4 2", &["a.png", "b.png"]);
    let half = [[200_u8, 0, 200, 0].repeat(16), [1, 2, 3, 255].repeat(16)].concat();
    folder.write_png("images/a.png", 8, 4, 4, &half);
    folder.write_png("images/b.png", 8, 4, 4, &[1, 2, 3, 255].repeat(32));
    let of = |options: SceneOptions| load(folder.path(), &options).unwrap();
    let scene = of(all_views());
    assert!(scene.masked && scene.train.iter().all(|view| view.alpha == Alpha::Mask));
    let reported =
        "1 of 2 photos that were looked at have transparent pixels, 25 % of all: they are masked; `dataset.alpha`";
    assert!(
        scene.notices.iter().any(|notice| notice.starts_with(reported)),
        "{:?}",
        scene.notices
    );
    let chosen = of(SceneOptions {
        alpha: AlphaChoice::Only(Alpha::Ignore),
        ..all_views()
    });
    assert!(!chosen.masked && chosen.notices.is_empty(), "{:?}", chosen.notices);
    // A channel that is nowhere transparent, or everywhere, says nothing.
    folder.write_png("images/a.png", 8, 4, 4, &[1, 2, 3, 250].repeat(32));
    let scene = of(all_views());
    assert!(!scene.masked && scene.notices.is_empty());
    for name in ["images/a.png", "images/b.png"] {
        folder.write_png(name, 8, 4, 4, &[1, 2, 3, 0].repeat(32));
    }
    let scene = of(all_views());
    assert!(
        !scene.masked && scene.notices[0].contains("alpha is ignored"),
        "{:?}",
        scene.notices
    );
}
