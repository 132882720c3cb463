//! The loss of points' depth on the device against its CPU twin.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use kiln::gaussians::layout;
use kiln::kernels::counters::Counters;
use kiln::kernels::cpu::depth_loss::{Point, depth_loss, sample, tile};
use kiln::kernels::cpu::gaussian::View;
use kiln::kernels::cpu::project_backward::project_backward;
use kiln::kernels::cpu::rasterize::TileLists;
use kiln::kernels::cpu::rasterize_backward::Gradient2d;
use kiln::kernels::cpu::rng::uniform;
use kiln::kernels::uniforms::StepUniforms;
use kiln::kernels::views::Reduction;
use kiln::step::{Capacities, ExtraLosses};
use kiln_tests::banded::{self, Run};
use kiln_tests::compare::close;
use kiln_tests::gpu::{Gpu, assert_valid, open, variants};
use kiln_tests::scenes::Scene;
use kiln_tests::stages::{Stages, staged};
use kiln_tests::twin::{Twin, uniforms};

const WEIGHT: f32 = 0.4;
/// Points of the second view; the first and the third have none.
const POINTS: u32 = 150;

/// Lists longer than a group of lanes takes at once.
fn scene(size: [u32; 2]) -> Scene {
    Scene {
        seed: 41,
        count: 1200,
        size,
        ..Scene::default()
    }
}

/// Points all over the image and at every depth of the model; every 10th behind the camera, beside the image or too near.
fn points(scene: &Scene) -> Vec<Point<f32>> {
    let camera = scene.camera();
    let draw = |i: u32, channel: u32| uniform::<f32>(scene.seed, 77, i, channel);
    (0..POINTS)
        .map(|i| {
            let z = match i % 30 {
                0 => -3.0,
                10 => 0.1,
                _ => 2.0 + 4.0 * draw(i, 2),
            };
            let beside = if i % 30 == 20 { 3.0 } else { 0.0 };
            let x = (draw(i, 0) + beside) * scene.size[0] as f32 - camera.cx;
            let y = draw(i, 1) * scene.size[1] as f32 - camera.cy;
            let at = [x / camera.fx * z, y / camera.fy * z, z];
            let from: [f32; 3] = std::array::from_fn(|row| at[row] - camera.translation[row]);
            Point {
                position: std::array::from_fn(|axis| (0..3).map(|row| camera.rotation[row][axis] * from[row]).sum()),
                weight: (0.2 + draw(i, 3)) / POINTS as f32,
            }
        })
        .collect()
}

/// Capacities for three views, and the tensors of their points filled.
fn device(scene: &Scene, reduction: Reduction, points: &[Point<f32>]) -> Gpu {
    let size = (scene.size[0], scene.size[1]);
    let mut c = Capacities::new(scene.count, scene.count, 20 * scene.count, scene.sh_degree, [size]);
    c.chunk = 512;
    c.cameras = 3;
    c.losses = ExtraLosses {
        depth_in_view: POINTS,
        depth_points: POINTS,
        ..ExtraLosses::default()
    };
    let mut gpu = staged(&c, &variants(reduction));
    let depths = gpu.tensors.extra.depths.expect("asked for");
    let table: [[u32; 2]; 3] = [[0, 0], [0, POINTS], [POINTS, 0]];
    gpu.device.write(&depths.views, &table).expect("upload");
    let list: Vec<[f32; 4]> = points
        .iter()
        .map(|p| [p.position[0], p.position[1], p.position[2], p.weight])
        .collect();
    gpu.device.write(&depths.points, &list).expect("upload");
    gpu
}

/// Uniforms without a loss of colours, so that all there is comes from points.
fn of_view(scene: &Scene, view: u32) -> StepUniforms {
    let mut u = uniforms(&scene.camera(), scene.sh_degree, 1);
    (u.weights[0], u.weights[1]) = (0.0, 0.0);
    (u.depth_weight, u.view) = (WEIGHT, view);
    u
}

