//! Models stored in fewer bits: the update against its twin code by code, and the promises that hold in every mode.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use kiln::step::{Capacities, StepTensors};
use kiln_gaussians::layout::Storage;
use kiln_kernels::uniforms::Group;
use kiln_kernels::views::Reduction;
use kiln_kernels::{opacity_reset, prepare_args};
use kiln_program::Program;
use kiln_scene::Camera;
use kiln_tests::banded::{self, BUSY};
use kiln_tests::compare::{close, mean_abs, same};
use kiln_tests::gpu::{Gpu, assert_valid, open, variants};
use kiln_tests::scenes::Scene;
use kiln_tests::stages::{Stages, staged, staged_surfaces};
use kiln_tests::twin::{RATES, Twin, uniforms};
use kiln_twins::adam::{Adam, Factors, GroupStep, update};
use kiln_twins::codes::Rounding;
use kiln_twins::stored_adam::{Run, Words};

const SEED: u32 = 77;
/// Parameter group of each value of the geometry.
const GROUPS: [usize; 11] = [0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3];

fn scene(sh_degree: u32) -> Scene {
    Scene {
        seed: 51,
        count: 700,
        size: [70, 50],
        sh_degree,
        ..Scene::default()
    }
}

fn capacities(scene: &Scene, chunk: u32, storage: Storage) -> Capacities {
    let sizes = [(scene.size[0], scene.size[1])];
    let mut c = Capacities::new(scene.count, scene.count, 20 * scene.count, scene.sh_degree, sizes);
    (c.chunk, c.storage) = (chunk, storage);
    c
}

fn camera(scene: &Scene, iteration: u32) -> Camera {
    let mut camera = scene.camera();
    camera.translation[0] += 1.5 * (iteration % 4) as f32 - 2.0;
    camera
}

/// The words of every Gaussian and its geometry.
fn read(gpu: &mut Gpu, n: usize) -> Vec<(Words, Vec<f32>)> {
    let capacities = gpu.tensors.capacities;
    let planes = capacities.storage.planes(capacities.sh_degree);
    let sh = gpu.words(|c| c.sh, planes.sh, n);
    let sh_m = gpu.words(|c| c.sh_m, planes.sh_m, n);
    let sh_v = gpu.words(|c| c.sh_v, planes.sh_v, n);
    let geometry_m = gpu.words(|c| c.geometry_m, planes.geometry_m, n);
    let geometry_v = gpu.words(|c| c.geometry_v, planes.geometry_v, n);
    let geometry = gpu.planes(|c| c.geometry, planes.geometry, n);
    (0..n)
        .map(|i| {
            let words = Words {
                sh: sh[i].clone(),
                sh_m: sh_m[i].clone(),
                sh_v: sh_v[i].clone(),
                geometry_m: geometry_m[i].clone(),
                geometry_v: geometry_v[i].clone(),
            };
            (words, geometry[i].clone())
        })
        .collect()
}

/// One step of the twin on what the device had before.
fn step(
    storage: Storage,
    runs: &[Run; 6],
    id: usize,
    iteration: u32,
    gradient: &[f32],
    (words, geometry): &mut (Words, Vec<f32>),
) {
    let rounding = Rounding::new(SEED, iteration, id as u32);
    let (of_geometry, of_colors) = gradient.split_at(11);
    match storage {
        Storage::Compact => {
            let runs = GROUPS.map(|group| runs[group]);
            words.update_geometry(&runs, geometry, of_geometry, rounding);
        }
        Storage::Half | Storage::Exact => {
            for p in 0..11 {
                let Some(factors) = runs[GROUPS[p]] else { continue };
                let [mut m, mut v] = [words.geometry_m[p], words.geometry_v[p]].map(f32::from_bits);
                update(&factors, &mut geometry[p], &mut m, &mut v, of_geometry[p]);
                [words.geometry_m[p], words.geometry_v[p]] = [m, v].map(f32::to_bits);
            }
        }
    }
    words.update_colors(color_bits(storage), [runs[4], runs[5]], of_colors, rounding);
}

const fn color_bits(storage: Storage) -> usize {
    match storage {
        Storage::Compact => 8,
        Storage::Half | Storage::Exact => 16,
    }
}

