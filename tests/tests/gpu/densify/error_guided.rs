//! Events of the strategy `error_guided` on the device against the CPU reference.

use kiln::step::{STAGING_BYTES, error_guided};
use kiln_gaussians::layout::Storage;
use kiln_kernels::counters::Counters;
use kiln_kernels::densify::{Event, GrowthCurve, Options};
use kiln_kernels::error_guided::{Births, Exponents};
use kiln_twins::{densify as events, error_guided as twin};

use super::rig::{ITERATION, Rig, SEED, State, random};

#[derive(Clone, Copy)]
struct Case {
    capacity: u32,
    chunk: u32,
    storage: Storage,
    degree: u32,
    staging_bytes: u64,
    options: Options,
    births: Births,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            capacity: 8192,
            chunk: 1024,
            storage: Storage::Exact,
            degree: 1,
            staging_bytes: STAGING_BYTES,
            options: Options {
                prune_extent: Some(0.3),
                ..Options::default()
            },
            births: Births {
                // Half of the way is gone.
                curve: GrowthCurve {
                    from: ITERATION - 300,
                    last: ITERATION + 300,
                    ramp: 1.7,
                    growth: 0.25,
                },
                exponents: Exponents {
                    error: 1.0,
                    abs_gradient: 0.5,
                },
            },
        }
    }
}

impl Case {
    fn run(&self, state: &State, stalled: u32) -> Rig {
        let event = Event {
            options: self.options,
            extent: 1.0,
            capacity: self.capacity,
        };
        let (mut rig, program) = Rig::with(
            self.capacity,
            self.chunk,
            (self.storage, self.degree),
            self.staging_bytes,
            |t, d| error_guided(t, d, &event, &self.births),
        );
        rig.write(state, stalled);
        rig.gpu.run(&program).unwrap();
        rig
    }

    /// Runs the twin and the device on `state` and compares; returns what the device reports.
    fn check(&self, state: &State) -> Counters {
        let mut rig = self.run(state, 0);
        let found = rig.counters();
        let mut wanted = state.clone();
        let event = events::Event {
            seed: SEED,
            iteration: ITERATION,
            extent: 1.0,
            capacity: self.capacity as usize,
        };
        let report = twin::densify(
            &mut wanted.gaussians,
            &mut wanted.moments,
            &mut wanted.statistics,
            &self.options,
            &self.births,
            &event,
        );
        assert_eq!(found.gaussians as usize, wanted.gaussians.len());
        assert_eq!(
            (found.clones, found.splits, found.deaths, found.capped),
            (
                report.cloned as u32,
                report.split as u32,
                report.pruned as u32,
                report.capped as u32
            )
        );
        rig.assert_state(&wanted, 0..11);
        rig.finish();
        found
    }
}

#[test]
fn the_highest_scores_give_birth_as_far_as_the_way_allows() {
    let report = Case::default().check(&random(3000, 1, 31));
    // A quarter of the model, where the way would allow more.
    assert!(
        report.splits + report.clones == 750 && report.clones > 100 && report.deaths > 100,
        "{report:?}"
    );
    let tight = Case {
        capacity: 4608,
        ..Case::default()
    };
    let report = tight.check(&random(3000, 1, 31));
    let goal = 4608.0 * (1.0 - 0.5_f64.powf(1.7));
    assert_eq!(report.births, (goal as u32).saturating_sub(3000));
    assert!(report.births > 0 && report.births < 750, "{report:?}");
}

#[test]
fn ingredients_are_switched_alone() {
    let state = random(2901, 1, 32);
    let mut seen: Vec<Counters> = Vec::new();
    for change in [
        |_: &mut Case| {},
        |case: &mut Case| case.options.clone_extent = 0.002,
        |case: &mut Case| case.options.prune_extent = None,
        |case: &mut Case| case.births.curve.growth = 0.01,
        |case: &mut Case| {
            case.births.exponents = Exponents {
                error: 0.0,
                abs_gradient: 1.0,
            };
        },
    ] {
        let mut case = Case {
            chunk: 256,
            ..Case::default()
        };
        change(&mut case);
        let report = case.check(&state);
        assert!(!seen.contains(&report), "{report:?}");
        seen.push(report);
    }
}

#[test]
fn chunks_rows_and_storage_do_not_matter() {
    for (chunk, staging_bytes, storage, degree) in [
        (256, 1, Storage::Exact, 3),
        (256, STAGING_BYTES, Storage::Half, 1),
        (8192, 1 << 18, Storage::Compact, 2),
    ] {
        let case = Case {
            chunk,
            staging_bytes,
            storage,
            degree,
            ..Case::default()
        };
        assert!(case.check(&random(2901, 3, 33)).births > 500);
    }
}

#[test]
fn no_births_beyond_the_cap_and_none_of_a_stalled_run() {
    let mut full = Case {
        capacity: 3072,
        ..Case::default()
    };
    full.births.curve.last = ITERATION;
    let report = full.check(&random(3072, 1, 34));
    assert!(report.births == 0 && report.deaths > 100, "{report:?}");
    assert_eq!(full.check(&State::default()).gaussians, 0);

    let state = random(3000, 1, 35);
    let mut rig = Case::default().run(&state, 2);
    assert_eq!(rig.counters().gaussians, 3000);
    let after = rig.read(3000);
    rig.write(&state, 2);
    assert_eq!(rig.read(3000), after);
    rig.finish();
}

#[test]
fn bytes_depend_on_neither_run_nor_chunk_nor_staging() {
    let state = random(3000, 1, 36);
    let mut all = Vec::new();
    for (chunk, staging_bytes) in [(1024, STAGING_BYTES), (1024, STAGING_BYTES), (256, 1), (8192, 1 << 18)] {
        let case = Case {
            chunk,
            staging_bytes,
            ..Case::default()
        };
        let mut rig = case.run(&state, 0);
        let counters = rig.counters();
        let parts = rig.read(counters.gaussians as usize).into_iter();
        let bits: Vec<Vec<u32>> = parts
            .map(|part| part.concat().into_iter().map(f32::to_bits).collect())
            .collect();
        all.push((counters, bits));
        rig.finish();
    }
    assert!(all.iter().all(|one| *one == all[0]));
}
