//! The guard's part of a run: what is looked at between steps, and what follows from it.

use super::{Session, StepStatus, TrainError};
use crate::config::OnOverflow;
use crate::train::events::Event;
use crate::train::guard::Change;
use crate::train::schedule;

impl Session {
    /// Says where the memory lies before the first step.
    pub(super) fn guard_start(&mut self) -> Result<(), TrainError> {
        let it = self.trainer.iteration();
        self.probe(it)
    }

    /// What is due before iteration `next`: a look at the driver's figures, and the beginning of a measurement.
    pub(super) fn guard_before(&mut self, next: u32) -> Result<(), TrainError> {
        if self
            .guard
            .is_poll_due(next, schedule::events_at(&self.profile, next).densify)
        {
            let polled = self.guard.poll(next);
            match polled.change {
                Some(Change::Growth(on)) => self.trainer.hold_growth(!on),
                Some(Change::Bands(bands, _)) => self.trainer.press_bands(bands)?,
                // The guard is asked before each prefetch.
                Some(Change::Prefetch(_)) | None => {}
            }
            self.guard_tell(next, polled.events)?;
        }
        let done = next.saturating_sub(1);
        if done > 0 && self.guard.is_probe_due(done) {
            match self.guard.forced(done) {
                Some(_) => self.probe(done)?,
                None => self.trainer.begin_probe()?,
            }
        }
        Ok(())
    }

    /// What a finished step, `t_s` seconds into the training loop, tells.
    pub(super) fn guard_after(&mut self, status: &StepStatus, t_s: f64) -> Result<(), TrainError> {
        let it = status.iteration;
        let banded = self.trainer.banded_steps();
        let in_bands = std::mem::replace(&mut self.banded, banded) != banded;
        let resized = it > 0 && schedule::events_at(&self.profile, it - 1).densify;
        let slow = self.guard.step(it, t_s, !in_bands && !resized);
        self.guard_tell(it, slow)?;
        let Some(rates) = self.trainer.take_probe()? else {
            return Ok(());
        };
        if self.guard.is_suspicious(it, &rates) {
            // A device that somebody else uses too is slow now and then; one that lost memory is slow every time.
            return self.probe(it);
        }
        let events = self.guard.probed(it, &rates);
        self.guard_tell(it, events)
    }

    /// Measures where the memory lies, now.
    fn probe(&mut self, it: u32) -> Result<(), TrainError> {
        let rates = match self.guard.forced(it) {
            Some(rates) => Some(rates),
            None => self.trainer.probe()?,
        };
        let events = match rates {
            Some(rates) => self.guard.probed(it, &rates),
            None => self.guard.unprobed(it),
        };
        self.guard_tell(it, events)
    }

    fn guard_tell(&mut self, it: u32, events: impl IntoIterator<Item = Event>) -> Result<(), TrainError> {
        for event in events {
            if self.guard.ends_the_run(&event)
                && let Event::Spill(evidence) = &event
            {
                let evidence = evidence.clone();
                self.end.get_or_insert(TrainError::Spilled {
                    iteration: it,
                    evidence,
                    saved: false,
                });
            }
            self.event(it, event)?;
        }
        Ok(())
    }

    /// Takes note of a densification that did not get what it wanted.
    pub(super) fn note_overflow(&mut self, iteration: u32, event: &Event) {
        if let Event::DensifyCapped { dropped, n_cap } = *event
            && self.profile.memory.on_overflow == OnOverflow::Stop
        {
            self.end.get_or_insert(TrainError::Overflow {
                iteration,
                dropped,
                n_cap,
            });
        }
    }

    /// Ends the run when something said that it must: what was reached is saved first.
    pub(super) fn guard_end(&mut self) -> Result<(), TrainError> {
        let Some(end) = self.end.take() else { return Ok(()) };
        let done = self.trainer.iteration() > self.from;
        if done {
            self.settle()?;
            self.checkpoint()?;
        }
        Err(match end {
            TrainError::Spilled { evidence, .. } => TrainError::Spilled {
                iteration: self.trainer.iteration(),
                evidence,
                saved: done,
            },
            other => other,
        })
    }
}
