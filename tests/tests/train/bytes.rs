//! The bytes of a training run's plan against a device and against the figures the project promises.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::collections::BTreeMap;
use std::path::Path;

use kiln::plan::{
    BytesPer, CapacitySource, Demand, DemandSource, Measures, PlanReport, TrainPlan, Unit, plan, scene_options,
};
use kiln::step::Capacities;
use kiln_config::{Profile, Storage};
use kiln_gaussians::morton::Frame;
use kiln_gpu::memory::{BlockRounding, Budget, GIB, Gpu, MIB, PlanLimits};
use kiln_kernels::views::{Loops, Reduction, Threads, Variants};
use kiln_program::Class;
use kiln_scene::SceneIndex;
use kiln_tests::setup::Setup;
use kiln_tests::{gpu, runs};

/// The limits of a card.
pub(super) const CARD: PlanLimits = PlanLimits {
    block_bytes: GIB,
    binding_bytes: 4 * GIB - 1,
    rounding: BlockRounding::NONE,
};

/// Kernels of a card with float atomics, and those that give the same bytes everywhere.
pub(super) const FAST: Variants = Variants {
    reduction: Reduction::Atomic,
    sort_subgroup: 32,
    threads: Threads::Pixels,
    loops: Loops::Long,
};
pub(super) const SEGMENTED: Variants = Variants {
    reduction: Reduction::Segmented,
    sort_subgroup: 0,
    threads: Threads::Columns,
    loops: Loops::Long,
};

const MODES: [Storage; 3] = [Storage::Exact, Storage::Half, Storage::Compact];

fn profile(settings: &[(&str, &str)]) -> Setup {
    runs::profile(Path::new("unused"), &[settings])
}

fn demand(gaussians: u32, visible_share: f64, per_visible: f64) -> Demand {
    Demand {
        gaussians,
        visible_share,
        mean_share: visible_share,
        intersections: visible_share * per_visible,
        per_visible,
        from: DemandSource::Assumed,
        bound: None,
        room: 0,
    }
}

/// The bundled scene with images of another size.
pub(super) fn scene(profile: &Profile, size_px: [u32; 2]) -> SceneIndex {
    let mut scene = SceneIndex::load(&runs::scene(), &scene_options(profile).unwrap()).unwrap();
    for view in scene.train.iter_mut().chain(&mut scene.test) {
        [view.camera.width_px, view.camera.height_px] = size_px;
    }
    scene
}

/// The plan of a run under a cap.
fn planned(
    settings: &[(&str, &str)],
    size_px: [u32; 2],
    demand: &Demand,
    cap_bytes: u64,
    variants: &Variants,
) -> (TrainPlan, PlanReport) {
    let profile = profile(settings);
    let scene = scene(&profile, size_px);
    let budget = Budget::of_profile(cap_bytes);
    plan(&profile, &scene, demand, budget, CARD, variants, &profile.faults).unwrap()
}

/// A plan whose training photos of `resident_bytes` each stay on the device.
fn train_plan(capacities: &Capacities, variants: &Variants, profile: &Profile, resident_bytes: &[u64]) -> TrainPlan {
    TrainPlan::new(
        capacities,
        variants,
        profile,
        Measures {
            max_focal_px: 500.0,
            extent: 3.0,
            near_distance: Some(1.0),
            frame: Frame::new([0.0; 3], 3.0),
        },
        resident_bytes,
        CARD.largest_tensor(),
    )
}

/// Capacities of many shapes: odd numbers, chunks that are not full, few and many intersections.
fn shapes() -> Vec<Capacities> {
    let mut list = Vec::new();
    for (n, v, i, degree, size, chunk) in [
        (3500, 3500, 1 << 20, 3, (80, 60), None),
        (5000, 4001, 4001, 0, (81, 53), Some(1024)),
        (1_000_001, 300_007, 2_000_003, 3, (1297, 840), None),
        (100_000, 100_000, 300_000, 1, (4001, 2999), Some(1 << 15)),
        (20_000, 20_000, 90_000, 2, (320, 240), None),
        (6_000_000, 3_500_000, 9_000_000, 3, (1297, 840), None),
    ] {
        for storage in MODES {
            let mut c = Capacities::new(n, v, i, degree, [size; 7]);
            c.chunk = chunk.unwrap_or(c.chunk);
            c.storage = storage;
            // Colours wait in every other.
            c.deferred_steps = if list.len() % 2 == 0 { 0 } else { 30_000 };
            list.push(c);
        }
    }
    list
}

