//! Steps in bands, and steps done again after a stall, leave what whole steps would have left.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use kiln::kernels::bands;
use kiln::kernels::views::{Loops, Reduction, Variants};
use kiln::record::events::{Event, EventRow, StallBuffer};
use kiln::step::{Capacities, StepTensors, evaluate_view};
use kiln::twins::bands::{count_in_band, tile_histogram};
use kiln_tests::banded::{BUSY, Run, behind, camera, profile, scene, told, trainer, trainer_with, words};
use kiln_tests::compare::{close, same};
use kiln_tests::gpu::{Gpu as Device, Keep, assert_valid, open, variants};
use kiln_tests::scenes::Scene;
use kiln_tests::setup::Setup;
use kiln_tests::stages::{Stages, staged};
use kiln_tests::twin::{Twin, uniforms};

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

fn forced(bands: &str) -> Setup {
    profile(&[("fault.bands", bands)])
}

#[test]
fn any_number_of_bands_gives_the_same_bytes() {
    let device = open();
    let run = |profile: &Setup| {
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

/// Steps that look at surfaces, from the third on, in bands of lists and of records.
#[test]
fn steps_that_look_at_surfaces_give_the_same_bytes_in_bands() {
    const LOSSES: (&str, &str) = (
        "losses",
        "[{ kind: l1 }, { kind: dssim }, { kind: normals, weight: 0.5, from: 3 }]",
    );
    let device = open();
    let run = |settings: &[(&str, &str)], reduction| {
        let profile = profile(&[&[LOSSES], settings].concat());
        let mut trainer = trainer(&device, &profile, reduction, &scene().model());
        Run::new(&mut trainer, 6, |i| camera(&scene(), i), false)
    };
    let whole = run(&[], Reduction::Segmented);
    let normals: Vec<f32> = whole.statuses.iter().map(|s| s.counters.normals).collect();
    assert_eq!(normals[..2], [0.0; 2]);
    assert!(normals[2..].iter().all(|mean| *mean > 0.0), "{normals:?}");
    let few: [&[(&str, &str)]; 4] = [
        &[("fault.bands", "2")],
        &[("fault.bands", "23")],
        &[("fault.v_cap", "150")],
        &[("fault.v_cap", "150"), ("fault.i_cap", "700")],
    ];
    for way in few {
        let banded = run(way, Reduction::Segmented);
        assert!(banded.banded > 0, "{way:?}");
        banded.assert_same(&whole, &format!("{way:?}"));
    }
    // With atomics the order of sums is not that of the whole step.
    let banded = run(&[("fault.v_cap", "150")], Reduction::CompareExchange);
    let losses = |run: &Run| run.statuses.iter().map(|s| s.counters.loss).collect::<Vec<f32>>();
    close("losses", &losses(&banded), &losses(&whole), 1e-3, 1e-3);
    assert_valid(&device);
}

/// Terms of the density, alone and with depths, in bands of lists and of records; neighbours are found anew on the way.
#[test]
fn steps_with_terms_of_the_density_give_the_same_bytes_in_bands() {
    let device = open();
    let terms = |variant: &str| {
        format!("[{{ kind: density, variant: {variant}, samples: 2000, k: 8, rebuild: 3, from: 2, prune: 0 }}]")
    };
    let blended = "[{ kind: l1 }, { kind: dssim }, { kind: dn_consistency, weight: 0.5, from: 4 }]";
    let image = "[{ kind: l1 }, { kind: dssim }]";
    for (variant, losses) in [("density", image), ("sdf", image), ("sdf", blended)] {
        let terms = terms(variant);
        let own = [("regularizers", terms.as_str()), ("losses", losses)];
        let run = |settings: &[(&str, &str)]| {
            let profile = profile(&[&own, settings].concat());
            let mut trainer = trainer(&device, &profile, Reduction::Segmented, &scene().model());
            Run::new(&mut trainer, 6, |i| camera(&scene(), i), false)
        };
        let whole = run(&[]);
        let density: Vec<f32> = whole.statuses.iter().map(|s| s.counters.density).collect();
        assert_eq!(density[0], 0.0);
        assert!(density[1..].iter().all(|mean| *mean > 0.0), "{variant}: {density:?}");
        for way in [("fault.bands", "23"), ("fault.v_cap", "150")] {
            let banded = run(&[way]);
            assert!(banded.banded > 0, "{way:?}");
            banded.assert_same(&whole, &format!("{variant} {losses} {way:?}"));
        }
    }
    assert_valid(&device);
}

/// What a step leaves out is the same in all of its bands.
#[test]
fn steps_that_leave_gaussians_out_give_the_same_bytes_in_bands() {
    const DROPPING: [(&str, &str); 2] = [("train.dropout", "0.5"), ("schedule.iterations", "12")];
    let device = open();
    let run = |settings: &[(&str, &str)]| {
        let profile = profile(&[&DROPPING, settings].concat());
        let mut trainer = trainer(&device, &profile, Reduction::Segmented, &scene().model());
        Run::new(&mut trainer, 6, |i| camera(&scene(), i), false)
    };
    let whole = run(&[]);
    let visible = |run: &Run| run.statuses.iter().map(|s| s.counters.visible).collect::<Vec<_>>();
    let all = run(&[("train.dropout", "0")]);
    let pairs: Vec<_> = visible(&whole).into_iter().zip(visible(&all)).collect();
    assert!(pairs.iter().all(|(some, all)| some < all), "{pairs:?}");
    let few: [&[(&str, &str)]; 3] = [
        &[("fault.bands", "7")],
        &[("fault.v_cap", "150")],
        &[("fault.v_cap", "150"), ("fault.i_cap", "700")],
    ];
    for way in few {
        let banded = run(way);
        assert!(banded.banded > 0, "{way:?}");
        banded.assert_same(&whole, &format!("{way:?}"));
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
    let run = |profile: &Setup, steps: u32| {
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
    let run = |profile: &Setup| {
        let mut trainer = trainer(&device, profile, Reduction::Segmented, &scene().model());
        Run::new(&mut trainer, 7, |i| camera(&scene(), i), false)
    };
    let whole = run(&profile(&[]));
    let least = whole.wanted().into_iter().min().expect("steps");
    for i_cap in ["1", "1000"] {
        // Raised to one tile's worth, which is as many as there are Gaussians.
        let tight = run(&profile(&[("fault.i_cap", i_cap)]));
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
    assert!(kinds(|e| matches!(e, Event::Filter { .. })) >= 2);
    let mut wanted = whole.wanted();
    wanted.sort_unstable();
    for part in [4, 8, 13] {
        let i_cap = wanted[part].to_string();
        for patient in [false, true] {
            let tight = run(&[("fault.i_cap", &i_cap)], patient);
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
        // Bands are drawn by other loops than whole steps, as on CPU drivers.
        let variants = Variants {
            loops: Loops::Cut,
            ..variants(Reduction::Segmented)
        };
        let mut trainer = trainer_with(&device, &profile(&all), &variants, &model);
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
        let banded = run(bad, &[("fault.bands", "3")], true);
        banded.assert_same(&late, &format!("in bands and one step at a time, {bad} left out"));
        run(bad, &[("fault.i_cap", "1")], false).assert_same(&late, &format!("small i_cap, {bad} left out"));
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

/// 720 000 Gaussians: their colours alone exceed a binding of 128 MiB. A twentieth of them is seen, because a CPU renders.
#[test]
fn a_model_larger_than_a_binding() {
    let device = open();
    let model = Scene {
        count: 720_000,
        scales: [0.002, 0.01],
        spread: [12.0, 9.0, 3.0],
        ..scene()
    }
    .model();
    let run = |settings: &[(&str, &str)]| {
        let large = [("memory.max_gaussians", "720000"), ("fault.chunk", "524288")];
        let profile = profile(&[&large[..], settings].concat());
        let mut trainer = trainer(&device, &profile, Reduction::Segmented, &model);
        Run::new(&mut trainer, 2, |i| camera(&scene(), i), false)
    };
    let whole = run(&[]);
    for settings in [
        [("fault.bands", "3")],
        [("fault.i_cap", "1")],
        [("fault.v_cap", "10000")],
    ] {
        let banded = run(&settings);
        banded.assert_same(&whole, &format!("{settings:?}"));
    }
    assert_valid(&device);
}
