//! Tiles of more splats than a CPU driver's loops have turns: kernels with unrolled loops make of them what the others make of the
//! same tile without the splats that show in no pixel.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use kiln::step::Capacities;
use kiln_gaussians::Gaussians;
use kiln_gpu::vk::DeviceKind;
use kiln_kernels::counters::Stall;
use kiln_kernels::views::{Loops, Reduction, Threads, Variants};
use kiln_scene::Camera;
use kiln_tests::compare::same;
use kiln_tests::gpu::{Gpu, open};
use kiln_tests::scenes::Scene;
use kiln_tests::twin::uniforms;

/// Splats of the tile that show in no pixel: several times the 65 535 turns that loops may take.
const HIDDEN: u32 = 300_000;

/// What is seen at the pixel coordinates `at` in depth `z`.
pub(super) fn point(camera: &Camera, at: [f32; 2], z: f32) -> [f32; 3] {
    let seen = [
        (at[0] - camera.cx) / camera.fx * z - camera.translation[0],
        (at[1] - camera.cy) / camera.fy * z - camera.translation[1],
        z - camera.translation[2],
    ];
    [0, 1, 2].map(|axis| (0..3).map(|row| camera.rotation[row][axis] * seen[row]).sum())
}

/// Depth of the hidden splat number `i`: most lie in front of all others, some behind.
pub(super) fn depth(i: u32) -> f32 {
    let within = (i / 8) as f32 / HIDDEN as f32;
    if i.is_multiple_of(8) {
        9.0 + within
    } else {
        1.0 + within
    }
}

/// One tile, of which the image has a quarter.
fn scene() -> Scene {
    Scene {
        count: 60,
        size: [8, 8],
        opacities: [0.05, 0.15],
        spread: [0.3, 0.3, 1.5],
        filter_3d: 0.0,
        ..Scene::default()
    }
}

/// The model with splats in the part of the tile that the image does not have.
fn crowded(scene: &Scene) -> Gaussians {
    let mut model = scene.model();
    let camera = scene.camera();
    let rest = model.sh_rest.len() / model.means.len();
    for i in 0..HIDDEN {
        model.means.push(point(&camera, [13.0, 13.0], depth(i)));
        model.quats.push([1.0, 0.0, 0.0, 0.0]);
        model.log_scales.push([(0.008 * depth(i)).ln(); 3]);
        model.logit_opacities.push(0.0);
        model.sh0.push([0.5; 3]);
        model.filter_3d.push(0.0);
    }
    model.sh_rest.resize(rest * model.means.len(), 0.0);
    model
}

fn capacities(n: u32, scene: &Scene) -> Capacities {
    Capacities::new(n, n, n, scene.sh_degree, [(scene.size[0], scene.size[1])])
}

fn training(scene: &Scene, capacities: &Capacities, variants: &Variants, surface: bool) -> Gpu {
    if !surface {
        return Gpu::training(capacities, variants);
    }
    let (mut gpu, given) = Gpu::of_surfaces(capacities, variants, |_| Vec::new());
    gpu.device.write(&given[0], &scene.by_plane()).expect("upload");
    gpu.device.write(&given[1], &scene.by_coverage()).expect("upload");
    gpu
}

/// A step: its stall, its loss, and the words of the Gaussians that show.
fn step(model: &Gaussians, variants: &Variants, surface: bool) -> (Option<Stall>, u32, Vec<u32>) {
    let scene = scene();
    let capacities = capacities(model.means.len() as u32, &scene);
    let mut gpu = training(&scene, &capacities, variants, surface);
    gpu.load(model);
    let status = gpu.run(1, &uniforms(&scene.camera(), 3, 1), &scene.target());
    assert!(status.visible as usize >= model.means.len() - 10, "{status:?}");
    assert_eq!(status.intersections, status.visible, "{status:?}");
    gpu.assert_valid();
    let values = gpu.values(|c| c.geometry, |c| c.sh, scene.count as usize);
    let words = values.into_iter().flatten().map(f32::to_bits).collect();
    (status.stall(), status.loss.to_bits(), words)
}

/// The kernels that may go through lists with unrolled loops, and whether planes are blended.
fn kernels() -> impl Iterator<Item = (Threads, bool)> {
    let list = [
        (Threads::Columns, false),
        (Threads::Columns, true),
        (Threads::Lanes, false),
    ];
    let lanes = open().caps().subgroup_size;
    list.into_iter()
        .filter(move |(t, _)| *t != Threads::Lanes || lanes == 8)
}

fn variants(threads: Threads, loops: Loops) -> Variants {
    Variants {
        reduction: Reduction::Segmented,
        sort_subgroup: 0,
        threads,
        loops,
    }
}

#[test]
fn hundreds_of_thousands_of_splats_in_a_tile() {
    let (small, full) = (scene().model(), crowded(&scene()));
    let cut = (open().caps().kind == DeviceKind::Cpu).then_some(Stall::Loops);
    for (threads, surface) in kernels() {
        let what = format!("{threads:?}, surface: {surface}");
        let wanted = step(&small, &variants(threads, Loops::Cut), surface);
        assert_eq!(wanted.0, None, "{what}");
        assert_eq!(step(&full, &variants(threads, Loops::Cut), surface).0, cut, "{what}");
        let found = step(&full, &variants(threads, Loops::Unrolled), surface);
        assert_eq!((found.0, found.1), (None, wanted.1), "{what}");
        same(&what, &found.2, &wanted.2);
    }
}

#[test]
fn unrolled_loops_give_the_same_bytes() {
    let scene = Scene::default();
    let n = scene.count as usize;
    for (threads, surface) in kernels() {
        let [whole, unrolled] = [Loops::Long, Loops::Unrolled].map(|loops| {
            let mut capacities = capacities(scene.count, &scene);
            capacities.i_cap = 20 * scene.count;
            let mut gpu = training(&scene, &capacities, &variants(threads, loops), surface);
            gpu.load(&scene.model());
            for iteration in 1..4 {
                let u = uniforms(&scene.camera(), 3, iteration);
                assert_eq!(gpu.run(iteration % 3, &u, &scene.target()).stall(), None);
            }
            gpu.assert_valid();
            gpu.state_bytes(n)
        });
        same(&format!("{threads:?}, surface: {surface}"), &unrolled, &whole);
    }
}
