//! Densification on the device against the CPU reference: selection, births, deaths, moves, reports.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests stop at the first surprise"
)]

mod camera_cull;
mod error_guided;
mod mcmc_relocate;
mod position_noise;
mod reorder;
mod rig;
mod scores;

use kiln::step::{Capacities, DensifyTensors, STAGING_BYTES};
use kiln_gaussians::layout::Storage;
use kiln_kernels::counters::{Args, Counters};
use kiln_kernels::densify::{Event, Options};
use kiln_program::TensorTable;
use kiln_twins::densify as twin;
use kiln_twins::gaussian::VALUES;
use rig::{ITERATION, Rig, SEED, State, random};

struct Case {
    n: u32,
    capacity: u32,
    chunk: u32,
    storage: Storage,
    degree: u32,
    staging_bytes: u64,
    options: Options,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            n: 3000,
            capacity: 8192,
            chunk: 1024,
            storage: Storage::Exact,
            degree: 1,
            staging_bytes: STAGING_BYTES,
            options: Options::default(),
        }
    }
}

impl Case {
    fn event(&self) -> Event {
        Event {
            options: self.options,
            extent: 1.0,
            capacity: self.capacity,
        }
    }

    /// Runs the twin and the device on `state` and compares; returns what the device reports.
    fn check(&self, state: &State) -> Counters {
        let (mut rig, program) = Rig::new(
            self.capacity,
            self.chunk,
            (self.storage, self.degree),
            self.staging_bytes,
            &self.event(),
        );
        rig.write(state, 0);
        rig.gpu.run(&program).unwrap();
        let found = rig.counters();

        let mut wanted = state.clone();
        let event = twin::Event {
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
            &event,
        );
        let live = wanted.gaussians.len();
        assert_eq!(found.gaussians as usize, live);
        assert_eq!(
            (found.clones, found.splits, found.deaths, found.capped, found.births),
            (
                report.cloned as u32,
                report.split as u32,
                report.pruned as u32,
                report.capped as u32,
                (report.cloned + report.split) as u32
            )
        );
        let [values, first, second, filter, statistics] = rig.read(live);
        for id in 0..live {
            let (g, m) = (&wanted.gaussians[id], &wanted.moments[id]);
            for (p, v) in values[id].iter().enumerate() {
                let w = g.values()[p];
                assert!(
                    (v - w).abs() <= 1e-5 * w.abs().max(1.0),
                    "Gaussian {id} value {p}: {v} for {w}"
                );
            }
            // Copies are exact, whatever was sampled.
            assert_eq!(values[id][3..7], g.quat);
            assert_eq!(values[id][10..], g.values()[10..values[id].len()]);
            let words = |values: [f32; VALUES], geometry: u32, sh: u32| {
                [&values[..geometry as usize], &values[11..11 + sh as usize]].concat()
            };
            let planes = rig.planes;
            let wanted = words(m.first.values(), planes.geometry_m, planes.sh_m);
            assert_eq!(first[id], wanted, "first moments of {id}");
            let wanted = words(m.second.values(), planes.geometry_v, planes.sh_v);
            assert_eq!(second[id], wanted, "second moments of {id}");
            assert_eq!(filter[id], [values[id][11]], "filter of {id}");
            assert_eq!(statistics[id], [0.0; 3], "statistics of {id}");
        }
        // The group counts per chunk are those of the new model.
        let slot = |chunk: u32| Args::Chunk(chunk).slot() as usize;
        let args: Vec<[u32; 4]> = rig
            .gpu
            .read(&rig.tensors.shared.args.clone(), slot(rig.tensors.chunks.len() as u32))
            .unwrap();
        for chunk in &rig.tensors.chunks {
            let here = found.gaussians.saturating_sub(chunk.first).min(chunk.stride);
            assert_eq!(args[slot(chunk.index)][..3], [here.div_ceil(256), 1, 1]);
        }
        rig.finish();
        found
    }
}

#[test]
fn abs_selection_clones_splits_and_prunes() {
    let case = Case {
        options: Options {
            prune_extent: Some(0.1),
            ..Options::default()
        },
        ..Case::default()
    };
    let report = case.check(&random(3000, 1, 1));
    assert!(
        report.clones > 100 && report.splits > 100 && report.deaths > 100,
        "{report:?}"
    );
    assert_eq!(report.capped, 0);
}

#[test]
fn gradient_selection_alone() {
    let case = Case {
        chunk: 256,
        degree: 0,
        options: Options {
            use_abs: false,
            ..Options::default()
        },
        ..Case::default()
    };
    let report = case.check(&random(2901, 0, 2));
    assert!(report.births > 100 && report.deaths > 100, "{report:?}");
}

#[test]
fn births_cross_chunks_through_a_single_row() {
    let case = Case {
        chunk: 256,
        capacity: 4096,
        degree: 3,
        staging_bytes: 1,
        ..Case::default()
    };
    let report = case.check(&random(1530, 3, 3));
    assert!(report.births > 256, "{report:?}");
}

