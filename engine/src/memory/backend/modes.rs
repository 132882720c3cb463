//! How much unused memory an allocator may keep: the fragmentation modes.

use super::BackendKind;
use crate::memory::{GIB, MIB};

/// `memory.fragmentation`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fragmentation {
    /// Small blocks, given back at once, compacted early.
    Aggressive,
    /// In between.
    #[default]
    Normal,
    /// Large blocks, kept.
    Minimal,
}

/// What a mode stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Empty blocks that are kept.
    pub spare_blocks: usize,
    /// Share of the reserved bytes that may be unused; beyond it a check compacts.
    pub overhead: f64,
    /// Iterations between checks.
    pub every: u32,
    /// Check after each densification too.
    pub at_densify: bool,
}

impl Fragmentation {
    /// All modes, the most thrifty first.
    pub const ALL: [Self; 3] = [Self::Aggressive, Self::Normal, Self::Minimal];

    /// The word for `memory.fragmentation`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aggressive => "aggressive",
            Self::Normal => "normal",
            Self::Minimal => "minimal",
        }
    }

    /// What an allocator does when it is not told: those that plan waste nothing in large blocks.
    #[must_use]
    pub const fn of(kind: BackendKind) -> Self {
        match kind {
            BackendKind::Planned | BackendKind::Sparse => Self::Minimal,
            _ => Self::Normal,
        }
    }

    /// The numbers behind the mode.
    #[must_use]
    pub const fn policy(self) -> Policy {
        match self {
            Self::Aggressive => Policy {
                block_bytes: 64 * MIB,
                spare_blocks: 0,
                overhead: 0.10,
                every: 10,
                at_densify: true,
            },
            Self::Normal => Policy {
                block_bytes: 256 * MIB,
                spare_blocks: 1,
                overhead: 0.20,
                every: 50,
                at_densify: true,
            },
            Self::Minimal => Policy {
                block_bytes: GIB,
                spare_blocks: usize::MAX,
                overhead: 0.40,
                every: 100,
                at_densify: false,
            },
        }
    }
}

impl Policy {
    /// True when the allocator is to be checked after `iteration`.
    #[must_use]
    pub const fn is_due(&self, iteration: u32, topology_changed: bool) -> bool {
        iteration.is_multiple_of(self.every) || (topology_changed && self.at_densify)
    }
}
