//! A ring of cameras whose photos have one colour each: what is behind it, and what it looks like.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fmt::Write as _;

use super::*;
use crate::export::{PlyComments, PlyFlavor, fuse, write_ply};
use crate::plan::model::scene_options;
use crate::plan::photos::image_options;
use kiln_config::{Inputs, Override, resolve};
use kiln_scene::SceneIndex;
use kiln_scratch::Scratch;

const SIZE: u32 = 32;
const CAMERAS: u8 = 6;

/// Colour of a photo.
fn color(photo: u8) -> [u8; 3] {
    [10 + 40 * photo, 200 - 30 * photo, 7 * photo]
}

/// Cameras on a ring of radius `4 scale` that look at its middle, where `inside` points are; `outside` more are far away.
fn ring(scale: f64, inside: usize, outside: usize) -> Scratch {
    let scratch = Scratch::new();
    scratch.write("sparse/0/cameras.txt", format!("1 PINHOLE {SIZE} {SIZE} 16 16 16 16\n"));
    let (mut images, mut points) = (String::new(), String::new());
    for photo in 0..CAMERAS {
        let angle = f64::from(photo) * std::f64::consts::TAU / f64::from(CAMERAS);
        let (sin, cos) = (0.5 * (std::f64::consts::PI - angle)).sin_cos();
        writeln!(
            images,
            "{} {cos} 0 {sin} 0 0 0 {} 1 {photo}.png\n",
            photo + 1,
            4.0 * scale
        )
        .unwrap();
        let pixels = color(photo).repeat((SIZE * SIZE) as usize);
        scratch.write_png(&format!("images/{photo}.png"), SIZE, SIZE, 3, &pixels);
    }
    for id in 0..inside + outside {
        let radius = if id < inside { 1.0 } else { 30.0 };
        let (sin, cos) = (id as f64).sin_cos();
        let [x, y, z] = [radius * sin, 0.3 * cos, radius * cos].map(|v| v * scale);
        writeln!(points, "{} {x} {y} {z} 90 80 70 0.5 1 0", id + 1).unwrap();
    }
    scratch.write("sparse/0/images.txt", images);
    scratch.write("sparse/0/points3D.txt", points);
    scratch
}

fn profile(settings: &[(&str, &str)]) -> Profile {
    let set = |(key, value): &(&str, &str)| Override {
        key: (*key).to_owned(),
        value: (*value).to_owned(),
        flag: "--set".to_owned(),
    };
    let all = [("dataset.hold_out", "false")];
    let inputs = Inputs {
        profile: Some("cpu".to_owned()),
        overrides: all.iter().chain(settings).map(set).collect(),
        ..Inputs::default()
    };
    resolve(&inputs).unwrap()
}

fn load(scratch: &Scratch, profile: &Profile) -> SceneIndex {
    SceneIndex::load(scratch.path(), &scene_options(profile).unwrap()).unwrap()
}

fn coloured(profile: &Profile, scene: &SceneIndex) -> FirstModel {
    let mut first = FirstModel::new(profile, scene).unwrap();
    let store = ImageStore::open(scene, image_options(profile)).unwrap();
    first.colour(scene, &store);
    first
}

fn distance(scene: &SceneIndex, place: [f32; 3]) -> f32 {
    let center = scene.center();
    (0..3).map(|i| (place[i] - center[i]).powi(2)).sum::<f32>().sqrt()
}

#[test]
fn background_lies_on_its_shells_in_some_picture_and_has_the_photos_colours() {
    let scratch = ring(1.0, 50, 0);
    let profile = profile(&[("init.background", "600"), ("init.scale", "2")]);
    let scene = load(&scratch, &profile);
    let first = coloured(&profile, &scene);
    let points: Vec<Point> = first.background_points().collect();
    let places = &first.background;
    let n = first.gaussians.len();
    assert_eq!((n, points.len()), (650, 600));
    assert_eq!(
        first.origin(),
        format!("50 sparse points + {} background", points.len())
    );
    let mut seen_by_several = 0;
    for (point, at) in points.iter().zip(places) {
        let shell = [2.0, 4.0, 8.0]
            .into_iter()
            .find(|shell| (distance(&scene, point.position) / (shell * scene.extent) - 1.0).abs() < 1e-4);
        assert!(shell.is_some(), "{point:?}");
        let photos: Vec<u8> = (0..CAMERAS)
            .filter(|photo| scene.train[usize::from(*photo)].camera.sees(point.position).is_some())
            .collect();
        seen_by_several += u32::from(photos.len() > 1);
        for channel in 0..3 {
            let mean = photos.iter().map(|p| f32::from(color(*p)[channel])).sum::<f32>() / photos.len() as f32;
            assert!(
                (f32::from(point.color[channel]) - mean).abs() <= 0.51,
                "{point:?} {mean}"
            );
        }
        assert_eq!(first.gaussians.sh0[*at], init::sh0(point.color));
        assert!((first.gaussians.logit_opacities[*at] - (0.1_f32 / 0.9).ln()).abs() < 1e-6);
    }
    assert!(seen_by_several > 20, "{seen_by_several}");
    // Sizes are those of a shell by itself, doubled.
    let is_near = |(point, _): &(&Point, &usize)| distance(&scene, point.position) < 3.0 * scene.extent;
    let (shell, places): (Vec<Point>, Vec<usize>) = points.iter().zip(places).filter(is_near).unzip();
    let alone = init::from_points(&shell, scene.extent, 3).unwrap();
    for (at, size) in places.iter().zip(&alone.log_scales) {
        assert!((first.gaussians.log_scales[*at][0] - size[0] - 2.0_f32.ln()).abs() < 1e-6);
    }
    // The same again, along the curve.
    assert_eq!(coloured(&profile, &scene).gaussians, first.gaussians);
    let frame = order::frame(&scene);
    assert_eq!(
        first.gaussians,
        first
            .gaussians
            .taken(&kiln_gaussians::morton::order(&frame, &first.gaussians.means))
    );
}

