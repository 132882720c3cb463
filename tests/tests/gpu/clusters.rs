//! Bounds of groups of 256 Gaussians on the device: they are what the CPU reference says, whatever changed the model, and culling
//! by them gives the masks of looking at Gaussians one by one.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use kiln::gaussians::Gaussians;
use kiln::gaussians::morton::Frame;
use kiln::kernels::counters::Counters;
use kiln::kernels::uniforms::{StepUniforms, flags};
use kiln::kernels::views::Reduction;
use kiln::kernels::{cull, prepare_args};
use kiln::math::rotation;
use kiln::program::Program;
use kiln::scene::Camera;
use kiln::step::{Capacities, StepTensors, clusters_program};
use kiln::twins::clusters::Cluster;
use kiln::twins::gaussian::Gaussian;
use kiln::twins::rng::{normal, uniform};
use kiln_tests::compare::same;
use kiln_tests::gpu::{Gpu, variants};
use kiln_tests::scenes::Scene;
use kiln_tests::twin::uniforms;

const GROUP: usize = 256;

fn capacities(scene: &Scene, chunk: u32, clusters: bool) -> Capacities {
    let n = scene.count.next_multiple_of(256);
    let mut c = Capacities::new(n, n, 20 * n, scene.sh_degree, [(scene.size[0], scene.size[1])]);
    (c.chunk, c.clusters) = (chunk, clusters);
    c
}

/// What the device knows of each group.
fn table(gpu: &mut Gpu, count: usize) -> Vec<Cluster> {
    let mut all = Vec::new();
    for chunk in gpu.tensors.chunks.clone() {
        let words: Vec<u32> = gpu.read(chunk.visible_mask, chunk.stride as usize / 16);
        let bounds = &words[words.len() / 2..];
        all.extend(bounds.chunks_exact(8).map(Cluster::from_words));
    }
    all.truncate(count.div_ceil(GROUP));
    all
}

fn wanted(model: &Gaussians) -> Vec<Cluster> {
    let gaussians = Gaussian::<f32>::from_model(model);
    let groups = gaussians.chunks(GROUP).zip(model.filter_3d.chunks(GROUP));
    groups
        .map(|(gaussians, filter)| Cluster::of(gaussians, filter))
        .collect()
}

/// Boxes to the bit, deviations as exactly as exponentials are.
fn assert_bounds(found: &[Cluster], wanted: &[Cluster]) {
    assert_eq!(found.len(), wanted.len());
    for (group, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        assert_eq!((found.low, found.high), (wanted.low, wanted.high), "group {group}");
        let off = (found.deviation - wanted.deviation).abs();
        assert!(off <= 1e-5 * wanted.deviation, "group {group}: {found:?}, {wanted:?}");
    }
}

fn bound(gpu: &mut Gpu) {
    let program = clusters_program(&gpu.tensors).expect("clusters");
    gpu.device.run(&program).expect("bounds");
}

#[test]
fn bounds_follow_every_update_and_models_stay_the_same() {
    let scene = Scene {
        count: 1300,
        spread: [6.0, 4.0, 4.0],
        ..Scene::default()
    };
    let model = scene.model().along_morton(&Frame::new([0.0; 3], 3.0));
    let run = |clusters: bool, chunk: u32| {
        let mut gpu = Gpu::training(&capacities(&scene, chunk, clusters), &variants(Reduction::Segmented));
        gpu.load(&model);
        if clusters {
            assert!(
                table(&mut gpu, 1300).iter().all(|c| c.deviation == 0.0),
                "nothing is known yet"
            );
            bound(&mut gpu);
            assert_bounds(&table(&mut gpu, 1300), &wanted(&model));
        }
        for iteration in 1..5 {
            let u = uniforms(&scene.camera(), 3, iteration);
            assert_eq!(gpu.run(iteration % 3, &u, &scene.target()).stall(), None);
            if clusters {
                let now = gpu.model();
                assert_bounds(&table(&mut gpu, 1300), &wanted(&now));
            }
        }
        gpu.assert_valid();
        gpu.state_bytes(1300)
    };
    let one_by_one = run(false, 512);
    for chunk in [256, 512, 2048] {
        same("state with clusters", &run(true, chunk), &one_by_one);
    }
}

/// Visibility alone.
fn culling(t: &StepTensors) -> Program {
    let mut program = Program::new("cull");
    prepare_args::record(&mut program, &t.shared, &t.chunks);
    cull::record(
        &mut program,
        &t.shared,
        &t.chunks,
        t.group_visible,
        t.capacities.v_cap,
        &t.variants,
    );
    program
}

/// Masks of all Gaussians, offsets of all groups, number of the visible.
fn masks(gpu: &mut Gpu, u: &StepUniforms, count: usize) -> (Vec<u32>, Vec<u32>, u32) {
    let (t, program) = (gpu.tensors.shared, culling(&gpu.tensors));
    gpu.device.write(&t.uniforms, &[*u]).expect("uniforms");
    gpu.device.run(&program).expect("cull");
    let mut masks = Vec::new();
    for chunk in gpu.tensors.chunks.clone() {
        let words: Vec<u32> = gpu.read(chunk.visible_mask, chunk.stride as usize / 32);
        masks.extend(words);
    }
    let groups = count.div_ceil(GROUP);
    masks.truncate(8 * groups);
    let offsets = gpu.read(gpu.tensors.group_visible, groups);
    let counters: Vec<Counters> = gpu.read(t.counters, 1);
    (masks, offsets, counters[0].visible)
}

