//! Steps in bands, and steps done again after a stall, leave what whole steps would have left.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use std::path::Path;
use std::sync::Arc;

use kiln::config::{Inputs, Override, Profile, resolve};
use kiln::gaussians::Gaussians;
use kiln::kernels::bands;
use kiln::kernels::counters::Stall;
use kiln::kernels::cpu::bands::{count_in_band, tile_histogram};
use kiln::kernels::views::Reduction;
use kiln::memory::{Budget, Gpu};
use kiln::scene::{Camera, SceneIndex, SceneOptions};
use kiln::step::{Capacities, StepTensors, evaluate_view};
use kiln::train::events::{Event, EventRow, StallBuffer};
use kiln::train::{StepStatus, TrainError, Trainer, plan};
use kiln::vk;
use kiln_tests::compare::{close, same};
use kiln_tests::gpu::{Gpu as Device, Keep, assert_valid, open, variants};
use kiln_tests::scenes::Scene;
use kiln_tests::stages::{Stages, staged};
use kiln_tests::twin::{Twin, uniforms};

/// 10 by 6 tiles, of which the right column and the bottom row are cut by the image's edge.
fn scene() -> Scene {
    Scene {
        seed: 5,
        count: 500,
        size: [150, 90],
        focal: 140.0,
        scales: [0.06, 0.5],
        opacities: [0.3, 0.95],
        ..Scene::default()
    }
}

/// Near and far views take turns, so that they need more and fewer intersections.
fn camera(scene: &Scene, iteration: u32) -> Camera {
    let mut camera = scene.camera();
    camera.translation[0] += 0.2 * (iteration % 4) as f32 - 0.3;
    camera.translation[2] += 3.0 * (iteration % 3) as f32;
    camera
}

/// In the middle of the view, 92 behind the camera.
fn behind() -> [f32; 3] {
    scene().camera().rotation[2].map(|axis| -96.0 * axis)
}

fn profile(settings: &[(&str, &str)]) -> Profile {
    let set = |(key, value): &(&str, &str)| Override {
        key: (*key).to_owned(),
        value: (*value).to_owned(),
        flag: "--set".to_owned(),
    };
    let common = [
        ("memory.max_gaussians", "500"),
        ("schedule.iterations", "1000"),
        ("schedule.sh_every", "3"),
        ("debug.chunk", "256"),
        ("strategy.densify.from", "990"),
        ("strategy.densify.until", "999"),
    ];
    let inputs = Inputs {
        profile: Some("cpu".to_owned()),
        recipe: Some("demo".to_owned()),
        overrides: common.iter().chain(settings).map(set).collect(),
        ..Inputs::default()
    };
    resolve(&inputs).expect("a profile")
}

fn trainer(device: &Arc<vk::Device>, profile: &Profile, reduction: Reduction, model: &Gaussians) -> Trainer {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes/stilllife");
    let mut index = SceneIndex::load(&root, &SceneOptions::default()).expect("bundled scene");
    index.train.truncate(6);
    index.test.truncate(1);
    for (view, iteration) in index.train.iter_mut().chain(&mut index.test).zip(0..) {
        view.camera = camera(&scene(), iteration);
    }
    let budget = Budget::of_device(device, Some(4 << 30), 0.97);
    let demand = Demand::count(profile, &index, model);
    let limits = Gpu::limits(device);
    let (plan, report) = plan(profile, &index, &demand, budget, limits, &variants(reduction)).expect("fits");
    Trainer::new(device, profile.clone(), plan, report, &index, Some(model)).expect("commits")
}

/// What a run tells and leaves.
struct Run {
    statuses: Vec<StepStatus>,
    events: Vec<EventRow>,
    model: Gaussians,
    sums: Vec<f32>,
    image: Vec<[f32; 4]>,
    tile_counts: Vec<u32>,
    banded: u32,
    skipped: u32,
}