#[test]
fn the_device_is_asked_for_what_was_planned() {
    let device = gpu::open();
    for capacities in shapes().into_iter().take(6) {
        for variants in [FAST, SEGMENTED] {
            let profile = profile(&[]);
            let plan = train_plan(&capacities, &variants, &profile, &[]);
            let placed = plan.place(Gpu::limits(&device)).unwrap();
            let before = (device.allocations(), device.reserved_bytes());
            let _gpu = Gpu::new(&device, plan.table.clone(), &plan.programs(), GIB).unwrap();
            assert_eq!(device.allocations() - before.0, placed.blocks.len() as u64);
            assert_eq!(device.reserved_bytes() - before.1, placed.device_bytes());
        }
    }
    gpu::assert_valid(&device);
}

fn per_gaussian(capacities: &Capacities) -> f64 {
    BytesPer::of(Unit::Gaussian, capacities, &FAST).class(Class::Persistent)
}

#[test]
fn a_gaussian_costs_what_was_promised() {
    for (storage, most, degree_3) in [
        (Storage::Exact, 740.0, 724.125),
        (Storage::Half, 460.0, 440.125),
        (Storage::Compact, 320.0, 304.125),
    ] {
        // A word says in how many steps colours took part, where they wait.
        let counted = |c: &Capacities| if c.deferred_steps > 0 { 4.0 } else { 0.0 };
        for capacities in shapes().into_iter().filter(|c| c.storage == storage) {
            let bytes = per_gaussian(&capacities);
            assert!(bytes <= most, "{bytes}");
            assert!(
                capacities.sh_degree < 3 || (bytes - degree_3 - counted(&capacities)).abs() < 1e-9,
                "{bytes}"
            );
            let plan = train_plan(&capacities, &FAST, &profile(&[]), &[]);
            let persistent = plan
                .table
                .tensors()
                .iter()
                .filter(|tensor| tensor.class == Class::Persistent);
            let all = persistent.map(|tensor| tensor.bytes).sum::<u64>() as f64;
            // A mask of bits ends in a word that is not full.
            let chunks = f64::from(capacities.n_cap.div_ceil(capacities.chunk));
            assert!(
                (all - bytes * f64::from(capacities.n_cap)).abs() <= 32.0 * chunks,
                "{all}, {bytes}"
            );
        }
    }
}

#[test]
fn lower_degrees_hold_no_planes_of_higher_ones() {
    for (storage, wanted) in MODES.into_iter().zip([
        [184.125, 292.125, 472.125, 724.125],
        [176.125, 224.125, 320.125, 440.125],
        [128.125, 160.125, 224.125, 304.125],
    ]) {
        for (degree, wanted) in (0..).zip(wanted) {
            let mut capacities = Capacities::new(1 << 20, 1 << 20, 1 << 20, degree, [(64, 64)]);
            capacities.storage = storage;
            let bytes = per_gaussian(&capacities);
            assert!((bytes - wanted).abs() < 1e-9, "{storage:?}, degree {degree}: {bytes}");
        }
    }
}

/// Room for every view as counted: nothing will have to run in bands.
fn has_room(report: &PlanReport) {
    let (c, d) = (&report.capacities, &report.demand);
    let n = f64::from(c.n_limit);
    assert!(f64::from(c.v_cap) >= 1.25 * n * d.visible_share, "{c:?}");
    assert!(f64::from(c.i_cap) >= 1.25 * n * d.intersections, "{c:?}");
    assert_ne!(report.capacities_from, CapacitySource::Short);
}

#[test]
fn six_million_gaussians_fit() {
    for (storage, gib) in [("exact", 5.6), ("half", 3.9), ("compact", 3.0)] {
        let cap = (gib * GIB as f64) as u64;
        let settings = [
            ("memory.max_gaussians", "6000000"),
            ("memory.storage", storage),
            ("eval.lpips", "true"),
        ];
        for (share, per_visible) in [(0.5, 3.0), (0.6, 4.0)] {
            let demand = demand(6_000_000, share, per_visible);
            let (plan, report) = planned(&settings, [1297, 840], &demand, cap, &FAST);
            assert!(plan.lpips.is_some() && report.device_bytes <= cap);
            assert_eq!(report.capacities.n_limit, 6_000_000);
            has_room(&report);
        }
    }
}

#[test]
fn the_largest_models_fit_7_2_gib() {
    let cap = (7.2 * GIB as f64) as u64;
    let views = [(0.3, 3.0), (0.4, 4.0)];
    for (storage, n, views) in [
        ("exact", 8_500_000, &views[..]),
        ("half", 13_000_000, &views),
        ("compact", 18_000_000, &views[..1]),
    ] {
        let count = n.to_string();
        let settings = [
            ("memory.max_gaussians", count.as_str()),
            ("memory.storage", storage),
            ("eval.lpips", "true"),
        ];
        for &(share, per_visible) in views {
            let demand = demand(n, share, per_visible);
            let (plan, report) = planned(&settings, [1297, 840], &demand, cap, &FAST);
            assert!(plan.lpips.is_some() && report.device_bytes <= cap);
            assert_eq!(report.capacities.n_limit, n);
            has_room(&report);
        }
    }
}

