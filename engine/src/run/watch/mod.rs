//! Everything that looks at the steps of a run, a file each.
//!
//! The loop calls every [`Watch`] at the same moments and in the order of [`all`]. What a watcher has to say goes into the
//! run's record through [`Context::tell`]; what it wants done differently goes into [`Orders`]. A new check of a run is a
//! file here and a line in [`all`].

mod capacity;
mod collapse;
mod device;
mod growth;
mod guard;
mod histograms;
mod live;
mod memory;
mod not_finite;
mod overflow;
mod progress;
mod silence;
mod skipped_updates;
mod timings;

pub(super) use guard::Guard;
pub use guard::device_budget;

use super::RunError;
use crate::plan::{Faults, most_intersections};
use crate::record::events::{Event, EventRow, RunEvent};
use crate::record::run_folder::RunFolder;
use crate::record::sinks::Sinks;
use crate::train::checkpoint::CheckpointState;
use crate::train::{StepStatus, Trainer};
use kiln_config::Profile;
use kiln_gpu::memory::Gpu;

/// What watchers want of the loop.
pub(super) struct Orders {
    /// Photos may be decoded ahead of time.
    pub(super) prefetch: bool,
    /// Ends the run before its next step.
    pub(super) end: Option<RunError>,
    /// Steps want room for so many tile intersections, and the budget holds them.
    pub(super) room: Option<u32>,
}

impl Default for Orders {
    fn default() -> Self {
        Self {
            prefetch: true,
            end: None,
            room: None,
        }
    }
}

/// What a watcher may look at and change.
pub(super) struct Context<'a> {
    pub(super) trainer: &'a mut Trainer,
    pub(super) profile: &'a Profile,
    pub(super) sinks: &'a Sinks,
    pub(super) folder: &'a mut RunFolder,
    pub(super) orders: &'a mut Orders,
    /// Seconds of the training loop.
    pub(super) t_s: f64,
    /// What was said, in order.
    pub(super) rows: Vec<RunEvent>,
}

impl Context<'_> {
    /// Says `event` of iteration `it`.
    fn tell(&mut self, it: u32, event: Event) {
        self.rows.push(RunEvent::Event(EventRow { it, event }));
    }

    /// Ends the run before its next step, unless something else does already.
    fn end(&mut self, error: RunError) {
        self.orders.end.get_or_insert(error);
    }
}

/// Something that looks at steps.
pub(super) trait Watch {
    /// The run goes on from a checkpoint.
    fn resume(&mut self, _from: &CheckpointState) {}

    /// The first step of this process comes next.
    ///
    /// # Errors
    /// What ends the run at once; so in all others.
    fn start(&mut self, _ctx: &mut Context<'_>) -> Result<(), RunError> {
        Ok(())
    }

    /// Iteration `next` comes next.
    fn before(&mut self, _next: u32, _ctx: &mut Context<'_>) -> Result<(), RunError> {
        Ok(())
    }

    /// Time has passed: once a step, and whenever the loop has waited for all of them.
    fn look(&mut self, _ctx: &mut Context<'_>) {}

    /// The trainer reported `event`.
    fn event(&mut self, _event: &EventRow, _ctx: &mut Context<'_>) {}

    /// A step is over. Status words come some steps late and in order; steps that were left out have none.
    fn step(&mut self, _step: &StepStatus, _ctx: &mut Context<'_>) -> Result<(), RunError> {
        Ok(())
    }

    /// An evaluation begins; no step is in flight.
    fn evaluation(&mut self, _ctx: &mut Context<'_>) -> Result<(), RunError> {
        Ok(())
    }

    /// The last step of this process is over.
    fn end(&mut self, _ctx: &mut Context<'_>) -> Result<(), RunError> {
        Ok(())
    }
}

/// All watchers of a run with `views` training views, in the order in which they are called. With `aloud`, a silent device is reported on stderr while it
/// lasts.
pub(super) fn all(
    profile: &Profile,
    faults: &Faults,
    trainer: &Trainer,
    sinks: &Sinks,
    guard: Guard,
    views: usize,
    aloud: bool,
) -> Vec<Box<dyn Watch>> {
    vec![
        Box::new(device::DeviceWatch::new(faults, trainer, aloud)),
        Box::new(capacity::CapacityWatch::new(
            trainer.report(),
            &trainer.variants(),
            most_intersections(Gpu::limits(trainer.gpu().device()), &trainer.variants()),
        )),
        Box::new(skipped_updates::SkippedUpdates::default()),
        Box::new(overflow::Overflow),
        Box::new(collapse::Collapse::default()),
        Box::new(not_finite::NotFinite::new(views)),
        Box::new(timings::TimingsFile::default()),
        Box::new(guard),
        Box::new(growth::Growth::new(profile)),
        Box::new(histograms::Histograms::default()),
        Box::new(memory::MemoryRows::new(
            trainer,
            sinks,
            profile.schedule.iterations,
            views,
        )),
        Box::new(live::Live::new(profile)),
        Box::new(progress::ProgressNotes::default()),
    ]
}
