//! Gaussians as PLY files, `binary_little_endian`, one element `vertex`.
//!
//! Owns two flavours: *raw* holds the optimiser's values and the 3D filter, so that training and evaluation can go
//! on from it; *fused* folds the filter into opacity and scale, for any 3DGS viewer. Both stream: a model of any size
//! passes through a buffer of fixed size. Headers carry comments naming what a renderer must know.

mod columns;
mod comments;
mod fuse;
mod notes;
mod parts;
mod read;
mod sound;
mod summary;
mod write;

pub use fuse::{Fused, MeanOpacity, fuse};
pub use notes::Notes;
pub use parts::PlyParts;
pub(in crate::export) use read::read_noted;
pub use read::{PlyError, read_ply};
pub(in crate::export) use sound::sift;
pub use summary::{PlySummary, Spread, summarize_ply};
pub use write::{PlyFlavor, PlyWriter, write_ply, write_points};

/// How a model is meant to be splatted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RenderMode {
    /// Screen-space dilation without compensation (Kerbl et al. 2023).
    #[default]
    Default,
    /// Screen-space filter with opacity compensation (Mip-Splatting, Yu et al. 2024).
    Mip,
}

impl RenderMode {
    /// The word in header comments.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Mip => "mip",
        }
    }

    /// The mode that a word stands for.
    pub(super) fn of(name: &str) -> Option<Self> {
        [Self::Default, Self::Mip].into_iter().find(|mode| mode.name() == name)
    }
}

/// What header comments say about a model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PlyComments {
    /// How it is meant to be splatted, where stated.
    pub render_mode: Option<RenderMode>,
    /// Variance of the screen-space filter in square pixels, where stated.
    pub kernel_size: Option<f32>,
    /// Training iteration it was saved at, where stated.
    pub iteration: Option<u64>,
    /// What its coordinates are relative to in those of its data set, where that is not zero.
    pub origin: Option<[f64; 3]>,
}

#[cfg(test)]
mod tests;
