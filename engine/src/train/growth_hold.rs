//! When densifications add nothing because memory is short.

use std::collections::VecDeque;

/// At which iterations growth is held. Iterations are asked for again when steps are done again, so the answer for one
/// never changes once it was given.
#[derive(Clone, Debug, Default)]
pub(super) struct GrowthHold {
    /// First iteration, and whether growth is held from there on.
    changes: VecDeque<(u32, bool)>,
}

impl GrowthHold {
    /// Changes that are kept: more than happen while steps are in flight.
    const KEPT: usize = 16;

    /// Holds growth, or frees it, from iteration `from` on.
    pub(super) fn set(&mut self, from: u32, held: bool) {
        if self.changes.len() == Self::KEPT {
            self.changes.pop_front();
        }
        self.changes.push_back((from, held));
    }

    /// True when the densification after `iteration` must not add Gaussians.
    pub(super) fn is_held(&self, iteration: u32) -> bool {
        let last = self.changes.iter().rev().find(|(from, _)| *from <= iteration);
        last.is_some_and(|(_, held)| *held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_iteration_that_is_asked_for_again_gets_the_same_answer() {
        let mut hold = GrowthHold::default();
        assert!(!hold.is_held(1));
        hold.set(100, true);
        hold.set(200, false);
        assert_eq!(
            [99, 100, 199, 200].map(|it| hold.is_held(it)),
            [false, true, true, false]
        );
        for k in 0..100 {
            hold.set(300 + k, k % 2 == 0);
        }
        assert_eq!([398, 399, 500].map(|it| hold.is_held(it)), [true, false, false]);
    }
}