fn fine(status: &Counters) {
    assert_eq!((status.stalled, status.nonfinite), (0, 0), "{status:?}");
}

/// Every way of adding up gradients: the loss, what the records get, and what becomes of it in the model.
#[test]
fn points_pull_splats() {
    for (reduction, size) in [
        (Reduction::Segmented, [64, 48]),
        (Reduction::Segmented, [37, 51]),
        (Reduction::Atomic, [37, 51]),
        (Reduction::CompareExchange, [64, 48]),
    ] {
        let scene = scene(size);
        let (model, camera, points) = (scene.model(), scene.camera(), points(&scene));
        let mut gpu = device(&scene, reduction, &points);
        gpu.load(&model);
        let status = gpu.run(0, &of_view(&scene, 1), &scene.target());
        fine(&status);
        let stages = Stages::read(&mut gpu, &status, &camera);
        let (tiles, splats) = stages.sorted.clone();
        assert_eq!(tiles.len(), splats.len());
        let lists = TileLists {
            ranges: stages.ranges.clone(),
            visible: splats,
        };
        assert!(lists.ranges.iter().any(|[from, to]| to - from > 64), "a long list");

        let view = View::new(&camera);
        let samples: Vec<_> = points.iter().filter_map(|p| sample(&view, p.position)).collect();
        assert_eq!(samples.len() as u32, POINTS / 10 * 9, "points in view");
        let mut in_tile = vec![0; lists.ranges.len()];
        for sample in &samples {
            in_tile[tile(&view, sample) as usize] += 1;
        }
        assert!(
            in_tile.iter().any(|n| *n > 3),
            "a tile with several points: {in_tile:?}"
        );
        let mut wanted = vec![Gradient2d::ZERO; stages.visible.len()];
        let loss = depth_loss(&view, &stages.visible, &lists, &points, WEIGHT, &mut wanted);
        assert!(
            loss > 0.01 && (status.loss - loss).abs() < 1e-5 * loss,
            "{} {loss}",
            status.loss
        );

        let flat = |list: &[Gradient2d<f32>], value: fn(&Gradient2d<f32>) -> [f32; 4]| -> Vec<f32> {
            list.iter().flat_map(value).collect()
        };
        let compare = |what: &str, value: fn(&Gradient2d<f32>) -> [f32; 4]| {
            let what = format!("{what}, {reduction:?}");
            close(
                &what,
                &flat(&stages.gradients_2d, value),
                &flat(&wanted, value),
                1e-6,
                1e-4,
            );
        };
        compare("centre and opacity", |g| [g.mean_px[0], g.mean_px[1], g.opacity, 0.0]);
        compare("conic", |g| [g.conic[0], g.conic[1], g.conic[2], 0.0]);
        compare("depth", |g| [g.depth, 0.0, 0.0, 0.0]);
        let touched = wanted.iter().filter(|g| g.depth != 0.0).count();
        assert!(touched > 300, "only {touched} splats have a point");

        // First moments are a tenth of the gradient after one step.
        let twin = Twin::new(&model);
        let mut means = vec![[0.0; 3]; model.len()];
        for (record, g) in stages.visible.iter().zip(&stages.gradients_2d) {
            let id = record.id as usize;
            let (gaussian, filter) = (&twin.gaussians[id], twin.filter_3d[id]);
            let chain = project_backward(gaussian, filter, &view, &twin.settings, record, g);
            means[id] = chain.expect("visible").gradient.mean.map(|v| 0.1 * v);
        }
        let found = gpu.planes(|c| c.geometry_m, layout::GEOMETRY_PLANES, model.len());
        let found: Vec<f32> = found.iter().flat_map(|m| [m[0], m[1], m[2]]).collect();
        close("moments of the centres", &found, means.as_flattened(), 1e-7, 1e-3);
        gpu.assert_valid();
    }
}