/// Share of fields of `bits` bits that differ, and that differ by more than one.
fn off<'a>(pairs: impl Iterator<Item = (&'a [u32], &'a [u32])>, bits: usize) -> [f64; 2] {
    let (mut all, mut other, mut far) = (0_u32, 0_u32, 0_u32);
    for (found, wanted) in pairs {
        for (found, wanted) in found.iter().zip(wanted) {
            for shift in (0..32).step_by(bits) {
                let code = |word: &u32| i64::from(word >> shift & ((1 << bits) - 1));
                let apart = (code(found) - code(wanted)).rem_euclid(1 << bits);
                all += 1;
                other += u32::from(apart != 0);
                far += u32::from(apart > 1 && apart < (1 << bits) - 1);
            }
        }
    }
    [f64::from(other) / f64::from(all), f64::from(far) / f64::from(all)]
}

/// Steps with everything, with groups left out, with a lower degree active, with a Gaussian in view, out of it and back.
#[test]
fn updates_follow_the_twin_code_by_code() {
    for storage in [Storage::Half, Storage::Compact] {
        for (degree, surfaces) in [(3, false), (2, false), (1, false), (0, false), (3, true)] {
            if surfaces && storage == Storage::Half {
                // No kernel is made for it.
                continue;
            }
            let scene = scene(degree);
            let n = scene.count as usize;
            let (capacities, variants) = (capacities(&scene, 256, storage), variants(Reduction::Segmented));
            let mut gpu = if surfaces {
                let (mut gpu, by_plane) = staged_surfaces(&capacities, &variants);
                gpu.device.write(&by_plane[0], &scene.by_plane()).expect("upload");
                gpu.device.write(&by_plane[1], &scene.by_coverage()).expect("upload");
                gpu
            } else {
                staged(&capacities, &variants)
            };
            gpu.load(&scene.model());
            let mut unseen = 0;
            for iteration in 1..=6 {
                let skipped: &[Group] = match iteration {
                    3 => &[Group::Sh0, Group::Scales],
                    4 => &[Group::ShRest, Group::Quats],
                    _ => &[],
                };
                let active = if iteration == 2 { degree.min(1) } else { degree };
                let camera = camera(&scene, iteration);
                let mut u = uniforms(&camera, active, iteration);
                u.seed = SEED;
                u.flat_weight = 0.1;
                u.adam_skip_mask = skipped.iter().map(|group| group.bit()).sum();
                let mut twin = Twin::new(&gpu.model());
                twin.settings.sh_degree = active;
                twin.flat = u.flat_weight;
                let before = read(&mut gpu, n);
                let status = gpu.run(iteration % 3, &u, &scene.target());
                assert_eq!((status.stalled, status.skipped), (0, 0), "{status:?}");
                let stages = Stages::read(&mut gpu, &status, &camera);
                unseen += n - stages.visible.len();
                let (gradients, _) = stages.gradients(&twin, &camera);
                let runs: [Run; 6] = std::array::from_fn(|group| {
                    let step = GroupStep {
                        rate: RATES[group],
                        step: iteration,
                    };
                    let factors: Factors<f32> = Adam::default().factors(step);
                    (u.adam_skip_mask >> group & 1 == 0).then_some(factors)
                });
                let after = read(&mut gpu, n);
                let mut wanted = before.clone();
                let used = 11 + 3 * ((active + 1) * (active + 1)) as usize;
                for (id, state) in wanted.iter_mut().enumerate() {
                    step(storage, &runs, id, iteration, &gradients[id].values()[..used], state);
                }
                let what = format!("{storage:?}, degree {degree}, surfaces {surfaces}, iteration {iteration}");
                let column =
                    |list: &[(Words, Vec<f32>)], p: usize| -> Vec<f32> { list.iter().map(|s| s.1[p]).collect() };
                for p in 0..11 {
                    let (found, wanted) = (column(&after, p), column(&wanted, p));
                    close(&format!("{what}: value {p}"), &found, &wanted, 1e-4, 1e-3);
                }
                let pairs = |pick: fn(&Words) -> &[u32]| {
                    let list = after.iter().zip(&wanted);
                    list.map(move |(a, b)| (pick(&a.0), pick(&b.0)))
                };
                let scales = |list: &[(Words, Vec<f32>)]| -> Vec<f32> { list.iter().map(|s| s.0.scale()).collect() };
                close(
                    &format!("{what}: scales"),
                    &scales(&after),
                    &scales(&wanted),
                    1e-6,
                    1e-4,
                );
                let bits = color_bits(storage);
                // Gradients that differ in their last bits now and then take another code, those of the geometry more
                // often because their terms cancel.
                let mut fields = vec![
                    ("colours", 0.001, off(pairs(|w| &w.sh), 16)),
                    ("first moments", 0.005, off(pairs(|w| &w.sh_m), bits)),
                    ("second moments", 0.005, off(pairs(|w| &w.sh_v[1..]), bits)),
                ];
                if storage == Storage::Compact {
                    fields.push(("first moments of the geometry", 0.03, off(pairs(|w| &w.geometry_m), 16)));
                    fields.push((
                        "second moments of the geometry",
                        0.01,
                        off(pairs(|w| &w.geometry_v), 16),
                    ));
                }
                for (name, most, [other, far]) in fields {
                    assert!(
                        other < most && far < 0.005,
                        "{what}: {name}: {other:.5} differ, {far:.5} by more than one"
                    );
                }
            }
            assert!(unseen > 300, "{unseen}");
            gpu.assert_valid();
        }
    }
}

