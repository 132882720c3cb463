//! Histograms of the parameters, as the device counts them after steps and at evaluations.

use super::{Context, Watch};
use crate::record::events::RunEvent;
use crate::run::RunError;
use crate::train::StepStatus;

#[derive(Default)]
pub(super) struct Histograms {
    /// Iteration of the last ones.
    last: Option<u32>,
}

impl Watch for Histograms {
    fn step(&mut self, _: &StepStatus, ctx: &mut Context<'_>) -> Result<(), RunError> {
        let histograms = ctx.trainer.take_histograms()?;
        // An evaluation of the same iteration may have brought its own.
        if let Some(histograms) = histograms.filter(|h| self.last != Some(h.it)) {
            self.last = Some(histograms.it);
            ctx.rows.push(RunEvent::Histograms(histograms));
        }
        Ok(())
    }

    fn evaluation(&mut self, ctx: &mut Context<'_>) -> Result<(), RunError> {
        let it = ctx.trainer.iteration();
        if ctx.sinks.want_views() && self.last != Some(it) {
            self.last = Some(it);
            ctx.rows.extend(ctx.trainer.histograms()?.map(RunEvent::Histograms));
        }
        Ok(())
    }
}
