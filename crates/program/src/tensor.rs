//! Named pieces of device memory, before they have an address.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Offsets are multiples of this many bytes: it satisfies every device's binding alignment seen so far.
pub const ALIGNMENT: u64 = 256;

/// Index of a tensor in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TensorId(usize);

/// Which set of blocks a tensor lives in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Lives as long as the run: model, moments, statistics.
    Persistent,
    /// Shares bytes with other arena tensors whose lifetimes do not overlap.
    Arena,
    /// Ground-truth image slots.
    Images,
    /// Counters, uniforms, small tables.
    Small,
    /// Host-visible, written by the host.
    Upload,
    /// Host-visible, read by the host.
    Readback,
}

impl Class {
    /// The word in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Persistent => "persistent",
            Self::Arena => "arena",
            Self::Images => "images",
            Self::Small => "small",
            Self::Upload => "upload",
            Self::Readback => "readback",
        }
    }

    /// True for what lies in device memory.
    #[must_use]
    pub const fn is_on_device(self) -> bool {
        !matches!(self, Self::Upload | Self::Readback)
    }

    /// Which blocks stay on the device longest when its memory is short, 0 to 1: what lives as long as the run before
    /// what is made anew in every step.
    #[must_use]
    pub const fn priority(self) -> f32 {
        match self {
            Self::Persistent | Self::Images | Self::Small => 1.0,
            Self::Arena => 0.75,
            Self::Upload | Self::Readback => 0.25,
        }
    }
}

/// What a tensor is for; the unit of memory reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tag {
    /// Model parameters.
    Parameters,
    /// Optimiser moments.
    Optimizer,
    /// Densification statistics and the smoothing filter.
    Statistics,
    /// Per-visible records: what projection leaves for the passes behind it.
    Visible,
    /// Lists of tile intersections.
    Intersections,
    /// Renders and other maps with an entry per pixel.
    Pixels,
    /// Gradients of records and parameters, and their sums by intersection.
    Gradients,
    /// Keys, values and counts that are sorted by depth and by tile.
    Sort,
    /// Maps, sums and image gradients of losses, an entry per pixel.
    Loss,
    /// Neighbours of Gaussians, and terms of the density over them.
    Neighbors,
    /// Workspaces of densification and of sorting the model.
    Densify,
    /// The network of LPIPS.
    Lpips,
    /// Ground-truth images on the device.
    Images,
    /// Rings between host and device.
    Staging,
    /// Everything else.
    Other,
}

impl Tag {
    /// The word in memory reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Parameters => "parameters",
            Self::Optimizer => "optimizer",
            Self::Statistics => "statistics",
            Self::Visible => "visible",
            Self::Intersections => "intersections",
            Self::Pixels => "pixels",
            Self::Gradients => "gradients",
            Self::Sort => "sort",
            Self::Loss => "loss",
            Self::Neighbors => "neighbors",
            Self::Densify => "densify",
            Self::Lpips => "lpips",
            Self::Images => "images",
            Self::Staging => "staging",
            Self::Other => "other",
        }
    }
}

/// A tensor before placement.
#[derive(Clone, Debug, Serialize)]
pub struct TensorDesc {
    /// Unique name, `group/name[chunk]`.
    pub name: String,
    /// Where it lives.
    pub class: Class,
    /// What it is for.
    pub tag: Tag,
    /// Size in bytes.
    pub bytes: u64,
    /// What those are, where it is a table.
    pub shape: Option<Shape>,
}

/// Rows of a tensor, in whatever order their values lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// How many.
    pub rows: u64,
    /// Bytes of each.
    pub row_bytes: u64,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {} B", self.rows, self.row_bytes)
    }
}

/// A byte range of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The tensor.
    pub tensor: TensorId,
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
}

impl TensorId {
    /// The tensor at a position of its table. Positions behind the last tensor stand for whole blocks of a plan.
    #[must_use]
    pub const fn at(position: usize) -> Self {
        Self(position)
    }

    /// Position in the table.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0
    }
}

impl Span {
    /// The part of this view that starts `offset` bytes in and is `bytes` long.
    #[must_use]
    pub fn slice(&self, offset: u64, bytes: u64) -> Self {
        Self {
            tensor: self.tensor,
            offset: self.offset + offset,
            bytes,
        }
    }
}

/// All tensors of a run.
#[derive(Clone, Debug, Default)]
pub struct TensorTable {
    tensors: Vec<TensorDesc>,
}

impl TensorTable {
    /// Adds a tensor and returns a view of all of it. Sizes round up to whole 16-byte units, and an empty tensor still
    /// has one unit so that it can be bound.
    pub fn add(&mut self, name: impl Into<String>, class: Class, tag: Tag, bytes: u64) -> Span {
        let bytes = bytes.max(1).next_multiple_of(16);
        self.tensors.push(TensorDesc {
            name: name.into(),
            class,
            tag,
            bytes,
            shape: None,
        });
        Span {
            tensor: TensorId(self.tensors.len() - 1),
            offset: 0,
            bytes,
        }
    }

    /// The same for a table of `rows` rows.
    pub fn add_rows(&mut self, name: impl Into<String>, class: Class, tag: Tag, rows: u64, row_bytes: u64) -> Span {
        let span = self.add(name, class, tag, rows * row_bytes);
        if let Some(tensor) = self.tensors.last_mut().filter(|_| rows > 1) {
            tensor.shape = Some(Shape { rows, row_bytes });
        }
        span
    }

    /// The tensors in the order they were added.
    #[must_use]
    pub fn tensors(&self) -> &[TensorDesc] {
        &self.tensors
    }

    /// The `most` largest tensors, largest first; of equal ones those that were added first.
    #[must_use]
    pub fn largest(&self, most: usize) -> Vec<&TensorDesc> {
        let mut tensors: Vec<_> = self.tensors.iter().collect();
        tensors.sort_by_key(|tensor| std::cmp::Reverse(tensor.bytes));
        tensors.truncate(most);
        tensors
    }

    /// Description of one tensor.
    #[must_use]
    pub fn get(&self, id: TensorId) -> Option<&TensorDesc> {
        self.tensors.get(id.0)
    }
}
