//! The whole step against f64 finite differences, and the rasteriser against the plain formula.

use super::*;
use crate::TILE;
use crate::dropout::Dropout;
use crate::gaussian::VALUES;
use crate::loss::loss_value;
use crate::project::{ALPHA_MIN, Filter2d, footprint, tile_span};
use crate::rasterize::{TRANSMITTANCE_MIN, coverage};
use crate::scenes::{Options, Scene, random, settings};
use kiln_scene::{Camera, Fisheye};

const BACKGROUND: [f64; 3] = [0.2, 0.5, 0.9];
const MIP: Filter2d = Filter2d::Mip { kernel_size: 0.1 };

/// Error of a difference quotient of the loss: rounding of the loss, 1e-16, over the step, with room.
const NOISE: f64 = 1e-9;

fn smooth_scene(seed: u32) -> Scene {
    random(Options {
        seed,
        count: 50,
        scales: [0.08, 0.5],
        opacities: [0.15, 0.6],
    })
}

/// Names of the parameter groups and where each scalar of a Gaussian belongs.
const GROUPS: [&str; 8] = ["mean", "quat", "log_scale", "opacity", "sh0", "sh1", "sh2", "sh3"];

fn group(value: usize) -> usize {
    match value {
        0..3 => 0,
        3..7 => 1,
        7..10 => 2,
        10 => 3,
        11..14 => 4,
        14..23 => 5,
        23..38 => 6,
        _ => 7,
    }
}

/// Compares every scalar of every Gaussian with central differences. Returns how many were compared per group,
/// not counting gradients so small that the noise of the differences decides; how many were left out; and how many of the
/// coordinates that were compared are of centres beyond the limits of the Jacobian.
///
/// A scalar is left out when the two one-sided differences disagree: then a threshold (alpha 1/255, the |x| of the
/// loss, a colour clamp, a change of order) lies within the step, where the loss has no derivative. That is a property
/// of the forward pass alone, so it cannot hide a wrong gradient; the caller bounds how many may be left out.
fn compare(scene: &Scene, settings: &Settings) -> ([usize; 8], usize, usize) {
    let total = |gaussians: &[Gaussian<f64>]| {
        let out = forward(gaussians, &scene.filter_3d, &scene.view, settings, BACKGROUND);
        loss_value(scene.view.size_px, &out.raster.rgb, &scene.target, Weights::default())
    };
    let exact = step(
        &scene.gaussians,
        &scene.filter_3d,
        &scene.view,
        settings,
        BACKGROUND,
        &scene.target,
        Weights::default(),
    );
    compare_with(scene, settings, &exact, &total)
}

/// [`compare`] of any loss and its gradients.
fn compare_with(
    scene: &Scene,
    settings: &Settings,
    exact: &Step<f64>,
    total: &dyn Fn(&[Gaussian<f64>]) -> f64,
) -> ([usize; 8], usize, usize) {
    assert!(
        exact.forward.visible.len() >= 40,
        "only {} visible",
        exact.forward.visible.len()
    );
    assert!(
        exact
            .forward
            .raster
            .transmittance
            .iter()
            .all(|&t| t > 2.0 * TRANSMITTANCE_MIN),
        "a pixel saturates"
    );

    let base = exact.loss.total;
    let in_use = VALUES - 3 * (16 - ((settings.sh_degree + 1) * (settings.sh_degree + 1)) as usize);
    let mut gaussians = scene.gaussians.clone();
    let (mut compared, mut skipped, mut clamped_means) = ([0; 8], 0, 0);
    for record in &exact.forward.visible {
        let id = record.id as usize;
        let shape = footprint(
            &scene.gaussians[id],
            scene.filter_3d[id],
            &scene.view,
            settings.filter_2d,
        );
        let clamped = shape.is_none_or(|f| f.clamp_active != [false; 2]);
        let values = scene.gaussians[id].values();
        let gradient = exact.gradients[id].values();
        for k in 0..VALUES {
            if k >= in_use {
                assert_eq!(gradient[k], 0.0, "unused coefficient has a gradient");
                continue;
            }
            let eps = 1e-6;
            let mut at = |offset: f64| {
                let mut moved = values;
                moved[k] += offset;
                gaussians[id] = Gaussian::from_values(&moved);
                let out = total(&gaussians);
                gaussians[id] = scene.gaussians[id];
                out
            };
            let (high, low) = (at(eps), at(-eps));
            let (right, left) = ((high - base) / eps, (base - low) / eps);
            let numeric = (high - low) / (2.0 * eps);
            if (right - left).abs() > 1e-3 * numeric.abs() + 1e-8 {
                skipped += 1;
                continue;
            }
            let error = (numeric - gradient[k]).abs();
            let name = GROUPS[group(k)];
            assert!(
                error <= 1e-3 * numeric.abs().max(gradient[k].abs()) + NOISE,
                "Gaussian {id} {name} value {k}: differences {numeric:e}, backward {:e}",
                gradient[k],
            );
            if gradient[k].abs() > 1e3 * NOISE {
                compared[group(k)] += 1;
                clamped_means += usize::from(clamped && group(k) == 0);
            }
        }
    }
    (compared, skipped, clamped_means)
}

