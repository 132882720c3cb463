//! Undistortion against recorded figures of COLMAP and OpenCV (`tests/golden/undistort.py`).
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::collections::BTreeMap;

use super::*;
use crate::formats::lens::{self, Distortion};

#[derive(serde::Deserialize)]
struct Golden {
    cases: Vec<Case>,
    opencv: OpenCv,
}

#[derive(serde::Deserialize)]
struct Case {
    model: String,
    size: (u32, u32),
    params: Vec<f64>,
    rays: Vec<[f64; 2]>,
    pixels: Vec<[f64; 2]>,
    undistorter: Undistorter,
}

#[derive(serde::Deserialize)]
struct Undistorter {
    size: [u32; 2],
    params: [f64; 4],
}

#[derive(serde::Deserialize)]
struct OpenCv {
    camera: OpenCvCamera,
    lenses: Vec<OpenCvLens>,
}

#[derive(serde::Deserialize)]
struct OpenCvCamera {
    focal: [f64; 2],
    centre: [f64; 2],
}

#[derive(serde::Deserialize)]
struct OpenCvLens {
    model: String,
    coefficients: BTreeMap<String, f64>,
    rays: Vec<[f64; 2]>,
    pixels: Vec<[f64; 2]>,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("../../../../../tests/golden/undistort.json")).unwrap()
}

impl Case {
    fn camera(&self) -> (Distortion, Intrinsics) {
        let two_focals = !self.model.starts_with("SIMPLE") && !self.model.starts_with("RADIAL");
        let first = usize::from(two_focals);
        let [fx, fy, cx, cy] = [0, first, first + 1, first + 2].map(|index| self.params[index]);
        let distortion = lens::distortion(&self.model, &self.params[first + 3..]);
        (distortion, Intrinsics { fx, fy, cx, cy })
    }
}