/// Anywhere inside of the scene or outside of it, looking anywhere.
fn camera(scene: &Scene, key: u32) -> Camera {
    let q: [f32; 4] = [0, 1, 2, 3].map(|i| normal::<f32>(key, 11, 0, i));
    let length = q.iter().map(|x| x * x).sum::<f32>().sqrt();
    let rotation = rotation(q.map(|x| x / length));
    let far = [2.0, 6.0, 30.0][key as usize % 3];
    let position = [0, 1, 2].map(|i| far * normal::<f32>(key, 12, 0, i));
    Camera {
        fx: scene.focal * (0.4 + 2.0 * uniform::<f32>(key, 13, 0, 0)),
        cx: scene.size[0] as f32 * (1.4 * uniform::<f32>(key, 13, 0, 1) - 0.2),
        rotation,
        translation: [0, 1, 2].map(|i| -(0..3).map(|c| rotation[i][c] * position[c]).sum::<f32>()),
        ..scene.camera()
    }
}

/// Some Gaussians without a place, size or rotation, some enormous, some on the plane through the camera.
fn spoil(model: &mut Gaussians, camera: &Camera) {
    let n = model.len();
    for id in (0..n).step_by(97) {
        match id / 97 % 8 {
            0 => model.means[id][1] = f32::NAN,
            1 => model.means[id] = [f32::INFINITY; 3],
            2 => model.log_scales[id] = [5.0, 1.0, 3.0],
            3 => model.log_scales[id][0] = f32::NAN,
            4 => model.quats[id] = [0.0; 4],
            5 => model.means[id] = camera.position(),
            6 => model.log_scales[id][2] = 90.0,
            _ => model.quats[id] = model.quats[id].map(|q| 1e-21 * q),
        }
    }
}

#[test]
fn masks_are_those_of_one_by_one() {
    let (mut culled, mut empty, mut all) = (0, 0, 0);
    for (seed, count, spoiled) in [
        (1, 1, false),
        (2, 256, false),
        (3, 3001, false),
        (4, 6100, false),
        (5, 2500, true),
    ] {
        let scene = Scene {
            seed,
            count,
            sh_degree: 0,
            spread: [8.0, 5.0, 7.0],
            scales: if seed % 2 == 0 { [0.001, 0.02] } else { [0.01, 1.5] },
            ..Scene::default()
        };
        let chunk = if seed == 3 { 256 } else { 1 << 19 };
        let [mut on, mut off] = [true, false].map(|clusters| {
            let c = capacities(&scene, chunk, clusters);
            Gpu::new(&c, &variants(Reduction::Segmented), culling, |_| Vec::new())
        });
        let mut model = scene.model().along_morton(&Frame::new([0.0; 3], 5.0));
        if spoiled {
            spoil(&mut model, &camera(&scene, 0));
        }
        on.load(&model);
        off.load(&model);
        bound(&mut on);
        let clusters = table(&mut on, count as usize);
        for key in 0..40 {
            let mut u = StepUniforms::for_camera(&camera(&scene, key), [0.0; 3], [0.1, 0.3, 2.0][key as usize % 3]);
            u.flags = if key % 2 == 0 { flags::CLASSIC } else { 0 };
            let (found, one_by_one) = (masks(&mut on, &u, count as usize), masks(&mut off, &u, count as usize));
            assert!(found == one_by_one, "scene {seed}, camera {key}");
            // Of what is no number there are no bounds.
            if spoiled {
                continue;
            }
            let groups = one_by_one.0.chunks_exact(8);
            all += groups.len();
            empty += groups.filter(|group| group.iter().all(|word| *word == 0)).count();
            culled += clusters.iter().filter(|c| c.is_out_of_view(&u)).count();
        }
        on.assert_valid();
        off.assert_valid();
    }
    assert!(
        empty > all / 3 && 2 * culled > empty,
        "{culled} of {empty} empty groups of {all}"
    );
}

/// The device goes by the bounds: where they lie, so does it.
#[test]
fn a_group_whose_bounds_are_elsewhere_is_gone() {
    let scene = Scene {
        count: 1024,
        ..Scene::default()
    };
    let c = capacities(&scene, 512, true);
    let mut gpu = Gpu::new(&c, &variants(Reduction::Segmented), culling, |_| Vec::new());
    gpu.load(&scene.model());
    bound(&mut gpu);
    let u = uniforms(&scene.camera(), 3, 1);
    let (before, ..) = masks(&mut gpu, &u, 1024);
    let seen = |masks: &[u32]| -> Vec<bool> { masks.chunks_exact(8).map(|g| g.iter().any(|w| *w != 0)).collect() };
    assert_eq!(seen(&before), [true; 4]);
    let chunk = gpu.tensors.chunks[1];
    let mut words: Vec<u32> = gpu.read(chunk.visible_mask, 32);
    for axis in 0..3 {
        // The first group of the second chunk: a point far to one side.
        words[16 + axis] = (-1e3_f32).to_bits();
        words[19 + axis] = (-1e3_f32).to_bits();
    }
    gpu.device.write(&chunk.visible_mask, &words).expect("bounds");
    let (after, ..) = masks(&mut gpu, &u, 1024);
    assert_eq!(seen(&after), [true, true, false, true]);
    assert_eq!(after[..16], before[..16]);
    assert_eq!(after[24..], before[24..]);
    gpu.assert_valid();
}