fn check(scene: &Scene, settings: &Settings) {
    check_compared(compare(scene, settings), settings);
}

fn check_compared((compared, skipped, _): ([usize; 8], usize, usize), settings: &Settings) {
    let total: usize = compared.iter().sum();
    let groups = 5 + settings.sh_degree as usize;
    for (name, &n) in GROUPS.iter().zip(&compared).take(groups) {
        assert!(n >= 40, "only {n} of group {name} compared");
    }
    assert!(skipped * 100 < total, "{skipped} left out, {total} compared");
}

#[test]
fn gradients_match_differences_mip_degree_3() {
    check(&smooth_scene(11), &settings(MIP, 3));
}

/// The loss of surfaces beside that of the image.
#[test]
fn gradients_match_differences_where_the_loss_looks_at_surfaces() {
    for (seed, filter_2d) in [(61, MIP), (62, Filter2d::Classic)] {
        let mut scene = random(Options {
            seed,
            count: 50,
            scales: [0.15, 0.7],
            opacities: [0.2, 0.6],
        });
        // An even photo: its edges are in the weights of the loss, and noise would leave no weight to most pixels.
        for (i, pixel) in scene.target.iter_mut().enumerate() {
            *pixel = [0.4, 0.5, 0.6].map(|v| v + 0.02 * (i % 5) as f64);
        }
        let settings = settings(filter_2d, 0);
        let (size, view, weight) = (scene.view.size_px, &scene.view, 2.0);
        let (exact, of_planes) = surface_step(
            &scene.gaussians,
            &scene.filter_3d,
            view,
            &settings,
            BACKGROUND,
            &scene.target,
            Weights::default(),
            weight,
        );
        let owing = of_planes.by_normal.iter().filter(|(_, weight)| *weight > 0.0).count();
        assert!(
            owing > 200 && of_planes.total > 0.02,
            "{owing} pixels, {}",
            of_planes.total
        );
        let edges = edge_weights(size, &scene.target, |_| true);
        let total = |gaussians: &[Gaussian<f64>]| {
            let out = forward(gaussians, &scene.filter_3d, view, &settings, BACKGROUND);
            let of_image = loss_value(size, &out.raster.rgb, &scene.target, Weights::default());
            let blended = Drawn::new(gaussians, &out, view, settings.plane_depths).blended;
            let map = surface::depth_map(&blended, view, &PLANES);
            of_image + plane_loss(&blended, &map, &edges, view, weight).total
        };
        assert!((total(&scene.gaussians) - exact.loss.total).abs() < 1e-12);
        check_compared(compare_with(&scene, &settings, &exact, &total), &settings);
    }
}

/// SuGaR's agreement of normals and depths beside the loss of the image.
#[test]
fn gradients_match_differences_where_depths_are_blended() {
    for (seed, filter_2d) in [(63, MIP), (64, Filter2d::Classic)] {
        let scene = random(Options {
            seed,
            count: 50,
            scales: [0.15, 0.7],
            opacities: [0.2, 0.6],
        });
        let settings = Settings {
            plane_depths: true,
            ..settings(filter_2d, 0)
        };
        let (size, view, weight) = (scene.view.size_px, &scene.view, 0.05);
        let (exact, of_depths) = surface_step(
            &scene.gaussians,
            &scene.filter_3d,
            view,
            &settings,
            BACKGROUND,
            &scene.target,
            Weights::default(),
            weight,
        );
        assert!(of_depths.total > 0.01, "{}", of_depths.total);
        let total = |gaussians: &[Gaussian<f64>]| {
            let out = forward(gaussians, &scene.filter_3d, view, &settings, BACKGROUND);
            let of_image = loss_value(size, &out.raster.rgb, &scene.target, Weights::default());
            let Drawn { blended, map, .. } = Drawn::new(gaussians, &out, view, true);
            of_image + plain_loss(&blended, &map, |_| true, view, weight).0.total
        };
        assert!((total(&scene.gaussians) - exact.loss.total).abs() < 1e-12);
        check_compared(compare_with(&scene, &settings, &exact, &total), &settings);
    }
}