#[test]
fn capped_growth_keeps_the_highest_scores_and_breaks_ties_by_id() {
    for use_abs in [true, false] {
        for capacity in [3001, 3072, 3100, 3251, 3300] {
            let case = Case {
                capacity,
                options: Options {
                    use_abs,
                    ..Options::default()
                },
                ..Case::default()
            };
            let report = case.check(&random(3000, 1, 4));
            assert_eq!(report.births, capacity - 3000);
            assert!(report.capped > 0, "{report:?}");
        }
    }
}

#[test]
fn a_full_model_only_prunes() {
    let report = Case {
        capacity: 3072,
        ..Case::default()
    }
    .check(&random(3072, 1, 5));
    assert_eq!(report.births, 0);
    assert!(report.capped > 0 && report.deaths > 100, "{report:?}");
}

#[test]
fn pruning_alone() {
    let mut state = random(3000, 1, 6);
    for s in &mut state.statistics {
        s.gradient_sum = 0.0;
    }
    let case = Case {
        chunk: 256,
        options: Options {
            use_abs: false,
            prune_extent: Some(0.02),
            ..Options::default()
        },
        ..Case::default()
    };
    let report = case.check(&state);
    assert!(report.births == 0 && report.deaths > 500, "{report:?}");
}

#[test]
fn everyone_may_die() {
    let mut state = random(700, 1, 7);
    for g in &mut state.gaussians {
        g.logit_opacity = -9.0;
    }
    assert_eq!(Case::default().check(&state).gaussians, 0);
}

#[test]
fn nothing_to_do_and_nobody_there() {
    let mut state = random(1000, 1, 8);
    for (g, s) in state.gaussians.iter_mut().zip(&mut state.statistics) {
        g.logit_opacity = 1.0;
        s.gradient_sum = 0.0;
    }
    let case = Case {
        options: Options {
            use_abs: false,
            ..Options::default()
        },
        ..Case::default()
    };
    let report = case.check(&state);
    assert_eq!((report.births, report.deaths, report.gaussians), (0, 0, 1000));
    assert_eq!(Case::default().check(&State::default()).gaussians, 0);
}

#[test]
fn all_or_none_above_the_gradient_threshold_is_no_special_case() {
    // No Gaussian above: Q is the largest abs statistic, which selects its owner. All above: Q is the smallest.
    for sum in [0.0, 1.0] {
        let mut state = random(900, 1, 9);
        for s in &mut state.statistics {
            s.count = s.count.max(1);
            s.gradient_sum = sum;
        }
        let births = Case::default().check(&state).births;
        assert_eq!(births, if sum > 0.0 { 900 } else { 1 });
    }
}

#[test]
fn a_stalled_run_stays_as_it_is() {
    let case = Case::default();
    let state = random(case.n, 1, 10);
    let (mut rig, program) = Rig::new(
        case.capacity,
        case.chunk,
        (case.storage, 1),
        case.staging_bytes,
        &case.event(),
    );
    rig.write(&state, 2);
    let before = (rig.counters(), rig.read(case.capacity as usize));
    rig.gpu.run(&program).unwrap();
    assert_eq!((rig.counters(), rig.read(case.capacity as usize)), before);
    rig.finish();
}

#[test]
fn bytes_depend_on_neither_run_nor_chunk_nor_staging() {
    let state = random(3000, 1, 11);
    let mut all = Vec::new();
    for (chunk, staging_bytes) in [(1024, STAGING_BYTES), (1024, STAGING_BYTES), (256, 1), (8192, 1 << 18)] {
        let case = Case {
            chunk,
            staging_bytes,
            ..Case::default()
        };
        let (mut rig, program) = Rig::new(case.capacity, chunk, (case.storage, 1), staging_bytes, &case.event());
        rig.write(&state, 0);
        rig.gpu.run(&program).unwrap();
        let counters = rig.counters();
        let bits: Vec<Vec<u32>> = rig
            .read(counters.gaussians as usize)
            .into_iter()
            .map(|part| part.concat().into_iter().map(f32::to_bits).collect())
            .collect();
        all.push((counters, bits));
        rig.finish();
    }
    assert!(all.iter().all(|one| *one == all[0]));
}

/// Codes move with their Gaussian as they are, and newborn Gaussians have none.
#[test]
fn codes_move_as_words() {
    for (storage, degree) in [
        (Storage::Half, 1),
        (Storage::Compact, 1),
        (Storage::Half, 2),
        (Storage::Compact, 0),
    ] {
        let case = Case {
            storage,
            degree,
            staging_bytes: 1 << 16,
            ..Case::default()
        };
        let report = case.check(&random(3000, 3, 1));
        assert!(report.splits > 100 && report.deaths > 100, "{report:?}");
    }
}

#[test]
fn staging_is_bounded_by_its_budget_but_has_a_row() {
    let rows = |staging_bytes: u64| {
        let capacities = Capacities::new(1 << 20, 256, 256, 3, [(16, 16)]);
        let d = DensifyTensors::new(&mut TensorTable::default(), &capacities, staging_bytes);
        (d.workspace.relocation.rows, d.workspace.relocation.staging.bytes)
    };
    assert_eq!(rows(0), (1, 2 << 20));
    assert_eq!(rows(STAGING_BYTES), (32, 64 << 20));
    assert_eq!(rows(u64::MAX), (64, 128 << 20));
}
