//! The trainer's side of races between kernels, and of timed steps; see [`super::race`].

use std::time::Instant;

use super::events::{Event, EventRow};
use super::timing::TimedStep;
use super::trainer::{Flight, no_place};
use super::{TrainError, Trainer, schedule};
use crate::kernels::counters::Counters;
use crate::vk::Ticket;

/// How a step in flight is timed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timed {
    /// Which of the ways it runs in.
    way: usize,
    /// It takes part in a race.
    is_raced: bool,
    /// Nanoseconds of the whole step by the host's clock, where the device has none.
    host_ns: Option<f64>,
}

impl Trainer {
    /// True when the next step should have the device for itself, because it is raced by the host's clock.
    pub(super) fn races_alone(&self) -> bool {
        self.race.is_on() && self.programs.ways.iter().all(|way| way.timed.is_empty())
    }

    /// Submits the step whose photo is in `page` of the resident images, or in the ring.
    pub(super) fn submit_step(&mut self, slot: u32, page: usize) -> Result<Ticket, TrainError> {
        self.bring_photo(slot, page)?;
        let ticket = self.submit_way(self.race.chosen(), slot, page)?;
        self.read_photo(page, ticket);
        Ok(ticket)
    }

    fn submit_way(&mut self, way: usize, slot: u32, page: usize) -> Result<Ticket, TrainError> {
        let program = self.programs.ways.get(way).and_then(|way| way.steps.get(page));
        let program = program.ok_or_else(|| no_place(page, 0))?;
        Ok(self.gpu.submit(program, slot)?)
    }

    /// Submits a step that runs whole, timed if `debug.timed_every` or a race says so.
    pub(super) fn submit_timed(&mut self, slot: u32, flight: &mut Flight) -> Result<(), TrainError> {
        self.bring_photo(slot, flight.page)?;
        let chosen = self.race.chosen();
        let is_whole = |programs: &super::compiled::Programs| {
            let steps = programs.ways.get(chosen).map(|way| &way.steps);
            steps
                .and_then(|steps| steps.get(flight.page))
                .is_some_and(|step| step.parts() == 1)
        };
        // A step that takes so long that it is submitted in parts is not raced: its rivals may take longer still.
        let raced = if is_whole(&self.programs) {
            self.race.turn()
        } else {
            None
        };
        let is_due = flight.block.iteration.checked_rem(self.profile.debug.timed_every) == Some(0);
        let way = raced.unwrap_or(chosen);
        let timed = self.programs.ways.get(way).and_then(|way| way.timed.get(flight.page));
        flight.timed = (raced.is_some() || (is_due && timed.is_some())).then_some(Timed {
            way,
            is_raced: raced.is_some(),
            host_ns: None,
        });
        flight.ticket = match (timed, &mut flight.timed) {
            (Some(program), Some(timed)) => {
                let untimed = self.programs.ways.get(way).and_then(|way| way.steps.get(flight.page));
                if let Some(untimed) = untimed.filter(|_| !timed.is_raced) {
                    program.cut_like(untimed);
                }
                self.gpu.submit(program, slot)?
            }
            (None, Some(timed)) => {
                let since = Instant::now();
                let ticket = self.submit_way(way, slot, flight.page)?;
                self.gpu.queue().wait(ticket, "a training step")?;
                timed.host_ns = Some(since.elapsed().as_secs_f64() * 1e9);
                ticket
            }
            (_, None) => self.submit_way(chosen, slot, flight.page)?,
        };
        self.read_photo(flight.page, flight.ticket);
        Ok(())
    }

    /// Takes note of how long a finished step took, if it was timed.
    pub(super) fn note_times(&mut self, slot: u32, flight: &Flight, counters: &Counters) -> Result<(), TrainError> {
        let Some(Timed { way, is_raced, host_ns }) = flight.timed else {
            return Ok(());
        };
        let iteration = flight.block.iteration;
        let program = self.programs.ways.get(way).and_then(|way| way.timed.get(flight.page));
        let passes = match program {
            Some(program) => program.times(slot)?,
            None => Vec::new(),
        };
        if is_raced {
            let contested = passes.iter().filter(|time| !self.programs.common.contains(time.pass));
            let ns = host_ns.unwrap_or_else(|| contested.map(|time| time.ns).sum());
            if let Some(result) = self.race.add(way, ns, counters) {
                self.events.push(EventRow {
                    it: iteration,
                    event: Event::Race(result),
                });
            }
        }
        if !is_raced && program.is_some() {
            self.timed.push(TimedStep {
                iteration,
                sh_share: schedule::sh_share_at(&self.profile, iteration),
                counters: *counters,
                passes,
            });
        }
        Ok(())
    }
}
