//! How far a long stage is, and whether it goes on.

use std::ops::ControlFlow;

use crate::Error;

/// Called now and then with the fraction done, 0 to 1, which never decreases; [`ControlFlow::Break`] ends the stage with
/// [`Error::Stopped`].
pub type Progress<'a> = &'a mut dyn FnMut(f32) -> ControlFlow<()>;

/// Steps between two calls.
const EVERY: u64 = 1 << 14;

/// Counts steps and calls a [`Progress`] for a few of them.
pub(crate) struct Ticker<'a> {
    progress: Progress<'a>,
    /// Steps in all.
    total: u64,
    done: u64,
    next: u64,
}

impl<'a> Ticker<'a> {
    /// A stage of `total` steps.
    pub(crate) fn new(progress: Progress<'a>, total: u64) -> Self {
        Self {
            progress,
            total: total.max(1),
            done: 0,
            next: 0,
        }
    }

    /// Counts `steps` more.
    pub(crate) fn step(&mut self, steps: u64) -> Result<(), Error> {
        self.done += steps;
        if self.done < self.next {
            return Ok(());
        }
        self.next = self.done + EVERY;
        self.say()
    }

    /// For a stage that reports on its own, as so many steps of this one.
    pub(crate) fn part(&mut self, steps: u64) -> impl FnMut(f32) -> ControlFlow<()> {
        let start = self.done;
        move |fraction| {
            let now = start + (f64::from(fraction) * steps as f64) as u64;
            match self.step(now.saturating_sub(self.done)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        }
    }

    /// Ends the stage.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        self.done = self.total;
        self.say()
    }

    fn say(&mut self) -> Result<(), Error> {
        let fraction = (self.done as f64 / self.total as f64).min(1.0) as f32;
        match (self.progress)(fraction) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Stopped),
        }
    }
}
