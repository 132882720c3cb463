//! Colours that get the optimiser's steps when they are next in view: the kernels against their twins, and whole runs against
//! those in which every Gaussian takes part in every step.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use std::sync::Arc;

use kiln::gaussians::Gaussians;
use kiln::gaussians::layout::{Storage, sh_planes};
use kiln::kernels::catch_up::{self, Row, rows};
use kiln::kernels::views::{Chunk, Reduction};
use kiln::kernels::{prepare_args, uniforms::StepUniforms};
use kiln::program::{Program, Span};
use kiln::scene::Camera;
use kiln::step::{Capacities, StepTensors, train_step};
use kiln::twins::catch_up::Missed;
use kiln::twins::rng::{bits, normal, uniform};
use kiln::vk;
use kiln_tests::banded::{BUSY, Run, behind, camera, profile, scene, trainer};
use kiln_tests::compare::close;
use kiln_tests::gpu::{Gpu, assert_valid, open, variants};
use kiln_tests::scenes::Scene;
use kiln_tests::twin::uniforms;

const SEED: u32 = 9;
/// Steps that the tables of these tests have room for, and those that were taken.
const STEPS: u32 = 1500;
const NOW: u32 = 1203;
const BETAS: [f32; 2] = [0.9, 0.999];
const EPS: f32 = 1e-15;

fn capacities(scene: &Scene, storage: Storage) -> Capacities {
    let sizes = [(scene.size[0], scene.size[1])];
    let mut c = Capacities::new(scene.count, scene.count, 20 * scene.count, scene.sh_degree, sizes);
    (c.chunk, c.storage, c.deferred_steps) = (256, storage, STEPS);
    c
}

fn table() -> Vec<Row> {
    let share = |n: u32| 0.01_f64.powf(f64::from(n) / f64::from(STEPS));
    let rates: Vec<_> = (1..=STEPS)
        .map(|n| [2.5e-3, 1.25e-4].map(|rate| rate * share(n)))
        .collect();
    rows(BETAS, &rates)
}

fn upload_table(gpu: &mut Gpu) {
    let shared = gpu.tensors.shared;
    let at = shared.uniforms.bytes;
    let view = shared.rates.slice(at, shared.rates.bytes - at);
    gpu.device.write(&view, &table()).expect("upload");
}

/// Uniforms alone, then the pass over all Gaussians.
fn program(t: &StepTensors) -> Program {
    let mut program = Program::new("catch up");
    let at = t.shared.uniforms;
    program.copy_from_ring(t.rings.uniforms.slice(0, at.bytes), t.rings.uniforms_stride, at);
    prepare_args::record(&mut program, &t.shared, &t.chunks);
    let coefficients = sh_planes(t.capacities.sh_degree) / 3;
    catch_up::record(&mut program, &t.shared, &t.chunks, coefficients);
    program
}

/// How many steps Gaussian `id` took part in: all, all but a few, or any number.
fn seen(id: u32) -> u32 {
    match id % 4 {
        0 => NOW,
        1 => NOW - bits(SEED, 1, id, 0) % 12,
        _ => bits(SEED, 1, id, 0) % NOW,
    }
}

fn write(gpu: &mut Gpu, view: Span, words: &[u32]) {
    gpu.device.write(&view, words).expect("upload");
}

/// Fills what the pass reads: planes of `chunk` by Gaussian and plane.
fn fill(gpu: &mut Gpu, chunk: &Chunk, view: Span, planes: u32, value: impl Fn(u32, u32) -> u32) {
    let words: Vec<u32> = (0..planes)
        .flat_map(|plane| (0..chunk.stride).map(move |i| (plane, i)))
        .map(|(plane, i)| value(chunk.first + i, plane))
        .collect();
    write(gpu, view, &words);
}

fn uniforms_now() -> StepUniforms {
    let mut u = uniforms(&Scene::default().camera(), 3, 1300);
    (u.seed, u.sh_steps) = (SEED, NOW);
    u
}