/// On a ball of flat Gaussians, blended normals and those of blended depths agree.
#[test]
fn normals_and_depths_of_a_ball_agree() {
    let count = 3000;
    let gaussian = |i: u32| {
        let z = 1.0 - (2.0 * f64::from(i) + 1.0) / f64::from(count);
        let (azimuth, side) = (f64::from(i) * 2.399_963, (1.0 - z * z).sqrt());
        let normal = [side * azimuth.cos(), side * azimuth.sin(), z];
        let mut g = Gaussian::<f64>::ZERO;
        g.mean = normal;
        // Turns the z axis to the normal.
        g.quat = [1.0 + z, -normal[1], normal[0], 0.0];
        g.log_scale = [0.08, 0.08, 0.002].map(f64::ln);
        g.logit_opacity = 4.0;
        g
    };
    let gaussians: Vec<_> = (0..count).map(gaussian).collect();
    let camera = Camera {
        width_px: 32,
        height_px: 32,
        fx: 90.0,
        fy: 90.0,
        cx: 16.0,
        cy: 16.0,
        rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        translation: [0.0, 0.0, 4.0],
        lens: None,
    };
    let view = View::<f64>::new(&camera);
    let settings = Settings {
        plane_depths: true,
        ..settings(MIP, 0)
    };
    let out = forward(&gaussians, &vec![0.0; gaussians.len()], &view, &settings, BACKGROUND);
    let Drawn { blended, map, .. } = Drawn::new(&gaussians, &out, &view, true);
    // The border has no normal, and counts 1.
    let inside = |i: usize| (1..31).contains(&(i % 32)) && (1..31).contains(&(i / 32));
    let loss = plain_loss(&blended, &map, inside, &view, 1.0).0.mean * (32.0 * 32.0) / (30.0 * 30.0);
    assert!(loss < 0.02, "{loss}");
}

#[test]
fn gradients_match_differences_classic_degree_3() {
    check(&smooth_scene(12), &settings(Filter2d::Classic, 3));
}

#[test]
fn gradients_match_differences_beyond_the_limits_of_the_jacobian() {
    for (seed, filter) in [(21, MIP), (22, Filter2d::Classic)] {
        let mut scene = random(Options {
            seed,
            count: 120,
            scales: [0.3, 0.8],
            opacities: [0.02, 0.1],
        });
        // A picture of the middle alone: what was at its borders lies far out now.
        scene.view.focal = scene.view.focal.map(|focal| 3.0 * focal);
        let (_, skipped, clamped) = compare(&scene, &settings(filter, 1));
        assert!(
            clamped >= 40 && skipped < clamped,
            "{clamped} compared, {skipped} left out"
        );
    }
}

#[test]
fn gradients_match_differences_where_gaussians_are_left_out() {
    for (seed, filter_2d) in [(31, MIP), (32, Filter2d::Classic)] {
        let scene = random(Options {
            seed,
            count: 75,
            scales: [0.08, 0.5],
            // At most 0.93 with the gain: where pixels are covered to 0.99 the backward pass is another.
            opacities: [0.1, 0.65],
        });
        let dropout = Dropout {
            share: 0.3,
            seed: 3,
            iteration: 8,
        };
        let settings = Settings {
            dropout: Some(dropout),
            ..settings(filter_2d, 1)
        };
        let whole = forward(
            &scene.gaussians,
            &scene.filter_3d,
            &scene.view,
            &Settings {
                dropout: None,
                ..settings
            },
            BACKGROUND,
        );
        let left = forward(&scene.gaussians, &scene.filter_3d, &scene.view, &settings, BACKGROUND);
        let (whole, left) = (whole.visible, left.visible);
        assert!(left.len() < whole.len() && left.iter().all(|v| !dropout.drops(v.id)));
        for some in &left {
            let all = whole.iter().find(|v| v.id == some.id);
            // Fainter ones came into view.
            assert!(all.is_none_or(|all| (some.opacity * 0.7 / all.opacity - 1.0).abs() < 1e-7));
        }
        check(&scene, &settings);
    }
}

