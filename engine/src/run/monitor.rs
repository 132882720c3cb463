//! What is recorded beside the steps themselves: memory, telemetry, histograms, and a watch over the model's growth.

use super::RunError;
use super::growth::Plateau;
use super::memory_watch::MemoryWatch;
use crate::config::Profile;
use crate::record::events::{GpuRow, RunEvent};
use crate::record::sinks::Sinks;
use crate::record::telemetry::Telemetry;
use crate::train::{StepStatus, Trainer};
use crate::vk::{Caps, GpuSample};

/// Makes the events that are due by iteration.
pub(super) struct Monitor {
    memory: MemoryWatch,
    last_memory: Option<u32>,
    last_histograms: Option<u32>,
    telemetry: Option<Telemetry>,
    growth: Plateau,
}

impl Monitor {
    /// Watches a run on the device of `caps` for what its sinks record.
    pub(crate) fn new(profile: &Profile, caps: &Caps, sinks: &Sinks) -> Self {
        Self {
            memory: MemoryWatch::default(),
            last_memory: None,
            last_histograms: None,
            telemetry: sinks.want_telemetry().then(|| Telemetry::of(caps)).flatten(),
            growth: Plateau::new(profile),
        }
    }

    /// What is due after a step. Nothing is waited for.
    ///
    /// # Errors
    /// [`RunError::Grew`]; [`RunError::Train`] when the device is lost.
    pub(super) fn after_step(
        &mut self,
        status: &StepStatus,
        trainer: &mut Trainer,
        sinks: &Sinks,
    ) -> Result<Vec<RunEvent>, RunError> {
        let it = status.iteration;
        self.growth.check(it, status.counters.gaussians)?;
        // Most steps have nothing due, and an empty list takes no memory.
        let mut due = Vec::new();
        let histograms = trainer.take_histograms()?;
        // An evaluation of the same iteration may have brought its own.
        if let Some(histograms) = histograms.filter(|h| self.last_histograms != Some(h.it)) {
            self.last_histograms = Some(histograms.it);
            due.push(RunEvent::Histograms(histograms));
        }
        if sinks.gpu_due(it)
            && let Some(sample) = self.sample()
        {
            due.push(RunEvent::Gpu(GpuRow { it, sample }));
        }
        if sinks.memory_due(it) && self.last_memory != Some(it) {
            self.last_memory = Some(it);
            let (gpu, peaks, sample) = (trainer.gpu(), trainer.peaks(), self.sample());
            let row = self.memory.row(it, gpu, peaks, trainer.report(), sample);
            due.push(RunEvent::Memory(row));
        }
        Ok(due)
    }

    /// Histograms that belong to an evaluation, unless they have just been recorded.
    ///
    /// # Errors
    /// [`RunError::Train`].
    pub(super) fn at_evaluation(&mut self, trainer: &mut Trainer, sinks: &Sinks) -> Result<Option<RunEvent>, RunError> {
        let it = trainer.iteration();
        if !sinks.want_views() || self.last_histograms == Some(it) {
            return Ok(None);
        }
        self.last_histograms = Some(it);
        Ok(Some(RunEvent::Histograms(trainer.histograms()?)))
    }

    fn sample(&self) -> Option<GpuSample> {
        self.telemetry.as_ref().and_then(Telemetry::latest)
    }
}