#[test]
fn auto_looks_at_the_capture() {
    let said = |scratch: &Scratch, settings: &[(&str, &str)]| {
        let profile = profile(settings);
        let first = FirstModel::new(&profile, &load(scratch, &profile)).unwrap();
        (first.background.len(), first.choice().unwrap())
    };
    let (count, words) = said(&ring(1.0, 100, 5), &[]);
    assert_eq!(count, 3000);
    assert_eq!(
        words,
        "background points: 3 000 on 3 shells (4.8 % of the sparse points lie beyond the cameras)"
    );
    let none = |scratch: &Scratch, settings: &[(&str, &str)], why: &str| {
        assert_eq!(said(scratch, settings), (0, format!("background points: none ({why})")));
    };
    none(
        &ring(1.0, 100, 20),
        &[],
        "16.7 % of the sparse points lie beyond the cameras",
    );
    none(&ring(1.0, 0, 0), &[], "the scene has no sparse points");
    none(
        &ring(1.0, 100, 0),
        &[("dataset.alpha", "blend")],
        "masks or transparency say what is background",
    );
    // Of few Gaussians a quarter, and half of what is free: something is left to grow into.
    let few = |most: &str| said(&ring(1.0, 100, 0), &[("memory.max_gaussians", most)]).0;
    assert_eq!((few("1600"), few("120")), (400, 10));
    assert_eq!(few("100"), 0);
    // Whatever units the scene has.
    for scale in [1e-3, 50.0] {
        assert_eq!(said(&ring(scale, 100, 5), &[]).1, words);
    }
}

#[test]
fn no_model_starts_with_more_gaussians_than_it_may_have() {
    let scratch = ring(1.0, 100, 50);
    let of = |settings: &[(&str, &str)]| {
        let profile = profile(settings);
        FirstModel::new(&profile, &load(&scratch, &profile)).unwrap()
    };
    let all = of(&[]);
    let few = of(&[("memory.max_gaussians", "40")]);
    assert_eq!(few.gaussians.len(), 40);
    assert_eq!(few.origin(), "40 of 150 sparse points (`memory.max_gaussians`)");
    assert!(
        few.gaussians
            .means
            .iter()
            .all(|place| all.gaussians.means.contains(place))
    );
    let again = of(&[("memory.max_gaussians", "40")]);
    assert_eq!(few.gaussians.means, again.gaussians.means);
    let random = of(&[
        ("memory.max_gaussians", "40"),
        ("init", "{ kind: random_frustum, count: 700 }"),
    ]);
    assert_eq!(random.origin(), "40 of 700 random points (`memory.max_gaussians`)");
    assert_eq!(of(&[("memory.max_gaussians", "150")]).origin(), "150 sparse points");
}

#[test]
fn settings_are_taken_as_they_are_or_refused() {
    let scratch = ring(1.0, 100, 50);
    let of = |settings: &[(&str, &str)]| {
        let profile = profile(settings);
        FirstModel::new(&profile, &load(&scratch, &profile))
    };
    let none = of(&[("init.background", "0")]).unwrap();
    assert_eq!((none.gaussians.len(), none.choice()), (150, None));
    let some = of(&[("init.background", "90")]).unwrap();
    assert_eq!(some.background.len(), 90);
    assert!(some.choice().unwrap().ends_with("on 1 shell (as init.background says)"));
    let much = of(&[("init.background", "90"), ("memory.max_gaussians", "239")]);
    assert_eq!(
        much.err().unwrap().to_string(),
        "`init.background` is 90: with 150 other points that is more than `memory.max_gaussians`, 239; fewer points \
         of background fit, or a larger `memory.max_gaussians`"
    );
    assert!(of(&[("init.background", "90"), ("memory.max_gaussians", "240")]).is_ok());
}

#[test]
fn a_background_that_is_asked_for_is_there_without_sparse_points_too() {
    let settings = [("init.background", "90")];
    let scratch = ring(1.0, 0, 0);
    let profile = profile(&settings);
    let first = FirstModel::new(&profile, &load(&scratch, &profile)).unwrap();
    assert_eq!(first.background.len(), 90);
    assert_eq!(first.origin(), "100 000 random points + 90 background");
    assert!(first.choice().unwrap().starts_with("background points: 90 on 3 shells"));
}