#[test]
fn a_million_gaussians_of_bonsai_take_at_most_1000_mib() {
    let settings = [("memory.max_gaussians", "1000000"), ("eval.lpips", "true")];
    let demand = demand(200_000, 0.3, 2.6);
    let (plan, report) = planned(&settings, [800, 533], &demand, 24 * GIB, &FAST);
    assert!(plan.lpips.is_some());
    assert!(report.device_bytes <= 1000 * MIB, "{} MiB", report.device_bytes / MIB);
    assert_eq!(report.capacities_from, CapacitySource::Generous);
    // The bytes that are the same everywhere cost more room, which a cap of that size takes from the intersections.
    let (_, report) = planned(&settings, [800, 533], &demand, 1000 * MIB, &SEGMENTED);
    assert!(report.device_bytes <= 1000 * MIB);
    assert_eq!(report.capacities.n_limit, 1_000_000);
    has_room(&report);
    let compact = [&settings[..], &[("memory.storage", "compact")]].concat();
    let (_, report) = planned(&compact, [800, 533], &demand, 600 * MIB, &FAST);
    assert!(report.device_bytes <= 600 * MIB, "{} MiB", report.device_bytes / MIB);
    has_room(&report);
}

#[test]
fn little_is_lost_between_tensors() {
    for (n, size_px, cap) in [
        (1_000_000, [800, 533], 24 * GIB),
        (6_000_000, [1297, 840], 24 * GIB),
        (6_000_000, [1297, 840], (5.6 * GIB as f64) as u64),
        (8_500_000, [1297, 840], (7.2 * GIB as f64) as u64),
        (20_000_000, [1600, 1064], 23 * GIB),
    ] {
        for variants in [FAST, SEGMENTED] {
            let count = n.to_string();
            let settings = [("memory.max_gaussians", count.as_str()), ("eval.lpips", "true")];
            let (plan, report) = planned(&settings, size_px, &demand(n, 0.3, 3.0), cap, &variants);
            let placed = plan.place(CARD).unwrap();
            let live = report.device_bytes - placed.class_bytes(Class::Arena) + placed.arena_live_bytes;
            let lost = report.device_bytes as f64 / live as f64;
            assert!(lost <= 1.02, "{n} Gaussians under {cap} bytes, {variants:?}: {lost}");
        }
    }
}

#[test]
fn a_step_owns_the_arena_and_everything_else_borrows_it() {
    let settings = [("memory.max_gaussians", "1000000"), ("eval.lpips", "true")];
    let (plan, report) = planned(&settings, [800, 533], &demand(200_000, 0.3, 2.6), 24 * GIB, &FAST);
    let uses: BTreeMap<&str, u64> = report.arena_uses.iter().map(|u| (u.name.as_str(), u.bytes)).collect();
    for name in [
        "step",
        "banded step",
        "banded evaluation",
        "evaluate",
        "densify",
        "lpips",
        "export",
    ] {
        assert!(uses.contains_key(name), "`{name}` is not among {uses:?}");
    }
    let first = &report.arena_uses[0];
    // With six intersections a Gaussian the worst moment is the gradient of a band: all records and their sums are held
    // while the band is sorted. A whole step needs nearly as much, for the sort of all intersections.
    assert_eq!(first.name, "banded step");
    assert!(uses["step"] > first.bytes - first.bytes / 20, "{uses:?}");
    assert_eq!(first.bytes, report.arena_live_bytes);
    assert_eq!(uses.values().max(), Some(&first.bytes));
    // Evaluation adds nothing: the same plan without LPIPS reserves the same.
    let without = [("memory.max_gaussians", "1000000"), ("eval.lpips", "false")];
    let (_, quiet) = planned(&without, [800, 533], &demand(200_000, 0.3, 2.6), 24 * GIB, &FAST);
    assert!(report.device_bytes - quiet.device_bytes <= quiet.device_bytes / 100);
    assert!(uses["lpips"] <= first.bytes && plan.lpips.is_some());
    // A model far larger than its images is densified in more bytes than a step takes.
    let capacities = Capacities::new(1_000_000, 1000, 1000, 3, [(64, 64)]);
    let tiny = train_plan(&capacities, &FAST, &profile(&[]), &[]);
    let peaks = tiny.place(CARD).unwrap().arena_peaks;
    let owner = peaks.iter().max_by_key(|p| p.bytes).unwrap();
    assert_eq!(owner.program, "densify");
}