/// What is written is what is read: a model whose colours are halves comes back as it was, and others are a step away.
#[test]
fn models_come_back_from_their_codes() {
    for storage in [Storage::Half, Storage::Compact] {
        for degree in 0..=3 {
            let scene = scene(degree);
            let mut gpu = Gpu::training(&capacities(&scene, 256, storage), &variants(Reduction::Segmented));
            let model = scene.model();
            gpu.load(&model);
            let stored = gpu.model();
            assert_eq!((&stored.means, &stored.quats), (&model.means, &model.quats));
            assert_eq!(
                (&stored.log_scales, &stored.filter_3d),
                (&model.log_scales, &model.filter_3d)
            );
            let colors = |m: &kiln_gaussians::Gaussians| [m.sh0.as_flattened(), &m.sh_rest].concat();
            for (found, wanted) in colors(&stored).into_iter().zip(colors(&model)) {
                let step = (wanted.abs() / 1024.0).max(6.2e-5);
                assert!((found - wanted).abs() <= step, "{found} for {wanted}");
            }
            gpu.load(&stored);
            same("stored again", &colors(&gpu.model()), &colors(&stored));
            gpu.assert_valid();
        }
    }
}

#[test]
fn equal_steps_leave_equal_bytes_whatever_the_chunks() {
    for storage in [Storage::Half, Storage::Compact] {
        let scene = scene(3);
        let run = |chunk: u32| {
            let mut gpu = Gpu::training(&capacities(&scene, chunk, storage), &variants(Reduction::Segmented));
            gpu.load(&scene.model());
            for iteration in 1..=5 {
                let mut u = uniforms(&camera(&scene, iteration), 3, iteration);
                u.seed = SEED;
                assert_eq!(gpu.run(iteration % 3, &u, &scene.target()).stalled, 0);
            }
            gpu.assert_valid();
            gpu.state_bytes(scene.count as usize)
        };
        let first = run(1024);
        for chunk in [1024, 256] {
            assert!(run(chunk) == first, "{storage:?}, chunks of {chunk}");
        }
    }
}

