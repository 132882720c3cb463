//! What is told of the device itself while a run goes on: messages of the validation layer, and silence.

use std::sync::Arc;
use std::time::Duration;

use super::{RunError, Session, Trainer};
use crate::plan::Faults;
use crate::record::events::Event;
use crate::run::watchdog::{Silence, Watchdog};
use crate::vk::ValidationReport;

/// Messages of the layer that become events; the rest is only counted.
const TOLD: usize = 20;
/// Silence of a device at work after which it is told what it is at.
const SILENCE: Duration = Duration::from_secs(5);

/// Listens to the device of a run.
pub(super) struct DeviceWatch {
    report: Option<Arc<ValidationReport>>,
    /// Messages told.
    told: u64,
    dog: Watchdog,
}

impl DeviceWatch {
    /// Of the device of `trainer`; with `aloud`, silence is told on stderr while it lasts.
    pub(crate) fn new(faults: &Faults, trainer: &Trainer, aloud: bool) -> Self {
        let gpu = trainer.gpu();
        let (pulse, place) = (gpu.queue().progress().clone(), gpu.queue().progress().clone());
        let say = move |Silence { seconds, at }: &Silence| {
            if aloud {
                // The loop waits for the device, so nobody else writes now but the line of progress.
                eprintln!("\nwarning: the device has been at {at} for {seconds:.0} s");
            }
        };
        let limit = faults.silence_ms.map_or(SILENCE, |ms| Duration::from_millis(ms.into()));
        Self {
            report: gpu.device().instance().validation(),
            told: 0,
            dog: Watchdog::start(limit, move || pulse.pulse(), move || place.whereabouts(), say),
        }
    }

    /// What has come since the last call.
    fn news(&mut self) -> Vec<Event> {
        let silences = self.dog.take().into_iter();
        let mut events: Vec<Event> = silences
            .map(|Silence { seconds, at }| Event::Silence { seconds, at })
            .collect();
        if let Some(report) = self.report.as_ref().filter(|report| report.count() > self.told) {
            let all = report.messages();
            let from = usize::try_from(self.told).unwrap_or(usize::MAX).min(all.len());
            self.told = report.count();
            events.extend(all.into_iter().take(TOLD).skip(from).map(|message| Event::Validation {
                mode: report.mode().name().to_owned(),
                message,
            }));
        }
        events
    }
}

impl Session {
    /// Tells what has come from the device since the last call.
    pub(super) fn tell_device(&mut self) -> Result<(), RunError> {
        let it = self.trainer.iteration();
        self.device
            .news()
            .into_iter()
            .try_for_each(|event| self.event(it, event))
    }

    /// Ends the run as failed when the validation layer had anything to say.
    pub(super) fn check_validation(&mut self) -> Result<(), RunError> {
        self.tell_device()?;
        match &self.device.report {
            Some(report) if report.count() > 0 => Err(RunError::Validation {
                mode: report.mode().name(),
                count: report.count(),
                first: report.messages().into_iter().next().unwrap_or_default(),
            }),
            _ => Ok(()),
        }
    }
}
