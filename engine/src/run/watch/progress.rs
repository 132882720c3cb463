//! Notes in `run.json` how far the run is, every few seconds.

use std::time::{Duration, Instant};

use super::{Context, Watch};
use crate::run::RunError;
use crate::train::StepStatus;

/// Least time between two notes.
const EVERY: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(super) struct ProgressNotes {
    noted: Option<Instant>,
}

impl ProgressNotes {
    /// True when it is time for a note, which then counts as made.
    fn is_due(&mut self, now: Instant) -> bool {
        let is_due = self
            .noted
            .is_none_or(|noted| now.saturating_duration_since(noted) >= EVERY);
        if is_due {
            self.noted = Some(now);
        }
        is_due
    }
}

impl Watch for ProgressNotes {
    fn step(&mut self, step: &StepStatus, ctx: &mut Context<'_>) -> Result<(), RunError> {
        if self.is_due(Instant::now()) {
            ctx.folder.reach(step.iteration)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_come_at_once_and_every_five_seconds() {
        let (mut notes, start) = (ProgressNotes::default(), Instant::now());
        let due: Vec<u64> = (0..12)
            .filter(|s| notes.is_due(start + Duration::from_secs(*s)))
            .collect();
        assert_eq!(due, [0, 5, 10]);
    }
}
