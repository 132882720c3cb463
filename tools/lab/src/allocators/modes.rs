//! How much unused memory `tlsf` may keep: the fragmentation modes.

use kiln_gpu::memory::{GIB, MIB};

/// How thrifty an allocator is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Fragmentation {
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
pub(crate) struct Policy {
    /// Bytes of a block.
    pub(crate) block_bytes: u64,
    /// Empty blocks that are kept.
    pub(crate) spare_blocks: usize,
    /// Share of the reserved bytes that may be unused; beyond it a check compacts.
    pub(crate) overhead: f64,
    /// Iterations between checks.
    pub(crate) every: u32,
    /// Check after each densification too.
    pub(crate) at_densify: bool,
}

impl Fragmentation {
    /// The word for `--fragmentation`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Aggressive => "aggressive",
            Self::Normal => "normal",
            Self::Minimal => "minimal",
        }
    }

    /// The numbers behind the mode.
    pub(crate) const fn policy(self) -> Policy {
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
    pub(crate) const fn is_due(&self, iteration: u32, topology_changed: bool) -> bool {
        iteration.is_multiple_of(self.every) || (topology_changed && self.at_densify)
    }
}