#[test]
fn exact_values_catch_up_as_in_the_twin() {
    for degree in [0, 3] {
        let scene = Scene {
            count: 700,
            sh_degree: degree,
            ..Scene::default()
        };
        let kinds = variants(Reduction::Segmented);
        let mut gpu = Gpu::new(&capacities(&scene, Storage::Exact), &kinds, program, |_| Vec::new());
        gpu.load(&scene.model());
        upload_table(&mut gpu);
        let planes = sh_planes(degree);
        // From steep to so weak that epsilon is all there is.
        let root = |id: u32, p: u32| 10.0_f32.powf(-17.0 * uniform::<f32>(SEED, 2, id, p));
        let m = |id: u32, p: u32| {
            if id % 5 == 4 {
                0.0
            } else {
                root(id, p) * normal::<f32>(SEED, 3, id, p)
            }
        };
        let v = |id: u32, p: u32| root(id, p).powi(2);
        for chunk in gpu.tensors.chunks.clone() {
            fill(&mut gpu, &chunk, chunk.sh_m, planes, |id, p| m(id, p).to_bits());
            fill(&mut gpu, &chunk, chunk.sh_v, planes + 1, |id, p| {
                if p == planes { seen(id) as f32 } else { v(id, p) }.to_bits()
            });
        }
        let n = scene.count as usize;
        let before = gpu.planes(|c| c.sh, planes, n);
        gpu.run(0, &uniforms_now(), &[]);
        let (sh, first) = (gpu.planes(|c| c.sh, planes, n), gpu.planes(|c| c.sh_m, planes, n));
        let second = gpu.planes(|c| c.sh_v, planes + 1, n);
        let (table, mut moved) = (table(), 0);
        for id in 0..scene.count {
            let missed = Missed::since(&table, EPS, seen(id), NOW);
            let at = id as usize;
            for p in 0..planes {
                let (mut value, mut m, mut v) = (before[at][p as usize], m(id, p), v(id, p));
                let change = missed.change(p >= 3, m, v);
                missed.catch_up(p >= 3, &mut value, &mut m, &mut v);
                let near = |found: f32, wanted: f32, size: f32| (found - wanted).abs() <= 2e-6 * size;
                let found = [sh[at][p as usize], first[at][p as usize], second[at][p as usize]];
                let what = format!("Gaussian {id}, {} steps behind, value {p}: {found:?}", NOW - seen(id));
                assert!(
                    near(found[0], value, change.abs() + 0.06 * value.abs()),
                    "{what}, not {value}"
                );
                assert!(near(found[1], m, m.abs() + 1e-37), "{what}, not {m:e}");
                assert!(near(found[2], v, v.abs() + 1e-37), "{what}, not {v:e}");
                moved += u32::from(found[0].to_bits() != before[at][p as usize].to_bits());
            }
            assert_eq!(second[at][planes as usize].to_bits(), (NOW as f32).to_bits());
        }
        assert!(moved > scene.count * planes / 4, "{moved}");
        // Nothing is missed any more.
        let now = gpu.state_bytes(n);
        gpu.run(1, &uniforms_now(), &[]);
        assert!(gpu.state_bytes(n) == now);
        gpu.assert_valid();
    }
}

