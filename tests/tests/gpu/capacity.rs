//! A step that cannot be done, or must not be, changes nothing: capacities, and values that are no numbers.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use kiln::step::Capacities;
use kiln_gaussians::Gaussians;
use kiln_kernels::counters::{Counters, Stall};
use kiln_kernels::views::Reduction;
use kiln_tests::compare::same;
use kiln_tests::gpu::{Gpu, variants};
use kiln_tests::scenes::Scene;
use kiln_tests::stages::{Stages, staged};
use kiln_tests::twin::{Twin, uniforms};

const REDUCTIONS: [Reduction; 3] = [Reduction::Segmented, Reduction::Atomic, Reduction::CompareExchange];

fn capacities(scene: &Scene) -> Capacities {
    let mut c = Capacities::new(
        scene.count,
        scene.count,
        20 * scene.count,
        3,
        [(scene.size[0], scene.size[1])],
    );
    c.chunk = 256;
    c
}

fn step(gpu: &mut Gpu, scene: &Scene, iteration: u32) -> Counters {
    gpu.run(iteration % 3, &uniforms(&scene.camera(), 3, iteration), &scene.target())
}

/// Runs two good steps, makes the capacity too small by `shrink`, and expects two steps that do nothing.
fn overflow(shrink: impl Fn(&mut Capacities, &Counters), reason: Stall) {
    let scene = Scene::default();
    for reduction in REDUCTIONS {
        let mut enough = Gpu::training(&capacities(&scene), &variants(reduction));
        enough.load(&scene.model());
        let wanted = step(&mut enough, &scene, 1);
        assert_eq!(wanted.stall(), None);

        let mut small = capacities(&scene);
        shrink(&mut small, &wanted);
        let mut gpu = Gpu::training(&small, &variants(reduction));
        gpu.load(&scene.model());
        let before = gpu.state_bytes(scene.count as usize);
        let status = step(&mut gpu, &scene, 5);
        assert_eq!(
            (status.stall(), status.stall_iteration),
            (Some(reason), 5),
            "{status:?}"
        );
        assert_eq!(status.visible_wanted, wanted.visible);
        if reason == Stall::Intersections {
            assert_eq!(status.intersections_wanted, wanted.intersections);
        }
        same("state after a stall", &gpu.state_bytes(scene.count as usize), &before);
        // Sticky: the next step keeps the reason and the iteration of the first.
        let again = step(&mut gpu, &scene, 6);
        assert_eq!((again.stall(), again.stall_iteration), (Some(reason), 5));
        same("state after the next", &gpu.state_bytes(scene.count as usize), &before);
        gpu.assert_valid();
    }
}

/// Some drivers end a loop after so many turns, without a word. A step with a tile as long as that misses nothing, or it
/// changes nothing and says why.
#[test]
fn a_tile_too_long_for_the_driver() {
    let scene = Scene {
        seed: 12,
        count: 40_000,
        size: [16, 16],
        scales: [0.004, 0.01],
        opacities: [0.3, 0.95],
        spread: [0.4, 0.4, 1.0],
        ..Scene::default()
    };
    let (camera, target) = (scene.camera(), scene.target());
    for reduction in REDUCTIONS {
        let mut gpu = staged(&capacities(&scene), &variants(reduction));
        gpu.load(&scene.model());
        let before = gpu.state_bytes(scene.count as usize);
        let status = step(&mut gpu, &scene, 1);
        assert!(status.visible > 20_000, "{status:?}");
        if status.stall() == Some(Stall::Loops) {
            assert_eq!(status.stall_iteration, 1);
            same("state after a stall", &gpu.state_bytes(scene.count as usize), &before);
        } else {
            assert_eq!(status.stall(), None);
            let stages = Stages::read(&mut gpu, &status, &camera);
            stages.check(&Twin::new(&scene.model()), &camera, &target, &status);
        }
        gpu.assert_valid();
    }
}

#[test]
fn too_many_visible() {
    overflow(|c, wanted| c.v_cap = wanted.visible - 1, Stall::Visible);
}

#[test]
fn too_many_intersections() {
    overflow(|c, wanted| c.i_cap = wanted.intersections - 1, Stall::Intersections);
}

#[test]
fn exactly_enough() {
    let scene = Scene::default();
    for reduction in REDUCTIONS {
        let mut gpu = Gpu::training(&capacities(&scene), &variants(reduction));
        gpu.load(&scene.model());
        let wanted = step(&mut gpu, &scene, 1);
        let mut tight = capacities(&scene);
        (tight.v_cap, tight.i_cap) = (wanted.visible, wanted.intersections);
        let mut gpu = Gpu::training(&tight, &variants(reduction));
        gpu.load(&scene.model());
        let status = step(&mut gpu, &scene, 1);
        assert_eq!((status.stall(), status.visible), (None, wanted.visible));
        assert_eq!(status.loss, wanted.loss);
        gpu.assert_valid();
    }
}

