//! Normal maps of a made scene, in every kind of file: a floor, a wall on the left and one across.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use exr::prelude::{AnyChannel, AnyChannels, FlatSamples, Image, WritableImage as _};

use super::*;
use crate::maps::made::{self, HEIGHT, PHOTOS, WIDTH, pixels, ray};
use crate::maps::npy_file;
use crate::math::norm;
use crate::{ImageOptions, ImageStore, SceneIndex, SceneOptions, Split, ViewId};
use kiln_scratch::Scratch;

/// Normal of a pixel in the camera's axes, x to the right, y down and z into the scene, and the depth of a plane across it.
fn surface(x: u32, y: u32) -> ([f64; 3], f64) {
    let ray = ray(x, y);
    let (normal, distance): ([f64; 3], f64) = match (x, y) {
        (_, 20..) => ([0.0, -0.8, -0.6], 3.0),
        (0..14, _) => ([0.8, 0.0, -0.6], 1.5),
        _ => ([0.0, 0.0, -1.0], 6.0),
    };
    let along: f64 = (0..3).map(|k| normal[k] * ray[k]).sum();
    (normal, -distance / along)
}

fn scene() -> Scratch {
    made::scene(1, |x, y| surface(x, y).1)
}

fn options(axes: Axes) -> SceneOptions {
    SceneOptions {
        eval: false,
        normals: Some(("normals".into(), axes)),
        ..SceneOptions::default()
    }
}

/// Normals of all pixels in these axes.
fn values(axes: Axes) -> Vec<f32> {
    let signs = axes.signs();
    pixels()
        .flat_map(|(x, y)| std::array::from_fn::<f32, 3, _>(|k| surface(x, y).0[k] as f32 * signs[k]))
        .collect()
}

/// A PNG of 8 bits a channel.
fn png(folder: &Scratch, name: &str, axes: Axes) {
    let bytes: Vec<u8> = values(axes).iter().map(|v| (127.5 + 127.5 * v).round() as u8).collect();
    folder.write_png(name, WIDTH, HEIGHT, 3, &bytes);
}

fn words_of(scene: &SceneIndex, index: usize) -> Vec<[u8; 4]> {
    let store = ImageStore::open(scene, ImageOptions::default()).unwrap();
    let split = Split::Train;
    store.get(ViewId { split, index }).unwrap().normals().unwrap().to_vec()
}

/// The cosine of every pixel's angle to what it should be is that of half a degree at most.
fn agrees(scene: &SceneIndex, index: usize) {
    let words = words_of(scene, index);
    assert_eq!(words.len(), (WIDTH * HEIGHT) as usize);
    for ((x, y), [a, b, c, trust]) in pixels().zip(words) {
        let found = [a, b, c].map(|byte| f64::from(byte.cast_signed()));
        let cosine = dot(found, surface(x, y).0) / norm(found);
        assert!(cosine > 0.99996 && trust == 255, "{x} {y}: {found:?}, {trust}");
    }
}

#[test]
fn maps_of_every_kind_say_the_same_normals() {
    for axes in Axes::ALL {
        let folder = scene();
        png(&folder, "normals/p1.png", axes);
        let wide: Vec<u16> = values(axes)
            .iter()
            .map(|v| (32_767.5 + 32_767.5 * v).round() as u16)
            .collect();
        let path = folder.write("normals/p2.tif", []);
        image::ImageBuffer::<image::Rgb<u16>, _>::from_raw(WIDTH, HEIGHT, wide)
            .unwrap()
            .save(path)
            .unwrap();
        let floats: Vec<u8> = values(axes).iter().flat_map(|v| v.to_le_bytes()).collect();
        folder.write("normals/p3.npy", npy_file("<f4", "False", "(30, 40, 3)", &floats));
        let scene = SceneIndex::load(folder.path(), &options(axes)).unwrap();
        assert!(scene.parts().normals && !scene.parts().depths);
        (0..3).for_each(|index| agrees(&scene, index));
        let reported = scene
            .notices
            .iter()
            .any(|reported| reported == "normal maps of 3 of 3 training photos");
        let warned = scene.warnings.iter().any(|reported| reported.contains("normal"));
        assert!(reported && !warned, "{:?}", scene.warnings);
    }
}

#[test]
fn exr_and_planes_are_read() {
    let folder = scene();
    png(&folder, "normals/p1.png", Axes::Opengl);
    let all = values(Axes::Opengl);
    let plane = |k: usize| all.iter().skip(k).step_by(3).copied().collect::<Vec<f32>>();
    let channels = ["X", "Y", "Z"]
        .into_iter()
        .enumerate()
        .map(|(k, name)| AnyChannel::new(name, FlatSamples::F32(plane(k))));
    let image = Image::from_channels((WIDTH as usize, HEIGHT as usize), AnyChannels::sort(channels.collect()));
    let mut bytes = std::io::Cursor::new(Vec::new());
    image.write().non_parallel().to_buffered(&mut bytes).unwrap();
    folder.write("normals/p2.exr", bytes.into_inner());
    let planes: Vec<u8> = (0..3).flat_map(plane).flat_map(f32::to_le_bytes).collect();
    folder.write("normals/p3.npy", npy_file("<f4", "False", "(1, 3, 30, 40)", &planes));
    let scene = SceneIndex::load(folder.path(), &options(Axes::Opengl)).unwrap();
    (0..3).for_each(|index| agrees(&scene, index));
}

