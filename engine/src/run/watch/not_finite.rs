//! Ends a run of which more than half an epoch was left out because steps were not finite.

use std::collections::VecDeque;

use super::{Context, Watch};
use crate::record::events::{Event, EventRow};
use crate::run::RunError;

/// Steps looked at where there are fewer training views.
const LEAST: u32 = 40;

/// Iterations that were left out, of the last epoch.
pub(super) struct NotFinite {
    epoch: u32,
    left_out: VecDeque<u32>,
}

impl NotFinite {
    /// For a run with `views` training views.
    pub(crate) fn new(views: usize) -> Self {
        Self {
            epoch: u32::try_from(views).unwrap_or(u32::MAX).max(LEAST),
            left_out: VecDeque::new(),
        }
    }

    /// Iteration `iteration` was left out; how many of the last epoch were, when that is more than half of it.
    fn add(&mut self, iteration: u32) -> Option<u32> {
        self.left_out.push_back(iteration);
        while self
            .left_out
            .front()
            .is_some_and(|first| iteration.saturating_sub(*first) >= self.epoch)
        {
            self.left_out.pop_front();
        }
        let count = u32::try_from(self.left_out.len()).unwrap_or(u32::MAX);
        (count > self.epoch / 2).then_some(count)
    }
}

impl Watch for NotFinite {
    fn event(&mut self, row: &EventRow, ctx: &mut Context<'_>) {
        if matches!(row.event, Event::Nonfinite { .. })
            && let Some(left_out) = self.add(row.it)
        {
            ctx.end(RunError::NotFinite {
                iteration: row.it,
                left_out,
                steps: self.epoch,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_an_epoch_is_borne_and_more_is_not() {
        let mut watch = NotFinite::new(100);
        // Every other step, for ever.
        assert!((0..1000).all(|k| watch.add(2 * k).is_none()));
        let mut watch = NotFinite::new(100);
        let ends = (1..1000).find(|it| watch.add(*it).is_some());
        assert_eq!(ends, Some(51));
        // A few photos are too few to judge by.
        let mut watch = NotFinite::new(3);
        assert_eq!((1..1000).find(|it| watch.add(*it).is_some()), Some(21));
    }
}