/// A camera in the midst of the Gaussians that sees half the sphere, with every term of the lens.
#[test]
fn gradients_match_differences_through_a_fisheye() {
    for (seed, filter_2d) in [(71, MIP), (72, Filter2d::Classic)] {
        let mut scene = random(Options {
            seed,
            count: 90,
            scales: [0.15, 0.5],
            opacities: [0.15, 0.6],
        });
        scene.view.focal = [13.0, 12.5];
        scene.view.lens = Some(Fisheye {
            radial: [0.03, -0.01, 0.002, -0.0005],
            tangential: [2e-3, -1e-3],
            prism: [1e-3, 2e-3],
            reach: 1.5,
        });
        for gaussian in &mut scene.gaussians {
            gaussian.mean[2] -= 3.0;
        }
        let (compared, skipped, _) = compare(&scene, &settings(filter_2d, 1));
        check_compared((compared, skipped, 0), &settings(filter_2d, 1));
    }
}

#[test]
fn classic_gradients_match_differences_with_every_scale() {
    // Smaller and larger than the dilation, and no filter in 3D: what `model.kind: classic` trains.
    let mut scene = random(Options {
        seed: 18,
        count: 50,
        scales: [0.01, 0.4],
        opacities: [0.15, 0.6],
    });
    scene.filter_3d.fill(0.0);
    let (compared, skipped, _) = compare(&scene, &settings(Filter2d::Classic, 1));
    let total: usize = compared.iter().sum();
    assert!(
        compared[..6].iter().all(|n| *n >= 40) && skipped * 50 < total,
        "{compared:?} {skipped}"
    );
}

#[test]
fn gradients_match_differences_lower_degrees() {
    for degree in 0..3 {
        check(&smooth_scene(13 + degree), &settings(MIP, degree));
    }
}

#[test]
fn gradients_match_differences_where_the_3d_filter_dominates() {
    let mut scene = smooth_scene(16);
    scene.filter_3d.fill(0.25);
    check(&scene, &settings(MIP, 1));
}

/// Scenes that use every branch: opaque, needle-thin, huge, tiny and off-screen Gaussians.
fn rough_scene(seed: u32) -> Scene {
    random(Options {
        seed,
        count: 300,
        scales: [0.004, 1.2],
        opacities: [0.002, 0.999],
    })
}

#[test]
fn tight_tiles_leave_the_image_as_it_is() {
    let (mut tight_tiles, mut wide_tiles) = (0, 0);
    for seed in 0..6 {
        let scene = rough_scene(seed);
        let tight = settings(MIP, 3);
        let wide = Settings {
            tight_tiles: false,
            ..tight
        };
        let render = |s: &Settings| forward(&scene.gaussians, &scene.filter_3d, &scene.view, s, BACKGROUND);
        let (a, b) = (render(&tight), render(&wide));
        assert_eq!(a.raster.rgb, b.raster.rgb);
        assert_eq!(a.raster.transmittance, b.raster.transmittance);
        tight_tiles += a.lists.visible.len();
        wide_tiles += b.lists.visible.len();

        let narrow = |v: &f64| *v as f32;
        let gaussians: Vec<Gaussian<f32>> = scene
            .gaussians
            .iter()
            .map(|g| Gaussian::from_values(&g.values().map(|v| v as f32)))
            .collect();
        let filter: Vec<f32> = scene.filter_3d.iter().map(narrow).collect();
        let view = View::new(&crate::scenes::camera());
        let render = |s: &Settings| forward(&gaussians, &filter, &view, s, [0.0; 3]).raster.rgb;
        assert_eq!(render(&tight), render(&wide));
    }
    assert!(
        tight_tiles * 10 < wide_tiles * 9,
        "{tight_tiles} of {wide_tiles} tiles: nothing was culled"
    );
}

#[test]
fn tight_spans_hold_every_covered_pixel_and_little_else() {
    let scene = rough_scene(21);
    let out = forward(
        &scene.gaussians,
        &scene.filter_3d,
        &scene.view,
        &settings(MIP, 3),
        BACKGROUND,
    );
    let (mut counted, mut covered) = (0, 0);
    for v in &out.visible {
        for row in v.rect.min[1]..v.rect.max[1] {
            let [first, end] = tile_span(v, row, &settings(MIP, 3));
            for column in v.rect.min[0]..v.rect.max[0] {
                let touched = (0..TILE * TILE).any(|i| {
                    let pixel = [column * TILE + i % TILE, row * TILE + i / TILE].map(f64::from);
                    coverage(v.mean_px, v.conic, v.opacity, pixel).is_some()
                });
                let inside = (first..end).contains(&column);
                assert!(inside || !touched, "Gaussian {} loses tile {column} {row}", v.id);
                counted += usize::from(inside);
                covered += usize::from(touched);
            }
        }
    }
    assert!(
        covered > 100 && counted < covered + covered / 3,
        "{counted} tiles for {covered}"
    );
}