fn apart(a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

#[test]
fn rays_arrive_where_colmap_puts_them() {
    let golden = golden();
    let models: Vec<&str> = golden.cases.iter().map(|case| case.model.as_str()).collect();
    // Those that came with COLMAP 4 are others without what they add.
    assert!(lens::MODELS[..11].iter().all(|model| models.contains(model)));
    for case in &golden.cases {
        let (distortion, Intrinsics { fx, fy, cx, cy }) = case.camera();
        assert!(case.rays.len() > 80 && case.rays.len() == case.pixels.len());
        for (&ray, &pixel) in case.rays.iter().zip(&case.pixels) {
            let [u, v] = distortion.apply(ray);
            let off = apart([fx * u + cx, fy * v + cy], pixel);
            assert!(off < 1e-4, "{}: {ray:?} is {off} px off", case.model);
        }
    }
}

#[test]
fn rays_arrive_where_opencv_puts_them() {
    let OpenCv { camera, lenses } = golden().opencv;
    for lens in lenses {
        let k = |name: &str| lens.coefficients.get(name).copied().unwrap_or(0.0);
        let radial = [k("k1"), k("k2"), k("k3"), k("k4")];
        let distortion = match lens.model.as_str() {
            "OPENCV" => Distortion::polynomial(radial, [0.0; 3], [k("p1"), k("p2")]),
            _ => lens::distortion(&lens.model, &radial),
        };
        for (&ray, &pixel) in lens.rays.iter().zip(&lens.pixels) {
            let moved = distortion.apply(ray);
            let place = [0, 1].map(|axis| camera.focal[axis] * moved[axis] + camera.centre[axis]);
            assert!(apart(place, pixel) < 1e-4, "{}: {ray:?}", lens.model);
        }
    }
}

#[test]
fn the_picture_is_full_and_about_as_large_as_colmaps() {
    for case in golden().cases {
        let (distortion, source) = case.camera();
        let plan = Rectification::plan(distortion, source, case.size, Undistort::Inside).unwrap();
        let (width, height) = (plan.size_px.0, plan.size_px.1);
        // no output pixel lies outside of the outermost pixels' centres
        for y in (0..height).step_by(7).chain([height - 1]) {
            for x in (0..width).step_by(7).chain([width - 1]) {
                let [u, v] = plan.source_of([f64::from(x) + 0.5, f64::from(y) + 0.5]);
                let (w, h) = (f64::from(case.size.0), f64::from(case.size.1));
                let within = (0.4..=w - 0.4).contains(&u) && (0.4..=h - 0.4).contains(&v);
                assert!(within, "{}: {x}, {y} comes from {u}, {v}", case.model);
            }
        }
        // the focal lengths are kept, as COLMAP keeps them
        let [fx, fy, ..] = case.undistorter.params;
        assert_eq!((plan.pinhole.fx, plan.pinhole.fy), (fx, fy));
        let [colmap_width, colmap_height] = case.undistorter.size.map(f64::from);
        let ratio = [f64::from(width) / colmap_width, f64::from(height) / colmap_height];
        assert!(
            ratio.iter().all(|ratio| (0.97..1.25).contains(ratio)),
            "{}: {width}x{height} where COLMAP has {colmap_width}x{colmap_height}",
            case.model
        );
        if distortion == Distortion::None {
            assert_eq!((plan.size_px, plan.pinhole), (case.size, source));
            assert!(plan.lost < 1e-9);
        } else {
            assert!((0.0..0.5).contains(&plan.lost), "{}: lost {}", case.model, plan.lost);
        }
    }
}

/// All of what a mild lens took is shown; of a fisheye's picture more than the rectangle inside has, and pixels without a source are reported.
#[test]
fn the_whole_picture_has_more_and_says_what_is_empty() {
    let mut fish = 0;
    for case in golden().cases {
        let (distortion, source) = case.camera();
        let inside = Rectification::plan(distortion, source, case.size, Undistort::Inside).unwrap();
        let whole = Rectification::plan(distortion, source, case.size, Undistort::Whole).unwrap();
        assert_eq!((whole.pinhole.fx, whole.pinhole.fy), (source.fx, source.fy));
        assert!(
            whole.lost <= inside.lost + 0.01,
            "{}: {} {}",
            case.model,
            whole.lost,
            inside.lost
        );
        assert!(!inside.has_empty);
        let shown = whole.shown();
        let (width, height) = (whole.size_px.0 as usize, whole.size_px.1 as usize);
        assert_eq!(shown.len(), width * height);
        assert_eq!(whole.has_empty, shown.contains(&0), "{}", case.model);
        // The optical axis is in the picture, and a pixel counts where its place lies in the original.
        let axis = [whole.pinhole.cx, whole.pinhole.cy].map(|at| at as usize);
        assert_eq!(shown[axis[1] * width + axis[0]], 255, "{}", case.model);
        let (w, h) = (f64::from(case.size.0), f64::from(case.size.1));
        for (index, value) in shown.iter().enumerate().step_by(97) {
            let at = [index % width, index / width].map(|at| at as f64 + 0.5);
            let [u, v] = whole.source_of(at);
            if *value == 255 {
                assert!(
                    (0.4..=w - 0.4).contains(&u) && (0.4..=h - 0.4).contains(&v),
                    "{}",
                    case.model
                );
            }
        }
        if inside.lost > 0.05 {
            assert!(
                whole.lost < inside.lost,
                "{}: {} {}",
                case.model,
                whole.lost,
                inside.lost
            );
            fish += 1;
        }
    }
    assert!(fish > 0);
}

/// The distorted picture of bright dots in the directions `rays`, one value a pixel.
fn dots(case: &Case, every: usize) -> Vec<u8> {
    let (width, height) = case.size;
    let mut picture = vec![0.0_f64; (width * height) as usize];
    let near = |place: f64, side: u32| (place - 9.0).max(0.0) as u32..((place + 9.0) as u32).min(side);
    for &[u, v] in case.pixels.iter().step_by(every) {
        for y in near(v, height) {
            for x in near(u, width) {
                let squared = (f64::from(x) + 0.5 - u).powi(2) + (f64::from(y) + 0.5 - v).powi(2);
                picture[(y * width + x) as usize] += 230.0 * (-squared / 8.0).exp();
            }
        }
    }
    picture
        .iter()
        .map(|value| value.round().clamp(0.0, 255.0) as u8)
        .collect()
}

#[test]
fn dots_land_where_a_pinhole_sees_them() {
    for case in golden().cases {
        let (distortion, source) = case.camera();
        let plan = Rectification::plan(distortion, source, case.size, Undistort::Inside).unwrap();
        let picture = plan.resample::<1>(&dots(&case, 3));
        let (width, height) = (f64::from(plan.size_px.0), f64::from(plan.size_px.1));
        assert_eq!(picture.len() as f64, width * height);
        let mut seen = 0;
        for ray in case.rays.iter().step_by(3) {
            let Intrinsics { fx, fy, cx, cy } = plan.pinhole;
            let expected = [fx * ray[0] + cx, fy * ray[1] + cy];
            const REACH: f64 = 14.0;
            let inside = |value: f64, side: f64| value > REACH && value < side - REACH;
            if !inside(expected[0], width) || !inside(expected[1], height) {
                continue;
            }
            let (mut sum, mut at) = (0.0, [0.0; 2]);
            for y in (expected[1] - REACH) as usize..(expected[1] + REACH) as usize {
                for x in (expected[0] - REACH) as usize..(expected[0] + REACH) as usize {
                    // a little threshold keeps neighbours' tails out of the centroid
                    let value = f64::from(picture[y * width as usize + x]) - 20.0;
                    if value > 0.0 {
                        sum += value;
                        at = [at[0] + value * (x as f64 + 0.5), at[1] + value * (y as f64 + 0.5)];
                    }
                }
            }
            let off = apart(at.map(|value| value / sum), expected);
            assert!(off < 0.5, "{}: the dot at {expected:?} is {off} px off", case.model);
            seen += 1;
        }
        assert!(seen >= 15, "{}: only {seen} dots", case.model);
    }
}

#[test]
fn interpolated_places_are_close_to_exact_ones() {
    // a horizontal ramp shows the source column in its value
    for case in golden().cases {
        let (distortion, source) = case.camera();
        let plan = Rectification::plan(distortion, source, case.size, Undistort::Inside).unwrap();
        let ramp: Vec<u8> = (0..case.size.1)
            .flat_map(|_| (0..case.size.0).map(|x| (x / 4) as u8))
            .collect();
        let picture = plan.resample::<1>(&ramp);
        for y in (0..plan.size_px.1).step_by(13) {
            for x in (0..plan.size_px.0).step_by(11) {
                let [place, _] = plan.source_of([f64::from(x) + 0.5, f64::from(y) + 0.5]);
                let value = f64::from(picture[(y * plan.size_px.0 + x) as usize]);
                assert!((value - (place - 2.0) / 4.0).abs() < 1.0, "{}: {x}, {y}", case.model);
            }
        }
    }
}

#[test]
fn weights_add_up_and_flat_pictures_stay() {
    for weights in cubic_weights() {
        assert_eq!(weights.iter().sum::<i32>(), 1 << WEIGHT_BITS);
    }
    let golden = golden();
    let (distortion, source) = golden.cases[5].camera();
    let plan = Rectification::plan(distortion, source, golden.cases[5].size, Undistort::Inside).unwrap();
    let flat = [9, 200, 255].repeat(640 * 480);
    let pixels = (plan.size_px.0 * plan.size_px.1) as usize;
    assert_eq!(plan.resample::<3>(&flat), [9, 200, 255].repeat(pixels));
}

#[test]
fn lenses_that_fold_before_the_edge_are_cut_there() {
    let source = Intrinsics {
        fx: 300.0,
        fy: 300.0,
        cx: 320.0,
        cy: 240.0,
    };
    let fold = lens::distortion("SIMPLE_RADIAL", &[-0.3]);
    let plan = Rectification::plan(fold, source, (640, 480), Undistort::Inside).unwrap();
    let far = |x: f64, y: f64| ((x - plan.pinhole.cx) / 300.0).hypot((y - plan.pinhole.cy) / 300.0);
    let (width, height) = (f64::from(plan.size_px.0), f64::from(plan.size_px.1));
    assert!(far(0.5, 0.5) <= fold.fold() + 1e-2 && far(width - 0.5, height - 0.5) <= fold.fold() + 1e-2);
    assert!(plan.lost > 0.2, "{}", plan.lost);
    for k in [-1e6, -1e3, 1e6, 1e9] {
        let nonsense = lens::distortion("SIMPLE_RADIAL", &[k]);
        let plan = Rectification::plan(nonsense, source, (640, 480), Undistort::Inside);
        assert!(plan.is_none_or(|plan| plan.size_px.0 >= 16 && plan.size_px.1 >= 16));
    }
    let fisheye = lens::distortion("OPENCV_FISHEYE", &[0.0; 4]);
    let wide = Intrinsics {
        fx: 640.0 / std::f64::consts::PI,
        fy: 640.0 / std::f64::consts::PI,
        ..source
    };
    let plan = Rectification::plan(fisheye, wide, (640, 480), Undistort::Inside).unwrap();
    assert!(plan.size_px.0 <= 1281 && plan.size_px.1 <= 961, "{:?}", plan.size_px);
}