#[test]
fn masked_pixels_give_no_colour_and_what_has_none_goes() {
    let scratch = ring(1.0, 100, 0);
    // Left halves do not count.
    let mask: Vec<u8> = (0..SIZE * SIZE)
        .map(|at| if at % SIZE < SIZE / 2 { 0 } else { 255 })
        .collect();
    for photo in 0..CAMERAS {
        let rgb: Vec<u8> = mask.iter().flat_map(|value| [*value; 3]).collect();
        scratch.write_png(&format!("masks/{photo}.png"), SIZE, SIZE, 3, &rgb);
    }
    let profile = profile(&[("init.background", "900")]);
    let scene = load(&scratch, &profile);
    assert!(scene.masked);
    let planned = FirstModel::new(&profile, &scene).unwrap().gaussians.len();
    let first = coloured(&profile, &scene);
    assert!(first.gaussians.len() < planned && first.background.len() > 300);
    assert_eq!(first.gaussians.len(), 100 + first.background.len());
    for point in first.background_points() {
        let sees = |photo: u8| scene.train[usize::from(photo)].camera.sees(point.position);
        let counts = (0..CAMERAS).any(|photo| sees(photo).is_some_and(|[x, ..]| x >= 16.0));
        assert!(counts && point.color != GREY, "{point:?}");
    }
}

/// Every parameter of a trained model, whose background and degrees nobody touches.
#[test]
fn a_trained_model_comes_with_all_its_parameters() {
    let scratch = ring(1.0, 50, 0);
    let mut random = kiln_scene::SplitMix64::new(3);
    let mut between = |low: f32, high: f32| low + (high - low) * random.next_f32();
    let mut model = Gaussians {
        sh_degree: 2,
        ..Gaussians::default()
    };
    for _ in 0..40 {
        model.means.push([0; 3].map(|_| between(-1.0, 1.0)));
        model.quats.push([0; 4].map(|_| between(-1.0, 1.0)));
        model.log_scales.push([0; 3].map(|_| between(-4.0, -2.0)));
        model.logit_opacities.push(between(-3.0, 3.0));
        model.sh0.push([0; 3].map(|_| between(-1.0, 1.0)));
        model.sh_rest.extend([0; 24].map(|_| between(-0.5, 0.5)));
        model.filter_3d.push(between(0.0, 0.1));
    }
    model.quats[7] = [0.0; 4];
    let path = scratch.path().join("trained.ply");
    write_ply(&path, &model, PlyFlavor::Raw, PlyComments::default()).unwrap();
    let init = format!("{{ kind: model, path: {:?} }}", path.to_str().unwrap());
    let first = |settings: &[(&str, &str)]| {
        let profile = profile(&[&[("init", init.as_str())], settings].concat());
        FirstModel::new(&profile, &load(&scratch, &profile)).unwrap()
    };
    // along a curve, so that places change
    let place_of = |first: &FirstModel, at: usize| {
        let mean = first.gaussians.means[at];
        model.means.iter().position(|other| *other == mean).unwrap()
    };
    let kept = first(&[
        ("model.sh_degree", "2"),
        ("model.kind", "mip"),
        ("mip.filter_3d", "true"),
    ]);
    // the one without a rotation is left out, and said
    assert_eq!(kept.origin(), "39 given Gaussians");
    let said = kept.choice().unwrap();
    assert!(said.ends_with("trained.ply: 1 of 40 Gaussians are left out, which cannot be drawn: the first is number 7, with a rotation without length"), "{said}");
    assert_eq!((kept.gaussians.len(), kept.background_points().count()), (39, 0));
    for at in 0..39 {
        let from = place_of(&kept, at);
        let one = |model: &Gaussians, at: usize| {
            (
                model.log_scales[at],
                model.logit_opacities[at],
                model.sh0[at],
                model.sh_rest[24 * at..24 * (at + 1)].to_vec(),
            )
        };
        assert_eq!(one(&kept.gaussians, at), one(&model, from));
        assert_eq!(
            (kept.gaussians.quats[at], kept.gaussians.filter_3d[at]),
            (model.quats[from], 0.0)
        );
    }
    // where there is no filter it is folded in
    let classic = first(&[("model.sh_degree", "3"), ("model.kind", "classic")]);
    assert_eq!(classic.gaussians.sh_rest.len(), 39 * 45);
    for at in 0..39 {
        let from = place_of(&classic, at);
        let fused = fuse(
            model.log_scales[from],
            model.logit_opacities[from],
            model.filter_3d[from],
        );
        assert_eq!(classic.gaussians.log_scales[at], fused.log_scales);
        assert_eq!(classic.gaussians.logit_opacities[at], fused.logit_opacity);
    }
    let some = first(&[("memory.max_gaussians", "10")]);
    assert_eq!(some.gaussians.len(), 10);
    assert_eq!(some.origin(), "10 of 39 given Gaussians (`memory.max_gaussians`)");
}