/// Gaussians that are spoilt in [`broken_parameters_stay_alone`].
const SPOILT: [usize; 8] = [7, 20, 33, 46, 59, 72, 85, 98];

#[test]
fn broken_parameters_stay_alone() {
    let scene = Scene::default();
    let spoil: [fn(&mut Gaussians, usize); 8] = [
        |m, i| m.means[i][1] = f32::NAN,
        |m, i| m.log_scales[i][2] = f32::NAN,
        |m, i| m.quats[i][0] = f32::NAN,
        |m, i| m.logit_opacities[i] = f32::NAN,
        |m, i| m.means[i][0] = f32::INFINITY,
        |m, i| m.log_scales[i][0] = f32::INFINITY,
        |m, i| m.quats[i] = [0.0; 4],
        |m, i| m.quats[i][3] = f32::NEG_INFINITY,
    ];
    let (mut broken, mut hidden) = (scene.model(), scene.model());
    for (i, spoil) in SPOILT.into_iter().zip(spoil) {
        spoil(&mut broken, i);
        hidden.means[i] = [0.0, 0.0, -90.0];
    }
    let run = |model: &Gaussians| {
        let mut gpu = Gpu::training(&capacities(&scene), &variants(Reduction::Segmented));
        gpu.load(model);
        let status = [1, 2, 3].map(|i| step(&mut gpu, &scene, i))[2];
        gpu.assert_valid();
        (status, gpu.values(|c| c.geometry, |c| c.sh, model.len()))
    };
    let ((status, found), (_, wanted)) = (run(&broken), run(&hidden));
    assert_eq!((status.stall(), status.skipped), (None, 0), "{status:?}");
    for (i, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
        if !SPOILT.contains(&i) {
            same(&format!("Gaussian {i}"), found, wanted);
        }
    }
}

#[test]
fn broken_colours_stall() {
    let scene = Scene::default();
    for (reduction, value) in REDUCTIONS.into_iter().flat_map(|r| [(r, f32::NAN), (r, f32::INFINITY)]) {
        let mut gpu = Gpu::training(&capacities(&scene), &variants(reduction));
        let mut model = scene.model();
        for colour in &mut model.sh0 {
            colour[0] = value;
        }
        gpu.load(&model);
        let before = gpu.state_bytes(model.len());
        let status = step(&mut gpu, &scene, 1);
        assert_eq!(
            (status.stall(), status.stall_iteration),
            (Some(Stall::NonFinite), 1),
            "{status:?}"
        );
        assert!(
            status.nonfinite > 0 && status.nonfinite_index < status.visible,
            "{status:?}"
        );
        same("state", &gpu.state_bytes(model.len()), &before);
        gpu.assert_valid();
    }
}

#[test]
fn overflow_inside_the_update_skips_one_gaussian() {
    let scene = Scene::default();
    let mut gpu = Gpu::training(&capacities(&scene), &variants(Reduction::Segmented));
    let mut model = scene.model();
    let mut calm = Gpu::training(&capacities(&scene), &variants(Reduction::Segmented));
    calm.load(&model);
    // A loss a million times as steep: finite everywhere except through a quaternion of length 1e-19.
    let mut u = uniforms(&scene.camera(), 3, 1);
    u.weights[0] = 1e6;
    assert_eq!(calm.run(0, &u, &scene.target()).skipped, 0);
    let moved = calm.values(|c| c.geometry_m, |c| c.sh_m, model.len());
    let victim = moved
        .iter()
        .position(|v| v[3..7].iter().any(|q| q.abs() > 1.0))
        .expect("a steep one");
    let q = model.quats[victim];
    let length = q.iter().map(|v| v * v).sum::<f32>().sqrt();
    model.quats[victim] = q.map(|v| v / length * 1.2e-19);
    gpu.load(&model);
    let before = gpu.values(|c| c.geometry, |c| c.sh, model.len());
    let status = gpu.run(0, &u, &scene.target());
    assert_eq!((status.stall(), status.skipped), (None, 1), "{status:?}");
    let after = gpu.values(|c| c.geometry, |c| c.sh, model.len());
    let first = gpu.values(|c| c.geometry_m, |c| c.sh_m, model.len());
    same("the skipped one", &after[victim], &before[victim]);
    assert!(first[victim].iter().all(|m| *m == 0.0));
    assert!(after.iter().flatten().all(|v| v.is_finite()));
    assert!((0..model.len()).filter(|i| after[*i] != before[*i]).count() > 200);
    gpu.assert_valid();
}
