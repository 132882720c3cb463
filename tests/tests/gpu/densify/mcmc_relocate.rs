//! Relocation and births of the strategy `mcmc` on the device against the CPU reference.

use kiln::step::{STAGING_BYTES, mcmc_relocate};
use kiln_gaussians::layout::Storage;
use kiln_kernels::counters::Counters;
use kiln_kernels::mcmc_relocate::Event;
use kiln_scene::math::sigmoid;
use kiln_twins::mcmc_relocate as twin;

use super::rig::{ITERATION, Rig, SEED, State, random};

const DEAD: f32 = 0.005;

struct Case {
    capacity: u32,
    chunk: u32,
    storage: Storage,
    degree: u32,
    staging_bytes: u64,
    growth: f32,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            capacity: 8192,
            chunk: 1024,
            storage: Storage::Exact,
            degree: 1,
            staging_bytes: STAGING_BYTES,
            growth: 0.05,
        }
    }
}

impl Case {
    fn rig(&self, capacity: u32) -> (Rig, kiln_program::Program) {
        let event = Event {
            dead_opacity: DEAD,
            growth: self.growth,
            capacity,
        };
        Rig::with(
            self.capacity,
            self.chunk,
            (self.storage, self.degree),
            self.staging_bytes,
            |t, d| mcmc_relocate(t, d, &event),
        )
    }

    /// Runs the twin and the device on `state` and compares; returns what the device reports.
    fn check(&self, state: &State) -> Counters {
        let (mut rig, program) = self.rig(self.capacity);
        rig.write(state, 0);
        rig.gpu.run(&program).unwrap();
        let found = rig.counters();

        let mut wanted = state.clone();
        let event = twin::Event {
            seed: SEED,
            iteration: ITERATION,
            dead_opacity: DEAD,
            growth: self.growth,
            capacity: self.capacity,
            row: (self.capacity.next_multiple_of(256) / 2).next_multiple_of(64),
        };
        let report = twin::mcmc_relocate(
            &mut wanted.gaussians,
            &mut wanted.moments,
            &mut wanted.statistics,
            &event,
        );
        assert_eq!(found.gaussians as usize, wanted.gaussians.len());
        assert_eq!(found.deaths as usize, report.relocated);
        assert_eq!(found.births as usize, report.relocated + report.born);
        assert_eq!((found.clones, found.splits, found.capped), (found.births, 0, 0));
        rig.assert_state(&wanted, 7..11);
        rig.finish();
        found
    }
}

#[test]
fn the_dead_move_and_the_model_grows() {
    let state = random(3000, 1, 21);
    let report = Case::default().check(&state);
    assert!(
        report.gaussians == 3150 && (100..1500).contains(&report.deaths),
        "{report:?}"
    );
    // Few living take many copies each.
    let mut few = random(3000, 1, 22);
    for (id, g) in few.gaussians.iter_mut().enumerate() {
        g.logit_opacity = if id % 37 == 0 { g.logit_opacity.abs() } else { -9.0 };
    }
    let report = Case::default().check(&few);
    assert!(report.deaths > 2800, "{report:?}");
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
        assert!(case.check(&random(2901, 3, 23)).births > 200);
    }
}

#[test]
fn the_capacity_is_never_passed() {
    for (capacity, growth) in [(3001, 0.05), (3072, 0.5), (3072, 1.0), (6000, 0.5)] {
        let case = Case {
            capacity,
            growth,
            ..Case::default()
        };
        let report = case.check(&random(3000, 1, 24));
        assert_eq!(report.gaussians, capacity.min(3000 + (3000.0 * growth) as u32));
    }
    // Held growth: the program for a capacity of nothing.
    let (mut rig, program) = Case::default().rig(0);
    rig.write(&random(3000, 1, 24), 0);
    rig.gpu.run(&program).unwrap();
    let report = rig.counters();
    assert!(report.gaussians == 3000 && report.deaths > 100, "{report:?}");
    rig.finish();
}

#[test]
fn nobody_and_nobody_alive() {
    assert_eq!(Case::default().check(&State::default()).gaussians, 0);
    let mut state = random(700, 1, 25);
    for g in &mut state.gaussians {
        g.logit_opacity = -9.0;
    }
    assert_eq!(Case::default().check(&state).births, 0);
}

#[test]
fn a_stalled_run_stays_as_it_is() {
    let (mut rig, program) = Case::default().rig(8192);
    rig.write(&random(3000, 1, 26), 2);
    let before = (rig.counters(), rig.read(8192));
    rig.gpu.run(&program).unwrap();
    assert_eq!((rig.counters(), rig.read(8192)), before);
    rig.finish();
}

#[test]
fn bytes_depend_on_neither_run_nor_chunk_nor_staging() {
    let state = random(3000, 1, 27);
    let mut all = Vec::new();
    for (chunk, staging_bytes) in [(1024, STAGING_BYTES), (1024, STAGING_BYTES), (256, 1), (8192, 1 << 18)] {
        let case = Case {
            chunk,
            staging_bytes,
            ..Case::default()
        };
        let (mut rig, program) = case.rig(8192);
        rig.write(&state, 0);
        rig.gpu.run(&program).unwrap();
        let counters = rig.counters();
        let parts = rig.read(counters.gaussians as usize).into_iter();
        let bits: Vec<Vec<u32>> = parts
            .map(|part| part.concat().into_iter().map(f32::to_bits).collect())
            .collect();
        all.push((counters, bits));
        rig.finish();
    }
    assert!(all.iter().all(|one| *one == all[0]));
    assert!(state.gaussians.iter().any(|g| sigmoid(g.logit_opacity) <= DEAD));
}