/// A view without points, and a weight of zero, leave every byte as it is without the loss.
#[test]
fn no_points_no_change() {
    let scene = scene([64, 48]);
    let (model, target, points) = (scene.model(), scene.target(), points(&scene));
    let mut plain = uniforms(&scene.camera(), scene.sh_degree, 1);
    let mut without = {
        let size = (scene.size[0], scene.size[1]);
        let mut c = Capacities::new(scene.count, scene.count, 20 * scene.count, scene.sh_degree, [size]);
        (c.chunk, c.cameras) = (512, 3);
        Gpu::training(&c, &variants(Reduction::Segmented))
    };
    assert!(without.tensors.extra.depths.is_none());
    without.load(&model);
    let status = without.run(0, &plain, &target);
    fine(&status);
    let wanted = (status.loss.to_bits(), without.state_bytes(model.len()));
    drop(without);
    let mut gpu = device(&scene, Reduction::Segmented, &points);
    for (view, weight) in [(0, WEIGHT), (2, WEIGHT), (1, 0.0)] {
        (plain.view, plain.depth_weight) = (view, weight);
        gpu.load(&model);
        let status = gpu.run(0, &plain, &target);
        fine(&status);
        let found = (status.loss.to_bits(), gpu.state_bytes(model.len()));
        assert!(found == wanted, "view {view}, weight {weight}");
    }
    plain.depth_weight = WEIGHT;
    gpu.load(&model);
    let status = gpu.run(0, &plain, &target);
    assert!(status.loss > f32::from_bits(wanted.0) && gpu.state_bytes(model.len()) != wanted.1);
    gpu.assert_valid();
}

/// Steps in bands of tiles, with all records or with few, end with the bytes of whole steps; the other ways of adding up
/// agree but for rounding.
#[test]
fn bands_change_nothing() {
    let device = open();
    let run = |reduction: Reduction, settings: &[(&str, &str)], steps: u32| {
        let losses = "[{ kind: l1 }, { kind: dssim }, { kind: depth, weight: 1, weight_end: 0.5 }]";
        let profile = banded::profile(&[&[("losses", losses)], settings].concat());
        let scene = banded::scene();
        let mut trainer = banded::trainer(&device, &profile, reduction, &scene.model());
        Run::new(&mut trainer, steps, |i| banded::camera(&scene, i), false)
    };
    let whole = run(Reduction::Segmented, &[], 5);
    assert_eq!(whole.banded, 0);
    let plain = {
        let mut trainer = banded::trainer(
            &device,
            &banded::profile(&[]),
            Reduction::Segmented,
            &banded::scene().model(),
        );
        Run::new(&mut trainer, 5, |i| banded::camera(&banded::scene(), i), false)
    };
    assert!(
        whole.statuses[0].counters.loss > plain.statuses[0].counters.loss + 0.01,
        "the points count"
    );
    for way in [
        [("debug.bands", "7")].as_slice(),
        &[("debug.bands", "60")],
        &[("debug.i_cap", "1000")],
        &[("debug.v_cap", "250")],
        &[("debug.v_cap", "250"), ("debug.bands", "23")],
    ] {
        let banded = run(Reduction::Segmented, way, 5);
        assert_eq!(banded.banded, 5, "{way:?}");
        banded.assert_same(&whole, &format!("{way:?}"));
    }
    for reduction in [Reduction::Atomic, Reduction::CompareExchange] {
        let ways = [[].as_slice(), &[("debug.bands", "7")], &[("debug.v_cap", "250")]];
        let [one, bands, records] = ways.map(|way| run(reduction, way, 1));
        for other in [&one, &bands, &records] {
            let (a, b) = (other.statuses[0].counters.loss, whole.statuses[0].counters.loss);
            assert!((a - b).abs() < 1e-5 * b, "{reduction:?}: {a} {b}");
            let (a, b) = (&other.model.logit_opacities, &one.model.logit_opacities);
            close("opacities after a step", a, b, 1e-3, 1e-3);
            let (a, b) = (other.image.as_flattened(), one.image.as_flattened());
            close("image after a step", a, b, 1e-3, 1e-3);
        }
    }
    assert_valid(&device);
}