/// Whoever is in view takes part; others wait; one whose gradient is not finite is left out and has no part later.
#[test]
fn a_step_is_counted_for_those_in_view() {
    let scene = Scene {
        spread: [6.0, 1.8, 1.5],
        ..Scene::default()
    };
    let n = scene.count as usize;
    let mut gpu = Gpu::new(
        &capacities(&scene, Storage::Exact),
        &variants(Reduction::Segmented),
        train_step,
        |_| Vec::new(),
    );
    let mut model = scene.model();
    gpu.load(&model);
    upload_table(&mut gpu);
    let planes = sh_planes(scene.sh_degree);
    let counts = |gpu: &mut Gpu| -> Vec<f32> {
        let rows = gpu.planes(|c| c.sh_v, planes + 1, n);
        rows.iter().map(|row| row[planes as usize]).collect()
    };
    // A loss a million times as steep, as of a step that is skipped by one Gaussian.
    let mut u = uniforms(&scene.camera(), 3, 1);
    u.weights[0] = 1e6;
    let status = gpu.run(0, &u, &scene.target());
    let counted = counts(&mut gpu);
    let seen = counted.iter().filter(|count| **count == 1.0).count();
    assert_eq!((seen as u32, status.skipped), (status.visible, 0));
    assert!(seen > 40 && n - seen > 40 && counted.iter().all(|count| *count == 0.0 || *count == 1.0));
    let steep = gpu.values(|c| c.geometry_m, |c| c.sh_m, n);
    let victim = steep
        .iter()
        .position(|m| m[3..7].iter().any(|q| q.abs() > 1.0))
        .expect("a steep one");

    // The second step leaves opacity out, as a reset does, the third everything, as a densification does.
    for (iteration, skipped, steps) in [(2, 1 << 3, 1), (3, 63, 2)] {
        let mut u = uniforms(&scene.camera(), 3, iteration);
        (u.adam_skip_mask, u.sh_steps) = (skipped, steps);
        gpu.run(0, &u, &scene.target());
        assert!(counts(&mut gpu).iter().all(|count| *count == 0.0 || *count == 2.0));
    }

    let q = model.quats[victim];
    let length = q.iter().map(|v| v * v).sum::<f32>().sqrt();
    model.quats[victim] = q.map(|v| v / length * 1.2e-19);
    gpu.load(&model);
    upload_table(&mut gpu);
    let before = gpu.values(|c| c.geometry, |c| c.sh, n);
    let status = gpu.run(0, &u, &scene.target());
    assert_eq!((status.stall(), status.skipped), (None, 1), "{status:?}");
    let after = gpu.values(|c| c.geometry, |c| c.sh, n);
    assert!(after[victim] == before[victim] && counts(&mut gpu)[victim] == 1.0);
    gpu.assert_valid();
}

/// For five steps one part of the scene is in view, then another.
fn wandering(iteration: u32) -> Camera {
    let mut camera = camera(&scene(), iteration);
    camera.translation[0] += [0.0, 4.5, -4.5][(iteration / 5 % 3) as usize];
    camera
}

const CULL_OFF: (&str, &str) = ("cull", "null");

fn run(
    device: &Arc<vk::Device>,
    steps: u32,
    settings: &[&[(&str, &str)]],
    model: &Gaussians,
    view: impl Fn(u32) -> Camera,
) -> Run {
    // One Gaussian is where no camera looks, and is to stay there.
    let profile = profile(&[settings.concat(), vec![CULL_OFF]].concat());
    let mut trainer = trainer(device, &profile, Reduction::Segmented, model);
    Run::new(&mut trainer, steps, view, false)
}

const ON: &[(&str, &str)] = &[("optimizer.deferred_sh", "on")];
const OFF: &[(&str, &str)] = &[("optimizer.deferred_sh", "off")];
/// All rates fall to a tenth within the run.
const FALLING: &[(&str, &str)] = &[("optimizer.lr.cooldown", "1"), ("schedule.iterations", "65")];

fn colors(model: &Gaussians) -> Vec<f32> {
    [model.sh0.as_flattened(), &model.sh_rest].concat()
}

/// Distance of two models' colours as a share of the way from where they began.
fn apart(one: &Gaussians, two: &Gaussians, start: &Gaussians) -> f64 {
    let distance = |a: &Gaussians, b: &Gaussians| -> f64 {
        let (a, b) = (colors(a), colors(b));
        a.iter().zip(&b).map(|(a, b)| f64::from(a - b).abs()).sum()
    };
    distance(one, two) / distance(one, start)
}

