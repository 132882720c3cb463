//! Optimiser steps of SH that Gaussians out of view get when they are next in view.
//!
//! Owns who decides on it, the learning rates of all steps, and the moments at which everyone catches up: a densification
//! does in its own program ([`crate::step::densify()`]), a checkpoint and a copy of the model for the host do here. Steps,
//! evaluations and opacity resets need not.
//!
//! Steps are numbered as Adam counts them, without those that are skipped or left out. A step left out thus moves the rates of
//! all later ones, and the table is made anew; that Gaussians took part in steps of the old numbering changes nothing,
//! because those before it keep their numbers.
//!
//! It is off where equal runs give equal bytes. To catch up rounds once instead of at every step, so a run that is saved more
//! often would end in other last bits.

use std::mem::offset_of;

use super::{Flight, Trainer};
use crate::plan::Job;
use crate::plan::schedule::{self, group};
use crate::train::TrainError;
use kiln_config::Profile;
use kiln_config::plugins::{AdamOptions, Optimizer};
use kiln_kernels::catch_up;
use kiln_kernels::uniforms::StepUniforms;
use kiln_program::Program;

/// Learning rates of degree 0 and of all others at an iteration.
fn rates_at(profile: &Profile, iteration: u32) -> [f64; 2] {
    let Optimizer::AdamFused(adam) = &profile.optimizer;
    let share = schedule::others_share(profile, iteration);
    [adam.lr.sh0, adam.lr.sh_rest].map(|rate| share * f64::from(rate))
}

/// Learning rates of the optimiser's steps, past and to come.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Deferred {
    rates: Vec<[f64; 2]>,
}

impl Deferred {
    /// Of a run from its start, in which no step is left out.
    pub(crate) fn new(profile: &Profile) -> Self {
        let mut deferred = Self { rates: Vec::new() };
        deferred.go_on(profile, 0, 0);
        deferred
    }

    /// After `iteration` there were `steps` steps.
    fn go_on(&mut self, profile: &Profile, iteration: u32, steps: u32) {
        // Rates before a checkpoint are nobody's business: all Gaussians took part in those steps.
        self.rates.resize(steps as usize, [0.0; 2]);
        let runs = |iteration: &u32| schedule::adam_skip_mask(profile, *iteration) & group::SH_REST == 0;
        let later = (iteration + 1..=profile.schedule.iterations).filter(runs);
        self.rates.extend(later.map(|iteration| rates_at(profile, iteration)));
    }
}

impl Trainer {
    fn defers(&self) -> bool {
        self.tensors.capacities.deferred_steps > 0
    }

    /// Puts the table into device memory; nothing is in flight.
    pub(super) fn upload_rates(&mut self) -> Result<(), TrainError> {
        if self.defers() {
            let rows = catch_up::rows(AdamOptions::BETAS, &self.deferred.rates);
            let shared = &self.tensors.shared;
            let at = shared.uniforms.bytes;
            self.gpu
                .write(&shared.rates.slice(at, shared.rates.bytes - at), &rows)?;
        }
        Ok(())
    }

    /// After a checkpoint was loaded, in which everything is up to date.
    pub(super) fn restart_deferred(&mut self) -> Result<(), TrainError> {
        if !self.defers() {
            return Ok(());
        }
        let (iteration, steps) = (self.iteration(), self.steps.sh());
        self.deferred.go_on(&self.profile, iteration, steps);
        self.upload_rates()?;
        let mut program = Program::new("all took part");
        for chunk in &self.tensors.chunks {
            if let Some(plane) = chunk.planes.seen_plane() {
                let bytes = 4 * u64::from(chunk.stride);
                // Counts are f32 and below 2^24.
                program.fill(
                    chunk.sh_v.slice(u64::from(plane) * bytes, bytes),
                    (steps as f32).to_bits(),
                );
            }
        }
        Ok(self.gpu.run(&program)?)
    }

    /// The step of `flight` was left out; nothing is in flight.
    pub(super) fn leave_out_deferred(&mut self, flight: &Flight) -> Result<(), TrainError> {
        if !self.defers() {
            return Ok(());
        }
        self.deferred
            .go_on(&self.profile, flight.block.iteration, flight.block.sh_steps);
        self.upload_rates()
    }

    /// Waits for every step in flight and gives SH of all Gaussians the steps that they missed.
    pub(super) fn catch_up(&mut self) -> Result<(), TrainError> {
        self.finish()?;
        if let Some(program) = self.jobs.get(Job::CatchUp) {
            let at = offset_of!(StepUniforms, sh_steps) as u64;
            let steps = self.tensors.shared.uniforms.slice(at, 4);
            self.gpu.write(&steps, &[self.steps.sh()])?;
            self.gpu.run_compiled(program)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_config::{Inputs, Override, resolve};

    fn profile(settings: &[(&str, &str)]) -> Profile {
        let set = |(key, value): &(&str, &str)| Override {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
            flag: "--set".to_owned(),
        };
        resolve(&Inputs {
            recipe: Some("default".to_owned()),
            overrides: settings.iter().map(set).collect(),
            ..Inputs::default()
        })
        .unwrap()
    }

    #[test]
    fn rates_are_those_of_the_iterations_that_step() {
        let profile = profile(&[("optimizer.lr.cooldown", "1"), ("schedule.iterations", "1000")]);
        // Densifications at 600, 700, 800, 900 and the last iteration take no step.
        let skipped = |iteration: u32| schedule::adam_skip_mask(&profile, iteration) & group::SH_REST != 0;
        let mut deferred = Deferred::new(&profile);
        let all: Vec<u32> = (1..=1000).filter(|i| !skipped(*i)).collect();
        assert_eq!(all.len(), 995);
        let of = |list: &[u32]| list.iter().map(|i| rates_at(&profile, *i)).collect::<Vec<_>>();
        assert_eq!(deferred.rates, of(&all));
        assert!(deferred.rates[0][0] > 9.0 * deferred.rates[994][0]);
        // Iteration 42, the 42nd step, is left out: 43 is the 42nd then, and what was before stays.
        deferred.go_on(&profile, 42, 41);
        let rest: Vec<u32> = all.iter().copied().filter(|i| *i != 42).collect();
        assert_eq!(deferred.rates, of(&rest));
        // Goes on after iteration 650 with 40 steps left out before it.
        deferred.go_on(&profile, 650, 609);
        assert_eq!(deferred.rates.len(), 609 + all.iter().filter(|i| **i > 650).count());
        assert_eq!(deferred.rates[609], rates_at(&profile, 651));
    }
}
