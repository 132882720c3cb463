//! The lines of a trace.

use serde::{Deserialize, Serialize};

use super::Counts;
use kiln_program::{Class, Tag};

/// One line of a trace; all sizes in bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Line {
    /// A process begins: tensors and programs follow.
    Start(Start),
    /// A tensor; they are numbered from 0 in the order of their lines.
    Tensor(TensorLine),
    /// A program; numbered like tensors.
    Program(ProgramLine),
    /// A training step that is over.
    Step(Step),
    /// Work between steps.
    Work(Work),
    /// The number of Gaussians changed.
    Topology(Topology),
}

/// How a process came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Process {
    /// A new run.
    New,
    /// A run that goes on from a checkpoint.
    Resume,
}

/// Circumstances of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Start {
    /// Version of the format.
    pub(crate) version: u32,
    /// Name of the scene.
    pub(crate) scene: String,
    /// Name of the device.
    pub(crate) device: String,
    /// New or resumed.
    pub(crate) process: Process,
    /// Iterations that were already done.
    pub(crate) it: u32,
    /// Gaussians at the start.
    pub(crate) gaussians: u64,
    /// The allocator of the run.
    pub(crate) backend: String,
    /// Most bytes it might take.
    pub(crate) cap_bytes: u64,
    /// Most bytes of a block.
    pub(crate) block_bytes: u64,
    /// Bytes the driver adds to a block.
    pub(crate) extra_bytes: u64,
    /// What block sizes are rounded up to.
    pub(crate) granularity_bytes: u64,
    /// Room for Gaussians.
    pub(crate) n_cap: u64,
    /// Room for visible records.
    pub(crate) v_cap: u64,
    /// Room for tile intersections.
    pub(crate) i_cap: u64,
    /// Pixels of the largest image.
    pub(crate) max_pixels: u64,
    /// Gaussians in a chunk of the model.
    pub(crate) chunk: u64,
}

impl Start {
    /// The version of this page.
    pub(crate) const VERSION: u32 = 1;
}

/// What the size of a tensor follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    /// Gaussians from `first` on.
    Gaussians,
    /// Visible records.
    Visible,
    /// Tile intersections.
    Intersections,
    /// Pixels of the image.
    Pixels,
    /// Nothing.
    Fixed,
}

/// A tensor as it was planned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TensorLine {
    /// Unique name.
    pub(crate) name: String,
    /// Where it lives, and so how long: the arena's tensors within a program, host rings and all others as long as the
    /// process.
    pub(crate) class: Class,
    /// What it is for.
    pub(crate) tag: Tag,
    /// Bytes at capacity.
    pub(crate) bytes: u64,
    /// What its size would follow if it had no capacity.
    pub(crate) unit: Unit,
    /// First of the units that it holds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) first: u64,
    /// Units there is room for.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub(crate) of: u64,
    /// Rows of equal length, each used from its start.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub(crate) rows: u64,
}

/// When a program uses the arena.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProgramLine {
    /// Its name; programs that differ in a setting share it.
    pub(crate) name: String,
    /// Number of a tensor, first and last command that uses it.
    pub(crate) arena: Vec<(usize, usize, usize)>,
}

/// A training step that is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Step {
    /// Iteration.
    pub(crate) it: u32,
    /// Gaussians in the model.
    pub(crate) n: u64,
    /// Of these visible.
    pub(crate) v: u64,
    /// Tile intersections.
    pub(crate) i: u64,
    /// Pixels of the image.
    pub(crate) px: u64,
    /// Numbers of the programs that ran.
    pub(crate) runs: Vec<u32>,
}

/// What work between steps is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Phase {
    /// What follows the loading of a model.
    Start,
    /// Densification, pruning, opacity reset, 3D filter.
    Densify,
    /// Views rendered and measured.
    Eval,
    /// The perceptual measure.
    Lpips,
    /// A model is written.
    Export,
    /// A checkpoint is written.
    Checkpoint,
    /// A checkpoint is read.
    Resume,
}

/// Work between steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Work {
    /// Iterations done.
    pub(crate) it: u32,
    /// What for.
    pub(crate) phase: Phase,
    /// Pixels of the largest image.
    pub(crate) px: u64,
    /// Numbers of the programs that ran; none where the host only reads or writes.
    pub(crate) runs: Vec<u32>,
}

/// The number of Gaussians changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Topology {
    /// Iteration.
    pub(crate) it: u32,
    /// Gaussians from now on.
    pub(crate) n: u64,
    /// Bytes of the model, its moments and statistics for so many.
    pub(crate) live_bytes: u64,
    /// Bytes that the driver has given.
    pub(crate) reserved_bytes: u64,
    /// Seconds of training.
    pub(crate) t_s: f64,
}

impl TensorLine {
    /// Units in use for `counts`.
    pub(crate) fn used(&self, counts: &Counts) -> u64 {
        let count = match self.unit {
            Unit::Gaussians => counts.gaussians,
            Unit::Visible => counts.visible,
            Unit::Intersections => counts.intersections,
            Unit::Pixels => counts.pixels,
            Unit::Fixed => self.first + self.of,
        };
        count.saturating_sub(self.first).min(self.of)
    }

    /// Bytes of a row in use for `counts`.
    pub(crate) fn row_bytes_for(&self, counts: &Counts) -> u64 {
        let row = u128::from(self.bytes / self.rows);
        let bytes = (row * u128::from(self.used(counts))).div_ceil(u128::from(self.of));
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Bytes for `counts`; an empty tensor still has a few.
    pub(crate) fn bytes_for(&self, counts: &Counts) -> u64 {
        (self.rows * self.row_bytes_for(counts)).max(16).next_multiple_of(16)
    }
}

const fn is_zero(n: &u64) -> bool {
    *n == 0
}

const fn is_one(n: &u64) -> bool {
    *n == 1
}

const fn one() -> u64 {
    1
}
