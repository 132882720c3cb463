//! Steps timed for `diagnose.timed_every`: they run as any other, from a recording that writes timestamps.

use super::{Flight, Trainer};
use crate::kernels::counters::Counters;
use crate::plan::{Job, schedule};
use crate::train::TrainError;
use crate::train::timing::TimedStep;
use crate::vk::Ticket;

impl Trainer {
    /// Submits the step whose photo is in `page` of the resident images, or in the ring.
    pub(super) fn submit_step(&mut self, slot: u32, page: usize) -> Result<Ticket, TrainError> {
        Ok(self.gpu.submit(self.jobs.need(Job::Step(page))?, slot)?)
    }

    /// Submits a step that runs whole, with timestamps if it is due and the device has a clock.
    pub(super) fn submit_timed(&mut self, slot: u32, flight: &mut Flight) -> Result<(), TrainError> {
        let is_due = flight.block.iteration.checked_rem(self.profile.diagnose.timed_every) == Some(0);
        let job = Job::Step(flight.page);
        let both = self.timed_jobs.get(job).zip(self.jobs.get(job));
        flight.ticket = match both.filter(|_| is_due) {
            Some((timed, untimed)) => {
                flight.is_timed = true;
                timed.cut_like(untimed);
                self.gpu.submit(timed, slot)?
            }
            None => self.submit_step(slot, flight.page)?,
        };
        Ok(())
    }

    /// Takes note of how long a finished step took, if it was timed.
    pub(super) fn note_times(&mut self, slot: u32, flight: &Flight, counters: &Counters) -> Result<(), TrainError> {
        let program = self.timed_jobs.get(Job::Step(flight.page)).filter(|_| flight.is_timed);
        if let Some(program) = program {
            self.timed.push(TimedStep {
                iteration: flight.block.iteration,
                sh_share: schedule::sh_share_at(&self.profile, flight.block.iteration),
                counters: *counters,
                passes: program.times(slot)?,
            });
        }
        Ok(())
    }
}