#[test]
fn recipes_stop_at_their_ceilings_however_large_the_card() {
    for (settings, ceiling) in [
        (vec![], 6_000_000),
        (vec![("memory.max_gaussians", "up to 250000")], 250_000),
        (vec![("memory.max_gaussians", "400000")], 400_000),
        // 35 training photos of 80x60: the root of 168 000 pixels is 409.9. The lower bound holds, settings by hand go first.
        (vec![("train.gaussians_per_root_pixel", "100")], 40_987),
        (
            vec![
                ("train.gaussians_per_root_pixel", "100"),
                ("memory.max_gaussians", "up to 5000"),
            ],
            5000,
        ),
        (
            vec![
                ("train.gaussians_per_root_pixel", "100"),
                ("memory.max_gaussians", "400000"),
            ],
            400_000,
        ),
        // Never below what there is at the start.
        (vec![("memory.max_gaussians", "up to 1000")], 3500),
    ] {
        let (_, report) = planned(&settings, [80, 60], &demand(3500, 0.5, 4.0), 80 * GIB, &FAST);
        assert_eq!(report.capacities.n_limit, ceiling, "{settings:?}");
        assert!(report.capacities.n_cap - ceiling < 256);
        assert_eq!(report.capacities_from, CapacitySource::Generous);
    }
}

#[test]
fn a_small_card_lowers_the_ceiling_to_what_fits() {
    let cap = 2 * GIB;
    let demand = demand(100_000, 0.3, 3.0);
    let (_, report) = planned(&[], [800, 533], &demand, cap, &FAST);
    assert!(
        report.device_bytes <= cap && report.device_bytes > cap - cap / 50,
        "{}",
        report.device_bytes
    );
    assert!(
        (2_000_000..2_900_000).contains(&report.capacities.n_limit),
        "{:?}",
        report.capacities
    );
    assert_eq!(report.capacities_from, CapacitySource::Counted);
    has_room(&report);
    // A run that goes on with more Gaussians gets the same capacity.
    let later = Demand {
        gaussians: 1_234_567,
        ..demand
    };
    let (_, again) = planned(&[], [800, 533], &later, cap, &FAST);
    assert_eq!(again.capacities, report.capacities);
}

#[test]
fn room_is_given_up_before_gaussians() {
    let settings = [("memory.max_gaussians", "1000000"), ("eval.lpips", "false")];
    let profile = profile(&settings);
    let scene = scene(&profile, [800, 533]);
    // What the second scene was seen to need is all that a generous plan has.
    for (demand, expected) in [
        (demand(200_000, 0.3, 2.6), CapacitySource::Budget),
        (demand(200_000, 0.9, 6.0), CapacitySource::Short),
    ] {
        let full = planned(&settings, [800, 533], &demand, 24 * GIB, &FAST).1;
        let mut last = full.capacities;
        let mut sources = Vec::new();
        for mib in (700..900).rev().step_by(3) {
            let budget = Budget::of_profile(mib * MIB);
            let Ok((_, report)) = plan(&profile, &scene, &demand, budget, CARD, &FAST, &profile.faults) else {
                break;
            };
            let c = report.capacities;
            assert!(report.device_bytes <= mib * MIB);
            assert_eq!(c.n_limit, 1_000_000);
            assert!(
                c.v_cap <= last.v_cap && c.i_cap <= last.i_cap && c.i_cap >= c.v_cap,
                "{c:?} after {last:?}"
            );
            last = c;
            sources.push(report.capacities_from);
        }
        assert!(sources.contains(&expected), "{sources:?}");
    }
    let demand = demand(200_000, 0.3, 2.6);
    let forced = [&settings[..], &[("fault.v_cap", "1234"), ("fault.i_cap", "5678")]].concat();
    let (_, report) = planned(&forced, [800, 533], &demand, 24 * GIB, &FAST);
    assert_eq!((report.capacities.v_cap, report.capacities.i_cap), (1234, 5678));
    assert_eq!(report.capacities_from, CapacitySource::Forced);
}

/// A re-sort works in bytes that the arena has for other moments.
#[test]
fn sorting_fits_the_arena_of_steps() {
    let [sorted, fixed] = [&[][..], &[("strategy.kind", "fixed")]].map(|settings| {
        let of_run = [("memory.max_gaussians", "1000000")];
        let demand = demand(200_000, 0.3, 2.6);
        let (plan, report) = planned(&[settings, &of_run].concat(), [800, 533], &demand, 24 * GIB, &FAST);
        let arena = report.classes.iter().find(|(class, _)| *class == Class::Arena);
        let tensors = plan.table.tensors().iter();
        let sorting: Vec<Class> = tensors
            .filter(|t| t.name.starts_with("reorder/"))
            .map(|t| t.class)
            .collect();
        (arena.copied(), sorting)
    });
    assert_eq!(sorted.1, [Class::Arena; 6]);
    // Without densifications nothing is sorted after the first model.
    assert_eq!(fixed, (sorted.0, vec![]));
}