#[test]
fn axes_that_cannot_be_are_refused_or_told() {
    let folder = scene();
    for n in 1..=PHOTOS {
        png(&folder, &format!("normals/p{n}.png"), Axes::Opencv);
    }
    let error = SceneIndex::load(folder.path(), &options(Axes::Opengl))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("none of 3 maps can be used")
            && error.contains("point away from the camera in the axes `opengl`; set dataset.normals.axes to opencv"),
        "{error}"
    );
    // mirrored axes look at the camera too, and only the points say that they are wrong
    for (real, set) in [(Axes::Lub, Axes::Opengl), (Axes::Opengl, Axes::Rdb)] {
        for n in 1..=PHOTOS {
            png(&folder, &format!("normals/p{n}.png"), real);
        }
        let scene = SceneIndex::load(folder.path(), &options(set)).unwrap();
        let wanted = format!("with dataset.normals.axes={}, which", real.name());
        assert!(
            scene.warnings.iter().any(|reported| reported.contains(&wanted)),
            "{:?}",
            scene.warnings
        );
    }
}

#[test]
fn what_is_no_normal_has_no_word_and_confidence_weighs() {
    let folder = scene();
    let mut bytes: Vec<u8> = values(Axes::Opengl)
        .iter()
        .map(|v| (127.5 + 127.5 * v).round() as u8)
        .collect();
    // nothing, the sky of a network, and white
    for (at, grey) in [(0, 0), (1, 127), (2, 255)] {
        bytes[3 * at..3 * at + 3].fill(grey);
    }
    folder.write_png("normals/p1.png", WIDTH, HEIGHT, 3, &bytes);
    // half the size of the photo, and a pixel of it covers four
    let trust: Vec<u8> = (0..WIDTH * HEIGHT / 4)
        .map(|at| if at == 3 { 0 } else { 255 })
        .collect();
    let path = folder.write("normals/p1.confidence.png", []);
    image::GrayImage::from_raw(WIDTH / 2, HEIGHT / 2, trust)
        .unwrap()
        .save(path)
        .unwrap();
    // two maps that say nothing, one because of how its numbers are written
    let encoded: Vec<u8> = values(Axes::Opengl)
        .iter()
        .flat_map(|v| (0.5 * v + 0.5).to_le_bytes())
        .collect();
    folder.write("normals/p2.npy", npy_file("<f4", "False", "(30, 40, 3)", &encoded));
    folder.write_png("normals/p3.png", WIDTH, HEIGHT, 3, &[0; (WIDTH * HEIGHT * 3) as usize]);
    let scene = SceneIndex::load(folder.path(), &options(Axes::Opengl)).unwrap();
    let words = words_of(&scene, 0);
    assert!(words[..3].iter().all(|word| *word == [0; 4]));
    let at = |x: usize, y: usize| words[y * WIDTH as usize + x][3];
    assert_eq!([at(5, 0), at(6, 0), at(7, 1), at(8, 0)], [255, 0, 0, 255]);
    let reported = scene
        .warnings
        .iter()
        .find(|reported| reported.contains("are left out"))
        .unwrap();
    assert!(
        reported.starts_with("2 of 3 normal maps")
            && reported.contains("save n, from -1 to 1")
            && reported.contains("has a direction"),
        "{reported}"
    );
    assert!(words_of(&scene, 1).iter().all(|word| *word == [0; 4]));
}

#[test]
fn missing_maps_are_named() {
    let folder = scene();
    let error = SceneIndex::load(folder.path(), &options(Axes::Opengl))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("there is no folder ")
            && error.contains("which normal maps")
            && error.contains("(dataset.normals)"),
        "{error}"
    );
    folder.write("normals/other.png", "");
    let error = SceneIndex::load(folder.path(), &options(Axes::Opengl))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("looked for p1.png, p1.exr, p1.npy, p1.tif, p1.tiff;"),
        "{error}"
    );
    let path = folder.write("normals/p1.png", []);
    image::GrayImage::from_pixel(WIDTH, HEIGHT, image::Luma([9]))
        .save(path)
        .unwrap();
    let error = SceneIndex::load(folder.path(), &options(Axes::Opengl))
        .unwrap_err()
        .to_string();
    assert!(error.contains("normal maps have three channels"), "{error}");
}

/// A photo that is turned upright takes its normals with it.
#[test]
fn directions_turn_as_places_do() {
    use image::metadata::Orientation::*;
    for turn in [
        NoTransforms,
        Rotate90,
        Rotate180,
        Rotate270,
        FlipHorizontal,
        FlipVertical,
        Rotate90FlipH,
        Rotate270FlipH,
    ] {
        let upright = crate::photos::upright::Upright {
            file_px: (50, 30),
            pixel_bytes: 3,
            turn,
            lens: None,
            kept: None,
        };
        let [from, to] = [[10.0, 12.0], [13.0, 11.0]].map(|place| upright.stored_place(place));
        let stored = [0, 1].map(|k| (to[k] - from[k]) as f32);
        assert_eq!(upright.turned_direction(stored), [3.0, -1.0], "{turn:?}");
    }
}