/// A reset clears what opacities have of the moments, and nothing that shares words with it.
#[test]
fn a_reset_clears_the_moments_of_opacities_alone() {
    for (storage, plane) in [(Storage::Half, 10), (Storage::Compact, 5)] {
        let scene = scene(1);
        let n = scene.count as usize;
        let reset = |t: &StepTensors| {
            let mut program = Program::new("reset");
            prepare_args::record(&mut program, &t.shared, &t.chunks);
            opacity_reset::record(&mut program, &t.shared, &t.chunks, 0.01);
            program
        };
        let capacities = capacities(&scene, 256, storage);
        let mut gpu = Gpu::new(&capacities, &variants(Reduction::Segmented), reset, |_| Vec::new());
        gpu.load(&scene.model());
        for chunk in gpu.tensors.chunks.clone() {
            for view in [chunk.geometry_m, chunk.geometry_v] {
                let words = vec![0x4321_1234_u32; (view.bytes / 4) as usize];
                gpu.device.write(&view, &words).expect("upload");
            }
        }
        gpu.run(0, &uniforms(&scene.camera(), 1, 1), &[]);
        let planes = storage.planes(1);
        for (words, planes) in [
            (gpu.words(|c| c.geometry_m, planes.geometry_m, n), planes.geometry_m),
            (gpu.words(|c| c.geometry_v, planes.geometry_v, n), planes.geometry_v),
        ] {
            let wanted: Vec<u32> = (0..planes).map(|p| if p == plane { 0 } else { 0x4321_1234 }).collect();
            assert!(words.iter().all(|words| *words == wanted), "{storage:?}");
        }
        assert!(gpu.model().logit_opacities.iter().all(|logit| logit.is_finite()));
        gpu.assert_valid();
    }
}

/// Densifications, a reset, steps in bands of tiles and of records: the same bytes as whole steps.
#[test]
fn bands_leave_the_bytes_of_whole_steps() {
    let device = open();
    for storage in ["half", "compact"] {
        let run = |settings: &[(&str, &str)]| {
            let settings = [&BUSY[..], &[("memory.storage", storage)], settings].concat();
            let profile = banded::profile(&settings);
            let mut trainer = banded::trainer(&device, &profile, Reduction::Segmented, &banded::scene().model());
            banded::Run::new(&mut trainer, 14, |i| banded::camera(&banded::scene(), i), false)
        };
        let whole = run(&[]);
        assert!(whole.banded == 0 && whole.model.len() > 600, "{}", whole.model.len());
        let colors = whole.model.sh_rest.iter().chain(whole.model.sh0.as_flattened());
        assert!(
            colors.clone().all(|c| c.to_bits() & 0x1fff == 0),
            "every colour is a half"
        );
        assert!(colors.filter(|c| **c != 0.0).count() > 1000);
        for settings in [
            &[("fault.bands", "7")][..],
            &[("fault.v_cap", "400"), ("fault.i_cap", "900")],
        ] {
            let banded = run(settings);
            assert!(banded.banded > 0);
            banded.assert_same(&whole, &format!("{storage}, {settings:?}"));
        }
    }
    assert_valid(&device);
}

/// Over many steps no Gaussian's colours freeze or run away from those of f32.
#[test]
fn colors_follow_those_of_f32() {
    let scene = scene(3);
    let train = |storage: Storage| {
        let mut gpu = Gpu::training(&capacities(&scene, 1024, storage), &variants(Reduction::Segmented));
        gpu.load(&scene.model());
        let mut losses = Vec::new();
        for iteration in 1..=120 {
            let mut u = uniforms(&scene.camera(), 3, iteration);
            u.seed = SEED;
            losses.push(gpu.run(iteration % 3, &u, &scene.target()).loss);
        }
        (losses, gpu.model())
    };
    let (exact_losses, exact) = train(Storage::Exact);
    let start = scene.model();
    for storage in [Storage::Half, Storage::Compact] {
        let (losses, model) = train(storage);
        let mean = |list: &[f32]| list[100..].iter().sum::<f32>() / 20.0;
        let (found, wanted) = (mean(&losses), mean(&exact_losses));
        assert!(
            wanted < 0.7 * exact_losses[0] && found < 1.005 * wanted,
            "{storage:?}: {found}, f32 {wanted}"
        );
        for (a, b, c) in [
            (
                model.sh0.as_flattened(),
                exact.sh0.as_flattened(),
                start.sh0.as_flattened(),
            ),
            (&model.sh_rest, &exact.sh_rest, &start.sh_rest),
        ] {
            let (apart, way) = (mean_abs(a, b), mean_abs(b, c));
            assert!(apart < 0.1 * way, "{storage:?}: {apart} apart after {way}");
        }
    }
}
