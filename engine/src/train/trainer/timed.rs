//! Steps timed for `diagnose.timed_every`: they run as any other, from a recording that writes timestamps.

use super::{Flight, Trainer};
use crate::plan::{Job, schedule};
use crate::step::Terms;
use crate::train::TrainError;
use crate::train::timing::TimedStep;
use kiln_gpu::vk::Ticket;
use kiln_kernels::counters::Counters;

impl Trainer {
    /// Timed steps since the last call, oldest first; see `diagnose.timed_every`.
    pub fn take_timed(&mut self) -> Vec<TimedStep> {
        std::mem::take(&mut self.timed)
    }

    /// Submits a step that runs whole, behind the neighbour that it compares with.
    pub(super) fn submit_step(&mut self, slot: u32, flight: &Flight) -> Result<Ticket, TrainError> {
        if let Some(job) = flight.neighbor_job() {
            self.gpu.submit(self.jobs.need(job)?, slot)?;
        }
        Ok(self.gpu.submit(self.jobs.need(self.step_job(flight))?, slot)?)
    }

    /// The step as it runs whole.
    fn step_job(&self, flight: &Flight) -> Job {
        Job::Step(self.terms(flight), flight.page)
    }

    /// What the loss of a step looks at.
    pub(super) fn terms(&self, flight: &Flight) -> Terms {
        match flight.neighbor {
            Some(_) => Terms::Pair,
            None => schedule::terms_at(&self.profile, flight.block.iteration),
        }
    }

    /// Submits a step that runs whole, with timestamps if it is due and the device has a clock.
    pub(super) fn submit_timed(&mut self, slot: u32, flight: &mut Flight) -> Result<(), TrainError> {
        let is_due = flight.block.iteration.checked_rem(self.profile.diagnose().timed_every) == Some(0);
        let job = self.step_job(flight);
        let both = self.timed_jobs.get(job).zip(self.jobs.get(job));
        flight.ticket = match both.filter(|_| is_due) {
            Some((timed, untimed)) => {
                flight.is_timed = true;
                let neighbor = flight.neighbor_job();
                let both = neighbor.and_then(|job| self.timed_jobs.get(job).zip(self.jobs.get(job)));
                if let Some((timed, untimed)) = both {
                    timed.cut_like(untimed);
                    self.gpu.submit(timed, slot)?;
                }
                timed.cut_like(untimed);
                self.gpu.submit(timed, slot)?
            }
            None => self.submit_step(slot, flight)?,
        };
        Ok(())
    }

    /// Takes note of how long a finished step took, if it was timed.
    pub(super) fn note_times(&mut self, slot: u32, flight: &Flight, counters: &Counters) -> Result<(), TrainError> {
        let program = self.timed_jobs.get(self.step_job(flight)).filter(|_| flight.is_timed);
        if let Some(program) = program {
            let neighbor = flight.neighbor_job().and_then(|job| self.timed_jobs.get(job));
            let mut passes = neighbor.map_or_else(|| Ok(Vec::new()), |neighbor| neighbor.times(slot))?;
            passes.extend(program.times(slot)?);
            self.timed.push(TimedStep {
                iteration: flight.block.iteration,
                sh_share: schedule::sh_share_at(&self.profile, flight.block.iteration),
                counters: *counters,
                passes,
            });
        }
        Ok(())
    }
}
