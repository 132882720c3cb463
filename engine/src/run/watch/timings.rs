//! Adds up timed steps and writes `timings.json` at the end, under `diagnose.timed_every`.

use super::{Context, Watch};
use crate::export::write_json;
use crate::run::RunError;
use crate::train::checkpoint::CheckpointState;
use crate::train::{GaussianBytes, StepStatus, Timing};

const FILE: &str = "timings.json";

#[derive(Default)]
pub(super) struct TimingsFile {
    sums: Timing,
    /// Iterations and seconds of the run before this process.
    began: (u32, f64),
}

impl Watch for TimingsFile {
    fn resume(&mut self, from: &CheckpointState) {
        self.began = (from.iteration, from.t_s);
    }

    fn step(&mut self, _: &StepStatus, ctx: &mut Context<'_>) -> Result<(), RunError> {
        for step in ctx.trainer.take_timed() {
            self.sums.add(&step);
        }
        Ok(())
    }

    fn end(&mut self, ctx: &mut Context<'_>) -> Result<(), RunError> {
        let every = ctx.profile.diagnose().timed_every;
        if every == 0 {
            return Ok(());
        }
        let (from, t_s) = self.began;
        let trainer = &ctx.trainer;
        let iterations = trainer.iteration().saturating_sub(from);
        let bytes = GaussianBytes::of(&trainer.report().capacities, &trainer.variants());
        let report = self
            .sums
            .report(every, iterations, ctx.t_s - t_s, trainer.waited(), bytes);
        write_json(&ctx.folder.root().join(FILE), &report)?;
        Ok(ctx.folder.list([FILE])?)
    }
}