#[test]
fn image_equals_blending_all_gaussians_in_depth_order() {
    let scene = rough_scene(31);
    let out = forward(
        &scene.gaussians,
        &scene.filter_3d,
        &scene.view,
        &settings(MIP, 2),
        BACKGROUND,
    );
    let mut order: Vec<&Visible<f64>> = out.visible.iter().collect();
    order.sort_by(|a, b| (a.depth as f32).total_cmp(&(b.depth as f32)));
    let [width, height] = scene.view.size_px;
    for y in 0..height {
        for x in 0..width {
            let (mut rgb, mut through) = ([0.0; 3], 1.0);
            for v in &order {
                let tile = [x / TILE, y / TILE];
                if (0..2).any(|i| tile[i] < v.rect.min[i] || tile[i] >= v.rect.max[i]) {
                    continue;
                }
                let d = [v.mean_px[0] - f64::from(x), v.mean_px[1] - f64::from(y)];
                let power = -0.5 * (v.conic[0] * d[0] * d[0] + v.conic[2] * d[1] * d[1]) - v.conic[1] * d[0] * d[1];
                let alpha = (v.opacity * power.exp()).min(0.99);
                if power > 0.0 || alpha < ALPHA_MIN {
                    continue;
                }
                if through * (1.0 - alpha) < TRANSMITTANCE_MIN {
                    break;
                }
                (0..3).for_each(|c| rgb[c] += v.rgb[c] * alpha * through);
                through *= 1.0 - alpha;
            }
            let found = out.raster.rgb[(y * width + x) as usize];
            for c in 0..3 {
                assert!(
                    (found[c] - rgb[c] - through * BACKGROUND[c]).abs() < 1e-12,
                    "pixel {x} {y}"
                );
            }
        }
    }
}

#[test]
fn abs_statistic_bounds_the_gradient_length() {
    let scene = smooth_scene(41);
    let out = step(
        &scene.gaussians,
        &scene.filter_3d,
        &scene.view,
        &settings(MIP, 3),
        BACKGROUND,
        &scene.target,
        Weights::default(),
    );
    for (g, &length) in out.gradients_2d.iter().zip(&out.mean_ndc_norms) {
        assert!(length > 0.0 && g.abs_ndc >= length * (1.0 - 1e-12));
    }
}

#[test]
fn single_precision_agrees_with_double() {
    let scene = smooth_scene(51);
    let narrow = |v: f64| v as f32;
    let gaussians: Vec<Gaussian<f32>> = scene
        .gaussians
        .iter()
        .map(|g| Gaussian::from_values(&g.values().map(narrow)))
        .collect();
    let filter: Vec<f32> = scene.filter_3d.iter().map(|&v| v as f32).collect();
    let target: Vec<[f32; 3]> = scene.target.iter().map(|p| p.map(narrow)).collect();
    let settings = settings(MIP, 3);
    let view = View::new(&crate::scenes::camera());
    let weights = Weights::default();
    let low = step(
        &gaussians,
        &filter,
        &view,
        &settings,
        BACKGROUND.map(narrow),
        &target,
        weights,
    );
    let high = step(
        &scene.gaussians,
        &scene.filter_3d,
        &scene.view,
        &settings,
        BACKGROUND,
        &scene.target,
        weights,
    );
    assert!((f64::from(low.loss.total) - high.loss.total).abs() < 1e-6);
    let (mut difference, mut size) = (0.0, 0.0);
    for (a, b) in low.gradients.iter().zip(&high.gradients) {
        for (a, b) in a.values().iter().zip(b.values()) {
            difference += (f64::from(*a) - b).abs();
            size += b.abs();
        }
    }
    assert!(difference < 1e-3 * size, "{difference} of {size}");
}

#[test]
fn nothing_visible_leaves_the_background() {
    let mut scene = smooth_scene(61);
    for g in &mut scene.gaussians {
        g.logit_opacity = -30.0;
    }
    let out = step(
        &scene.gaussians,
        &scene.filter_3d,
        &scene.view,
        &settings(MIP, 3),
        BACKGROUND,
        &scene.target,
        Weights::default(),
    );
    assert!(out.forward.visible.is_empty() && out.forward.raster.rgb.iter().all(|&p| p == BACKGROUND));
    assert!(out.gradients.iter().all(|g| *g == Gaussian::ZERO));
}