impl Run {
    fn new(trainer: &mut Trainer, iterations: u32, view: impl Fn(u32) -> Camera, patient: bool) -> Self {
        let target = scene().target();
        let mut statuses = Vec::new();
        for iteration in 1..=iterations {
            statuses.extend(trainer.advance(&view(iteration), &target).expect("a step"));
            if patient {
                statuses.extend(trainer.drain().expect("a step"));
            }
        }
        statuses.extend(trainer.drain().expect("steps"));
        let shown = trainer
            .evaluate(&camera(&scene(), 3), &target, true)
            .expect("an evaluation");
        Self {
            statuses,
            events: trainer.take_events(),
            model: trainer.model().expect("download"),
            sums: shown.sums,
            image: shown.image.expect("asked for"),
            tile_counts: shown.tile_counts.expect("asked for"),
            banded: trainer.banded_steps(),
            skipped: trainer.skipped_steps(),
        }
    }

    fn wanted(&self) -> Vec<u32> {
        self.statuses.iter().map(|s| s.counters.intersections).collect()
    }

    fn stalls(&self) -> usize {
        let stall = |row: &&EventRow| matches!(row.event, Event::Stall { .. });
        self.events.iter().filter(stall).count()
    }

    fn assert_same(&self, other: &Self, what: &str) {
        assert_eq!(told(self), told(other), "{what}: status words");
        let events = |run: &Self| -> Vec<EventRow> {
            let kept = |row: &&EventRow| !matches!(row.event, Event::Stall { .. });
            run.events.iter().filter(kept).cloned().collect()
        };
        assert_eq!(events(self), events(other), "{what}: events");
        assert_eq!(words(&self.model), words(&other.model), "{what}: model");
        assert_eq!(bits(&self.sums), bits(&other.sums), "{what}: metrics");
        assert_eq!(
            bits(self.image.as_flattened()),
            bits(other.image.as_flattened()),
            "{what}: image"
        );
        assert_eq!(self.tile_counts, other.tile_counts, "{what}: tile counts");
    }
}

