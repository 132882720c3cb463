//! Says that Gaussians are left out of updates.
//!
//! A value that is not finite inside the fused update costs one Gaussian its step, and only the device's count shows
//! it. Said at the first one and whenever there are twice as many.

use super::{Context, Watch};
use crate::record::events::Event;
use crate::run::RunError;
use crate::train::StepStatus;
use crate::train::checkpoint::CheckpointState;

/// How many Gaussians were left out when it was said last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SkippedUpdates {
    said: u32,
}

impl SkippedUpdates {
    /// Takes note of the count since the run's start; a warning when it is news.
    fn note(&mut self, skipped: u32) -> Option<Event> {
        if skipped == self.said || skipped < self.said.saturating_mul(2) {
            return None;
        }
        self.said = skipped;
        let times = if skipped == 1 { "once" } else { "times" };
        let count = if skipped == 1 {
            String::new()
        } else {
            format!("{skipped} ")
        };
        Some(Event::Warning {
            message: format!(
                "the pass `update` left out a Gaussian {count}{times} so far, because its gradient was not finite; the \
                 others were updated"
            ),
        })
    }
}

impl Watch for SkippedUpdates {
    fn resume(&mut self, from: &CheckpointState) {
        self.said = from.skipped;
    }

    fn step(&mut self, step: &StepStatus, ctx: &mut Context<'_>) -> Result<(), RunError> {
        if let Some(event) = self.note(step.counters.skipped) {
            ctx.tell(step.iteration, event);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_at_first_and_when_it_doubles() {
        let mut skips = SkippedUpdates::default();
        let said: Vec<u32> = [0, 0, 1, 1, 2, 3, 3, 4, 7, 90, 100, 180]
            .into_iter()
            .filter(|count| skips.note(*count).is_some())
            .collect();
        assert_eq!(said, [1, 2, 4, 90, 180]);
        let mut resumed = SkippedUpdates { said: 6 };
        assert!(resumed.note(6).is_none() && resumed.note(11).is_none());
        let message = resumed.note(12).map(|event| event.to_string()).unwrap_or_default();
        assert!(
            message.contains("`update`") && message.contains("12 times"),
            "{message}"
        );
    }
}
