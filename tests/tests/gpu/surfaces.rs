//! Steps that train the planes of Gaussians, against the twins: gradients of blended planes, and what the update makes of them.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use kiln::step::Capacities;
use kiln_kernels::views::{Loops, Reduction, Threads, Variants};
use kiln_tests::child;
use kiln_tests::gpu::{Gpu, open};
use kiln_tests::scenes::Scene;
use kiln_tests::stages::{Stages, staged, staged_surfaces};
use kiln_tests::twin::{Twin, uniforms};

/// Every way of adding up gradients, and every way in which a rasteriser shares a tile.
const ALL: [Variants; 7] = [
    variants(Reduction::Segmented, Threads::Columns),
    variants(Reduction::Segmented, Threads::Pixels),
    variants(Reduction::Segmented, Threads::Lanes),
    variants(Reduction::Atomic, Threads::Pixels),
    variants(Reduction::Atomic, Threads::Columns),
    variants(Reduction::CompareExchange, Threads::Pixels),
    variants(Reduction::CompareExchange, Threads::Columns),
];

/// Weight of the least standard deviations, whose gradients are then of the size of those by colours.
const FLAT: f32 = 0.1;

const fn variants(reduction: Reduction, threads: Threads) -> Variants {
    Variants {
        reduction,
        sort_subgroup: 0,
        threads,
        loops: Loops::Long,
    }
}

fn capacities(scene: &Scene, chunk: u32) -> Capacities {
    let size = (scene.size[0], scene.size[1]);
    let tiles = scene.size[0].div_ceil(16) * scene.size[1].div_ceil(16);
    let most = scene.count * tiles.min(150);
    let mut c = Capacities::new(scene.count, scene.count, most, scene.sh_degree, [size]);
    c.chunk = chunk;
    c
}

/// One step in every variant of `list`, stage by stage; how many Gaussians were visible.
fn check(scene: &Scene, list: &[Variants]) -> usize {
    let (model, camera, target) = (scene.model(), scene.camera(), scene.target());
    let mut before = Twin::new(&model);
    before.flat = FLAT;
    let mut u = uniforms(&camera, scene.sh_degree, 1);
    u.flat_weight = FLAT;
    let lanes = open().caps().subgroup_size;
    let mut visible = 0;
    for variants in list.iter().filter(|v| v.threads != Threads::Lanes || lanes == 8) {
        // Seen where the check fails.
        println!("{variants:?}");
        let (mut gpu, given) = staged_surfaces(&capacities(scene, 512), variants);
        gpu.load(&model);
        gpu.device.write(&given[0], &scene.by_plane()).expect("upload");
        gpu.device.write(&given[1], &scene.by_coverage()).expect("upload");
        let status = gpu.run(1, &u, &target);
        assert_eq!(
            (status.stalled, status.nonfinite, status.skipped),
            (0, 0, 0),
            "{status:?}"
        );
        let stages = Stages::read(&mut gpu, &status, &camera);
        stages.check(&before, &camera, &target, &status);
        stages.check_update(&mut gpu, &before, &camera);
        gpu.assert_valid();
        visible = stages.visible.len();
    }
    visible
}

/// A regularizer of its own, from the first step on: it asks for no planes.
#[test]
fn flat_without_planes() {
    let scene = Scene::default();
    let (model, camera, target) = (scene.model(), scene.camera(), scene.target());
    let mut before = Twin::new(&model);
    before.flat = FLAT;
    let mut u = uniforms(&camera, scene.sh_degree, 1);
    u.flat_weight = FLAT;
    let mut gpu = staged(&capacities(&scene, 256), &ALL[0]);
    gpu.load(&model);
    let status = gpu.run(1, &u, &target);
    let stages = Stages::read(&mut gpu, &status, &camera);
    assert!(stages.visible.len() > 200 && stages.visible.len() < model.len());
    stages.check_update(&mut gpu, &before, &camera);
    gpu.assert_valid();
}

#[test]
fn planes_in_all_variants() {
    assert!(check(&Scene::default(), &ALL) > 200);
}

#[test]
fn flat_gaussians_and_sides_that_are_no_multiple_of_a_tile() {
    let scene = Scene {
        seed: 21,
        size: [70, 33],
        count: 500,
        scales: [0.004, 0.5],
        ..Scene::default()
    };
    assert!(check(&scene, &ALL) > 300);
}

/// More splats in a tile than are staged at once, and blending stops early.
#[test]
fn all_gaussians_in_one_tile() {
    let scene = Scene {
        seed: 22,
        count: 900,
        size: [48, 32],
        shift: [0.0, -8.0],
        scales: [0.005, 0.05],
        opacities: [0.3, 0.99],
        spread: [0.2, 0.2, 1.0],
        ..Scene::default()
    };
    check(&scene, &ALL);
}

#[test]
fn every_subgroup_width() {
    if child::role().is_some() {
        let sort_subgroup = open().caps().subgroup_size;
        let list = [ALL[0], ALL[2], ALL[3], ALL[5]].map(|v| Variants { sort_subgroup, ..v });
        let scene = Scene {
            seed: 23,
            size: [50, 40],
            ..Scene::default()
        };
        check(&scene, &list);
        return;
    }
    for width in ["128", "256", "512"] {
        child::run_with_vectors(module_path!(), "every_subgroup_width", width, width);
    }
}

/// The bytes of the model after three steps.
fn trained(c: &Capacities, scene: &Scene, variants: &Variants) -> Vec<u8> {
    let (mut gpu, given) = Gpu::of_surfaces(c, variants, |_| Vec::new());
    gpu.load(&scene.model());
    gpu.device.write(&given[0], &scene.by_plane()).expect("upload");
    gpu.device.write(&given[1], &scene.by_coverage()).expect("upload");
    for iteration in 1..=3 {
        let mut camera = scene.camera();
        camera.translation[0] += 0.2 * iteration as f32;
        let mut u = uniforms(&camera, scene.sh_degree, iteration);
        u.flat_weight = FLAT;
        let status = gpu.run(iteration % 2, &u, &scene.target());
        assert_eq!((status.stalled, status.nonfinite), (0, 0), "{status:?}");
    }
    gpu.assert_valid();
    gpu.state_bytes(scene.count as usize)
}

/// With the reduction that promises it: again, in chunks, and in swaths of images that are larger than a binding.
#[test]
fn equal_steps_leave_equal_bytes() {
    let scene = Scene {
        seed: 24,
        size: [70, 120],
        count: 700,
        ..Scene::default()
    };
    for variants in &ALL[..2] {
        let whole = trained(&capacities(&scene, 1024), &scene, variants);
        for (chunk, binding) in [(1024, u64::MAX), (256, u64::MAX), (1024, 60_000)] {
            let mut c = capacities(&scene, chunk);
            c.binding_bytes = binding;
            let found = trained(&c, &scene, variants);
            assert!(found == whole, "{variants:?}, chunks of {chunk}, bindings of {binding}");
        }
    }
}
