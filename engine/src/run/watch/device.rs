//! What is reported of the device itself while a run goes on: messages of the validation layer, and silence.

use std::sync::Arc;
use std::time::Duration;

use super::silence::{Silence, Watchdog};
use super::{Context, Watch};
use crate::plan::Faults;
use crate::record::events::Event;
use crate::run::RunError;
use crate::train::Trainer;
use kiln_gpu::vk::{DeviceKind, ValidationReport};

/// Messages of the layer that become events; the rest is only counted.
const TOLD: usize = 20;
/// Silence of a device at work after which the run reports what it is at.
const SILENCE: Duration = Duration::from_secs(5);

/// Listens to the device of a run.
pub(super) struct DeviceWatch {
    report: Option<Arc<ValidationReport>>,
    /// Messages reported.
    reported: u64,
    dog: Watchdog,
}

impl DeviceWatch {
    /// Of the device of `trainer`; with `aloud`, silence is reported on stderr while it lasts.
    pub(crate) fn new(faults: &Faults, trainer: &Trainer, aloud: bool) -> Self {
        let gpu = trainer.gpu();
        let (pulse, place) = (gpu.queue().progress().clone(), gpu.queue().progress().clone());
        let say = move |Silence { seconds, at }: &Silence| {
            if aloud {
                // The loop waits for the device, so nobody else writes now but the line of progress.
                eprintln!("\nwarning: the device has been at {at} for {seconds:.0} s");
            }
        };
        // A CPU driver is at LPIPS for minutes, which it was asked for.
        let is_cpu = gpu.device().caps().kind == DeviceKind::Cpu;
        let at_lpips = move |place: &str| is_cpu && place.contains("`lpips");
        let limit = faults.silence_ms.map_or(SILENCE, |ms| Duration::from_millis(ms.into()));
        Self {
            report: gpu.device().instance().validation(),
            reported: 0,
            dog: Watchdog::start(
                limit,
                move || pulse.pulse().filter(|_| !at_lpips(&pulse.whereabouts())),
                move || place.whereabouts(),
                say,
            ),
        }
    }

    /// What has come since the last call.
    fn news(&mut self) -> Vec<Event> {
        let silences = self.dog.take().into_iter();
        let mut events: Vec<Event> = silences
            .map(|Silence { seconds, at }| Event::Silence { seconds, at })
            .collect();
        if let Some(report) = self.report.as_ref().filter(|report| report.count() > self.reported) {
            let all = report.messages();
            let from = usize::try_from(self.reported).unwrap_or(usize::MAX).min(all.len());
            self.reported = report.count();
            events.extend(all.into_iter().take(TOLD).skip(from).map(|message| Event::Validation {
                mode: report.mode().name().to_owned(),
                message,
            }));
        }
        events
    }
}

impl Watch for DeviceWatch {
    fn look(&mut self, ctx: &mut Context<'_>) {
        let it = ctx.trainer.iteration();
        for event in self.news() {
            ctx.tell(it, event);
        }
    }

    /// A run that the validation layer had anything to say of has failed.
    fn end(&mut self, ctx: &mut Context<'_>) -> Result<(), RunError> {
        self.look(ctx);
        match &self.report {
            Some(report) if report.count() > 0 => Err(RunError::Validation {
                mode: report.mode().name(),
                count: report.count(),
                first: report.messages().into_iter().next().unwrap_or_default(),
            }),
            _ => Ok(()),
        }
    }
}
