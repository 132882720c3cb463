//! Things that belong together.

/// Disjoint sets of numbers, by union-find (Tarjan 1975, with path halving). The lowest number stands for each set.
pub(crate) struct Sets {
    parent: Vec<u32>,
}

impl Sets {
    /// Each of the numbers below `count` by itself.
    pub(crate) fn new(count: u32) -> Self {
        Self {
            parent: (0..count).collect(),
        }
    }

    /// The number that stands for the set of `of`.
    pub(crate) fn root(&mut self, mut of: u32) -> u32 {
        while self.parent[of as usize] != of {
            let above = self.parent[of as usize];
            self.parent[of as usize] = self.parent[above as usize];
            of = self.parent[of as usize];
        }
        of
    }

    /// Makes one set of two.
    pub(crate) fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a.max(b) as usize] = a.min(b);
    }
}