/// Steps with and without, on views that come and go, with degrees that are raised and a step that is left out.
#[test]
fn a_run_ends_where_a_dense_one_does() {
    let device = open();
    let mut model = scene().model();
    model.means[17] = behind();
    model.log_scales[17] = [0.0; 3];
    model.logit_opacities[17] = 2.0;
    model.sh0[17] = [f32::INFINITY; 3];
    let view = |i: u32| {
        let mut camera = wandering(i);
        if i == 23 {
            camera.translation[2] += 100.0;
        }
        camera
    };
    for settings in [&[][..], FALLING] {
        let go = |deferral| run(&device, 64, &[settings, deferral], &model, view);
        let (deferred, dense) = (go(ON), go(OFF));
        assert_eq!((deferred.skipped, dense.skipped), (1, 1));
        let visible = dense.statuses.iter().map(|s| s.counters.visible).sum::<u32>();
        assert!(visible < 64 * 400, "{visible} of {} seen", 64 * 500);
        for (a, b) in deferred.statuses.iter().zip(&dense.statuses) {
            let (a, b) = (a.counters, b.counters);
            assert!((a.loss - b.loss).abs() < 1e-5 * b.loss, "{a:?}, dense {b:?}");
        }
        let part = |model: &Gaussians| {
            let mut model = model.clone();
            model.sh0[17] = [0.0; 3];
            model
        };
        let [one, two, start] = [&deferred.model, &dense.model, &model].map(part);
        let apart = apart(&one, &two, &start);
        assert!(apart < 3e-5, "{settings:?}: {apart:e} of the way apart");
        close(
            "image",
            deferred.image.as_flattened(),
            dense.image.as_flattened(),
            1e-5,
            1e-5,
        );
    }
    assert_valid(&device);
}

/// An evaluation sees colours with the steps they missed: the same before they get them and after.
#[test]
fn an_evaluation_sees_what_colours_will_be() {
    let device = open();
    let settings = [ON, &[("optimizer.lr.sh0", "0.05")]].concat();
    let mut trainer = trainer(&device, &profile(&settings), Reduction::Segmented, &scene().model());
    for i in 1..=30 {
        trainer.advance(&wandering(i), &scene().target()).expect("a step");
    }
    // Steps 25 to 29 saw another part, so that colours in this view are five steps behind.
    let view = wandering(23);
    let mut look = || {
        let sums = trainer.evaluate(&view, &scene().target(), true).expect("an evaluation");
        sums.image.expect("asked for")
    };
    let before = look();
    let model = trainer.model().expect("download");
    let mut look = || {
        let sums = trainer.evaluate(&view, &scene().target(), true).expect("an evaluation");
        sums.image.expect("asked for")
    };
    close("colours", before.as_flattened(), look().as_flattened(), 1e-6, 1e-6);
    let again = trainer.model().expect("download");
    assert_eq!(colors(&model), colors(&again));
    assert_valid(&device);
}

/// Densifications copy colours that are up to date; bands of tiles and of records change no byte.
#[test]
fn densifications_and_bands_leave_what_whole_steps_do() {
    let device = open();
    let start = scene().model();
    let of = |deferral, settings: &[(&str, &str)]| {
        let all = [&BUSY[..], settings];
        // Every part of the scene comes into view twice again, after densifications and resets that it did not see.
        run(&device, 42, &[&all.concat(), deferral], &start, wandering)
    };
    let whole = of(ON, &[]);
    assert!(whole.banded == 0 && whole.model.len() > 600, "{}", whole.model.len());
    for settings in [
        &[("fault.bands", "7")][..],
        &[("fault.v_cap", "400"), ("fault.i_cap", "900")],
    ] {
        let banded = of(ON, settings);
        assert!(banded.banded > 0);
        banded.assert_same(&whole, &format!("{settings:?}"));
    }
    let dense = of(OFF, &[]);
    let ratio = whole.model.len() as f64 / dense.model.len() as f64;
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
    let loss = |run: &Run| run.statuses.iter().rev().take(12).map(|s| s.counters.loss).sum::<f32>();
    let ratio = loss(&whole) / loss(&dense);
    assert!((ratio - 1.0).abs() < 0.02, "losses {ratio}");
    assert_valid(&device);
}