fn told(run: &Run) -> Vec<[u32; 6]> {
    let of = |s: &StepStatus| {
        let c = &s.counters;
        [
            s.iteration,
            c.iteration,
            c.gaussians,
            c.visible,
            c.intersections,
            c.loss.to_bits(),
        ]
    };
    run.statuses.iter().map(of).collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

fn words(model: &Gaussians) -> Vec<u32> {
    let mut all = bits(model.means.as_flattened());
    all.extend(bits(model.quats.as_flattened()));
    all.extend(bits(model.log_scales.as_flattened()));
    all.extend(bits(&model.logit_opacities));
    all.extend(bits(model.sh0.as_flattened()));
    all.extend(bits(&model.sh_rest));
    all.extend(bits(&model.filter_3d));
    all
}

/// The two counting kernels against their twins, for bands that begin and end anywhere.
#[test]
fn counts_follow_the_reference() {
    let scene = scene();
    let view = camera(&scene, 1);
    let (n, tiles) = (scene.count as usize, 60);
    let mut capacities = Capacities::new(scene.count, scene.count, 60 * scene.count, 3, [(150, 90)]);
    capacities.chunk = 256;
    let kinds = variants(Reduction::Segmented);
    let mut whole = staged(&capacities, &kinds);
    whole.load(&scene.model());
    let status = whole.run(0, &uniforms(&view, 3, 1), &scene.target());
    let visible = Stages::read(&mut whole, &status, &view).visible;
    drop(whole);
    let settings = Twin::new(&scene.model()).settings;
    let histogram = |t: &StepTensors| t.metric_sums.slice(0, 4 * tiles);
    let program = |t: &StepTensors| {
        let mut program = evaluate_view(t, &[]);
        bands::record_count(&mut program, &t.shared, &t.splats);
        bands::record_histogram(&mut program, &t.shared, &t.splats, histogram(t));
        program
    };
    let keeps = |t: &StepTensors| {
        let (count, histogram) = (t.splats.tile_counts, histogram(t));
        [(count, "band_count"), (histogram, "band_count.histogram")]
            .map(|(view, after)| Keep { view, after })
            .to_vec()
    };
    let mut gpu = Device::new(&capacities, &kinds, program, keeps);
    gpu.load(&scene.model());
    let (counts_at, histogram_at) = (gpu.tensors.splats.tile_counts, histogram(&gpu.tensors));
    for band in [0..60, 0..1, 3..3, 7..24, 10..20, 25..29, 59..60] {
        let mut u = uniforms(&view, 3, 1);
        (u.band_begin, u.band_end) = (band.start, band.end);
        let status = gpu.run(0, &u, &scene.target());
        assert_eq!(status.visible as usize, visible.len());
        let found: Vec<u32> = gpu.kept(counts_at, "band_count", n);
        let wanted: Vec<u32> = visible.iter().map(|v| count_in_band(v, 10, &band, &settings)).collect();
        same(&format!("tiles in {band:?}"), &found[..wanted.len()], &wanted);
        let found: Vec<u32> = gpu.kept(histogram_at, "band_count.histogram", tiles as usize);
        same(
            "histogram",
            &found,
            &tile_histogram(&visible, 10, tiles as usize, &settings),
        );
    }
    gpu.assert_valid();
}

fn forced(bands: &str) -> Profile {
    profile(&[("debug.bands", bands)])
}

#[test]
fn any_number_of_bands_gives_the_same_bytes() {
    let device = open();
    let run = |profile: &Profile| {
        let mut trainer = trainer(&device, profile, Reduction::Segmented, &scene().model());
        Run::new(&mut trainer, 6, |i| camera(&scene(), i), false)
    };
    let whole = run(&profile(&[]));
    assert_eq!((whole.banded, whole.statuses.len()), (0, 6));
    assert!(whole.wanted().iter().all(|n| *n > 1000), "{:?}", whole.wanted());
    // Rows of tiles are 10 long: 7 and 23 bands begin inside of rows, 60 are single tiles, more than there are slots.
    for bands in ["1", "2", "5", "7", "23", "60", "1000"] {
        let banded = run(&forced(bands));
        assert_eq!(banded.banded, 6);
        banded.assert_same(&whole, &format!("{bands} bands"));
    }
    assert_valid(&device);
}

#[test]
fn atomic_sums_in_bands_agree() {
    unordered_sums_in_bands_agree(Reduction::Atomic);
}

#[test]
fn exchanged_sums_in_bands_agree() {
    unordered_sums_in_bands_agree(Reduction::CompareExchange);
}

fn unordered_sums_in_bands_agree(reduction: Reduction) {
    let device = open();
    let run = |profile: &Profile, steps: u32| {
        let mut trainer = trainer(&device, profile, reduction, &scene().model());
        Run::new(&mut trainer, steps, |i| camera(&scene(), i), false)
    };
    let rendered = run(&profile(&[]), 0);
    run(&forced("7"), 0).assert_same(&rendered, "rendering");
    let (whole, banded) = (run(&profile(&[]), 1), run(&forced("7"), 1));
    assert_eq!(told(&whole), told(&banded));
    for (a, b) in [
        (&whole.model.logit_opacities, &banded.model.logit_opacities),
        (&whole.model.sh_rest, &banded.model.sh_rest),
    ] {
        close("parameters after a step", a, b, 1e-3, 1e-3);
    }
    close(
        "image after a step",
        whole.image.as_flattened(),
        banded.image.as_flattened(),
        1e-3,
        1e-3,
    );
    assert_valid(&device);
}

#[test]
fn a_run_that_never_fits_gives_the_same_bytes() {
    let device = open();
    let run = |profile: &Profile| {
        let mut trainer = trainer(&device, profile, Reduction::Segmented, &scene().model());
        Run::new(&mut trainer, 7, |i| camera(&scene(), i), false)
    };
    let whole = run(&profile(&[]));
    let least = whole.wanted().into_iter().min().expect("steps");
    for i_cap in ["1", "1000"] {
        // Raised to one tile's worth, which is as many as there are Gaussians.
        let tight = run(&profile(&[("debug.i_cap", i_cap)]));
        assert!(least > 1000);
        assert_eq!(tight.banded, 7);
        assert_eq!(tight.stalls(), 1, "later steps are not tried whole: {:?}", tight.events);
        let Event::Stall {
            buffer,
            wanted,
            capacity,
        } = &tight.events[0].event
        else {
            unreachable!("{:?}", tight.events)
        };
        assert_eq!(*buffer, StallBuffer::Intersections);
        assert_eq!(*wanted, u64::from(whole.wanted()[0]));
        assert!(*capacity < *wanted);
        tight.assert_same(&whole, &format!("i_cap {i_cap}"));
    }
    assert_valid(&device);
}

/// Densification at 6 and 12, reset at 8, filter regularly: all while some views fit and others do not.
const BUSY: [(&str, &str); 9] = [
    ("memory.max_gaussians", "1600"),
    ("strategy.densify.from", "3"),
    ("strategy.densify.until", "100"),
    ("strategy.densify.every", "6"),
    ("strategy.densify.grad_threshold", "0.00001"),
    ("strategy.reset.every", "8"),
    ("strategy.reset.until", "100"),
    ("mip.filter_from", "4"),
    ("mip.filter_every", "5"),
];

#[test]
fn stalls_among_events_change_nothing() {
    let device = open();
    let run = |settings: &[(&str, &str)], patient| {
        let all = [&BUSY[..], settings].concat();
        let mut trainer = trainer(&device, &profile(&all), Reduction::Segmented, &scene().model());
        Run::new(&mut trainer, 16, |i| camera(&scene(), i), patient)
    };
    let whole = run(&[], false);
    let kinds = |pick: fn(&Event) -> bool| whole.events.iter().filter(|row| pick(&row.event)).count();
    let births = |e: &Event| matches!(e, Event::Densify { clones, splits, .. } if clones + splits > 0);
    assert_eq!(kinds(births), 2, "{:?}", whole.events);
    assert_eq!(kinds(|e| matches!(e, Event::Reset { .. })), 2, "at 8 and 16");
    assert!(kinds(|e| matches!(e, Event::Filter { .. })) >= 3);
    let mut wanted = whole.wanted();
    wanted.sort_unstable();
    for part in [4, 8, 13] {
        let i_cap = wanted[part].to_string();
        for patient in [false, true] {
            let tight = run(&[("debug.i_cap", &i_cap)], patient);
            assert!(tight.stalls() > 0 && tight.banded < 16, "i_cap {i_cap}: {wanted:?}");
            tight.assert_same(&whole, &format!("i_cap {i_cap}, patient: {patient}"));
        }
    }
    assert_valid(&device);
}

/// One colour is infinite, and only the fourth view sees it: that step is left out, whatever else is in flight.
#[test]
fn a_step_that_is_not_finite_is_left_out() {
    let device = open();
    let mut model = scene().model();
    model.means[17] = behind();
    model.log_scales[17] = [0.0; 3];
    model.logit_opacities[17] = 2.0;
    model.sh0[17] = [f32::INFINITY; 3];
    let run = |bad: u32, settings: &[(&str, &str)], patient| {
        let all = [&BUSY[..], settings].concat();
        let mut trainer = trainer(&device, &profile(&all), Reduction::Segmented, &model);
        let view = |i| {
            let mut camera = camera(&scene(), i);
            if i == bad {
                camera.translation[2] += 100.0;
            }
            camera
        };
        Run::new(&mut trainer, 14, view, patient)
    };
    // 6 densifies, 8 resets, 14 is the last.
    for bad in [4, 6, 8, 14] {
        let late = run(bad, &[], false);
        assert_eq!((late.skipped, late.statuses.len()), (1, 13));
        assert!(
            late.statuses
                .iter()
                .all(|s| s.iteration != bad && s.counters.stall().is_none())
        );
        let found: Vec<&EventRow> = late
            .events
            .iter()
            .filter(|row| matches!(row.event, Event::Nonfinite { .. }))
            .collect();
        assert_eq!(found.len(), 1, "{:?}", late.events);
        assert_eq!(found[0].it, bad);
        run(bad, &[], true).assert_same(&late, &format!("one step at a time, {bad} left out"));
        run(bad, &[("debug.bands", "3")], false).assert_same(&late, &format!("in bands, {bad} left out"));
        run(bad, &[("debug.i_cap", "1")], false).assert_same(&late, &format!("small i_cap, {bad} left out"));
    }
    assert_valid(&device);
}

#[test]
fn a_step_left_out_changes_nothing() {
    let device = open();
    let mut model = scene().model();
    let target = scene().target();
    model.means[17] = behind();
    model.log_scales[17] = [0.0; 3];
    model.sh0[17] = [f32::NAN; 3];
    let mut trainer = trainer(&device, &profile(&[]), Reduction::Segmented, &model);
    for i in 1..=3 {
        trainer.advance(&camera(&scene(), i), &target).expect("a step");
    }
    let before = words(&trainer.model().expect("download"));
    let mut bad = camera(&scene(), 4);
    bad.translation[2] += 100.0;
    trainer.advance(&bad, &target).expect("a step");
    let after = words(&trainer.model().expect("download"));
    assert_eq!((trainer.skipped_steps(), before == after), (1, true));
    let told = trainer.drain().expect("nothing in flight");
    assert_eq!(told.iter().map(|s| s.iteration).collect::<Vec<_>>(), [2, 3]);
    let left_out = |events: Vec<EventRow>| -> Vec<u32> {
        let rows = events
            .into_iter()
            .filter(|row| matches!(row.event, Event::Nonfinite { .. }));
        rows.map(|row| row.it).collect()
    };
    assert_eq!(left_out(trainer.take_events()), [4]);
    // The same when the next to look is LPIPS, which borrows the idle device, or an evaluation.
    for patient in [false, true] {
        trainer.advance(&bad, &target).expect("a step");
        if patient {
            trainer.idle_gpu().expect("nothing in flight");
        } else {
            trainer
                .evaluate(&camera(&scene(), 1), &target, false)
                .expect("an evaluation");
        }
        assert!(trainer.drain().expect("nothing in flight").is_empty());
        assert_eq!(left_out(trainer.take_events()), [5 + u32::from(patient)]);
    }
    assert_valid(&device);
}

#[test]
fn too_many_visible_end_the_run() {
    let device = open();
    let mut trainer = trainer(
        &device,
        &profile(&[("debug.v_cap", "256")]),
        Reduction::Segmented,
        &scene().model(),
    );
    let (view, target) = (camera(&scene(), 1), scene().target());
    let Err(TrainError::Stalled { counters, v_cap, .. }) = trainer.evaluate(&view, &target, false) else {
        unreachable!("more than 256 are visible")
    };
    assert_eq!((counters.stall(), v_cap), (Some(Stall::Visible), 256));
    trainer.advance(&view, &target).expect("submits");
    let error = trainer.drain().expect_err("stalls again, on its own");
    assert!(error.to_string().contains("iteration 1 sees"), "{error}");
    assert_valid(&device);
}

/// 800 000 Gaussians: their colours alone exceed a binding of 128 MiB. Takes minutes on a CPU, so only with `KILN_FULL`.
#[test]
fn a_model_larger_than_a_binding() {
    if std::env::var_os("KILN_FULL").is_none() {
        return;
    }
    let device = open();
    let model = Scene {
        count: 800_000,
        scales: [0.002, 0.01],
        ..scene()
    }
    .model();
    let run = |settings: &[(&str, &str)]| {
        let large = [("memory.max_gaussians", "800000"), ("debug.chunk", "524288")];
        let profile = profile(&[&large[..], settings].concat());
        let mut trainer = trainer(&device, &profile, Reduction::Segmented, &model);
        Run::new(&mut trainer, 3, |i| camera(&scene(), i), false)
    };
    let whole = run(&[]);
    for settings in [[("debug.bands", "3")], [("debug.i_cap", "1")]] {
        let banded = run(&settings);
        banded.assert_same(&whole, &format!("{settings:?}"));
    }
    assert_valid(&device);
}
