//! What device memory a plugin asks for, before the plan.
//!
//! A plugin cannot allocate: it declares bytes per unit here, and a test holds the sum against the plan's tensors.

/// What a declared size is multiplied by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeedClass {
    /// Per Gaussian of the capacity (`n_cap`); lives as long as the run.
    PerGaussian,
    /// Per visible record (`v_cap`); lives within a step.
    PerVisible,
    /// Per tile intersection (`i_cap`); lives within a step.
    PerIntersection,
    /// Per pixel of the largest training image; lives within a step.
    PerPixel,
    /// Once.
    Fixed,
}

/// One declared buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// Buffer name in the memory table, `plugin.buffer`.
    pub name: &'static str,
    /// What `bytes` is multiplied by.
    pub class: NeedClass,
    /// Bytes per unit of `class`.
    pub bytes: u64,
}

/// The declared buffers of every plugin of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NeedList {
    needs: Vec<Need>,
}

impl NeedList {
    /// Adds a buffer of `bytes` per unit of `class`.
    pub fn add(&mut self, name: &'static str, class: NeedClass, bytes: u64) {
        self.needs.push(Need { name, class, bytes });
    }

    /// All declared buffers, in declaration order.
    #[must_use]
    pub fn needs(&self) -> &[Need] {
        &self.needs
    }

    /// Bytes per unit of one class.
    #[must_use]
    pub fn bytes(&self, class: NeedClass) -> u64 {
        self.needs.iter().filter(|n| n.class == class).map(|n| n.bytes).sum()
    }
}
