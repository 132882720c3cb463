//! The guard's part of a run: what is looked at between steps, and what follows from it.

use super::{RunError, Session, StepStatus};
use crate::config::OnOverflow;
use crate::plan::schedule;
use crate::record::events::Event;
use crate::run::guard::Change;

impl Session {
    /// Says where the memory lies before the first step.
    pub(super) fn guard_start(&mut self) -> Result<(), RunError> {
        let it = self.trainer.iteration();
        self.probe(it)
    }

    /// What is due before iteration `next`: a look at the driver's figures, and the beginning of a measurement.
    pub(super) fn guard_before(&mut self, next: u32) -> Result<(), RunError> {
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
    pub(super) fn guard_after(&mut self, status: &StepStatus, t_s: f64) -> Result<(), RunError> {
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
    fn probe(&mut self, it: u32) -> Result<(), RunError> {
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

    fn guard_tell(&mut self, it: u32, events: impl IntoIterator<Item = Event>) -> Result<(), RunError> {
        for event in events {
            if self.guard.ends_the_run(&event)
                && let Event::Spill(evidence) = &event
            {
                let evidence = evidence.clone();
                self.end.get_or_insert(RunError::Spilled {
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
            self.end.get_or_insert(RunError::Overflow {
                iteration,
                dropped,
                n_cap,
            });
        }
    }

    /// Ends the run when something said that it must: what was reached is saved first.
    pub(super) fn guard_end(&mut self) -> Result<(), RunError> {
        let Some(end) = self.end.take() else { return Ok(()) };
        let done = self.trainer.iteration() > self.from;
        if done {
            self.settle()?;
            self.checkpoint()?;
        }
        Err(match end {
            RunError::Spilled { evidence, .. } => RunError::Spilled {
                iteration: self.trainer.iteration(),
                evidence,
                saved: done,
            },
            other => other,
        })
    }
}
