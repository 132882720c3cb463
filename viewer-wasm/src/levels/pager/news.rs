//! What a pager says of itself: what it holds, what it shows, and what is still to come.

use super::Pager;

impl Pager {
    /// Splats in the textures and those of them that are drawn, and levels that are still to come; nothing where that and the
    /// order are as they were.
    pub(crate) fn news(&mut self) -> Option<[u32; 3]> {
        let now = [self.held(), self.shown(), self.pending()];
        let changed = std::mem::take(&mut self.changed) | (now != self.told);
        self.told = now;
        changed.then_some(now)
    }

    pub(super) fn held(&self) -> u32 {
        let leaves = self.leaves.iter().zip(&self.index.leaves);
        let counts = leaves.flat_map(|(state, leaf)| state.places.iter().zip(&leaf.runs));
        counts
            .filter(|(place, _)| place.is_some())
            .map(|(_, run)| run.count)
            .sum()
    }

    fn shown(&self) -> u32 {
        let leaves = self.leaves.iter().zip(&self.index.leaves);
        leaves
            .filter_map(|(state, leaf)| Some(leaf.runs[state.shown?].count))
            .sum()
    }

    /// What is wanted, neither there nor lost.
    pub(super) fn pending(&self) -> u32 {
        let is_pending =
            |of: &(usize, usize)| !self.leaves[of.0].is_ready(of.1) && !self.chunks[self.run(*of).file].is_lost();
        self.wanted().filter(is_pending).count() as u32
    }

    /// Share of the coarsest levels that are there or will not be.
    pub(crate) fn share(&self) -> f64 {
        let n = self.choice.order.len();
        let done = self
            .wanted()
            .take(n)
            .filter(|of| self.leaves[of.0].is_ready(of.1) || self.chunks[self.run(*of).file].is_lost());
        done.count() as f64 / (n as f64).max(1.0)
    }
}
