//! Says that Gaussians are left out of updates.
//!
//! A value that is not finite inside the fused update costs one Gaussian its step, and only the device's count tells of
//! it. Said at the first one and whenever there are twice as many.

use crate::record::events::Event;

/// How many Gaussians were left out when it was said last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Skips {
    said: u32,
}

impl Skips {
    /// For a run that goes on with `skipped` so far.
    pub(super) const fn from(skipped: u32) -> Self {
        Self { said: skipped }
    }

    /// Takes note of the count since the run's start; a warning when it is news.
    pub(super) fn step(&mut self, skipped: u32) -> Option<Event> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_at_first_and_when_it_doubles() {
        let mut skips = Skips::default();
        let said: Vec<u32> = [0, 0, 1, 1, 2, 3, 3, 4, 7, 90, 100, 180]
            .into_iter()
            .filter(|count| skips.step(*count).is_some())
            .collect();
        assert_eq!(said, [1, 2, 4, 90, 180]);
        let mut resumed = Skips::from(6);
        assert!(resumed.step(6).is_none() && resumed.step(11).is_none());
        let message = resumed.step(12).map(|event| event.to_string()).unwrap_or_default();
        assert!(
            message.contains("`update`") && message.contains("12 times"),
            "{message}"
        );
    }
}
