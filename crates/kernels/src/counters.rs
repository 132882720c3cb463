//! Counters that live on the device, and the table of indirect group counts.

use std::mem::offset_of;

use super::generated::common;
pub use super::generated::common::Counters;

/// Index of `gaussians` among the counters' words.
pub const WORD_GAUSSIANS: u32 = (offset_of!(Counters, gaussians) / 4) as u32;
/// Index of `visible` among the counters' words.
pub const WORD_VISIBLE: u32 = (offset_of!(Counters, visible) / 4) as u32;
/// Index of `intersections` among the counters' words.
pub const WORD_INTERSECTIONS: u32 = (offset_of!(Counters, intersections) / 4) as u32;

/// Why a step became a no-op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    /// More visible Gaussians than records.
    Visible,
    /// More tile intersections than slots.
    Intersections,
    /// A non-finite loss or 2D gradient.
    NonFinite,
    /// The driver cut a loop over the splats of a tile: image or gradients would miss some.
    Loops,
}

impl Counters {
    /// The stall reason, if any.
    #[must_use]
    pub fn stall(&self) -> Option<Stall> {
        match self.stalled {
            0 => None,
            common::STALL_VISIBLE => Some(Stall::Visible),
            common::STALL_INTERSECTIONS => Some(Stall::Intersections),
            common::STALL_NONFINITE => Some(Stall::NonFinite),
            _ => Some(Stall::Loops),
        }
    }
}

/// Slots of the indirect table.
#[derive(Clone, Copy, Debug)]
pub enum Args {
    /// 256 visible Gaussians a group.
    Visible,
    /// One sort block of visible Gaussians a group.
    VisibleSort,
    /// 256 intersections a group.
    Intersections,
    /// One sort block of intersections a group.
    IntersectionSort,
    /// One tile a group.
    Tiles,
    /// Half a tile a group.
    Halves,
    /// One tile with a list a group.
    Lists,
    /// One group, none when stalled.
    One,
    /// 256 Gaussians of all chunks a group; only inside a densification.
    Gaussians,
    /// 256 births or moves a group; only inside a densification.
    Moves,
    /// 64 visible Gaussians a group, once their intersections are known to fit.
    Emission,
    /// 256 Gaussians of a chunk a group.
    Chunk(u32),
}

impl Args {
    /// Index of the slot.
    #[must_use]
    pub fn slot(self) -> u32 {
        match self {
            Self::Visible => common::ARGS_VISIBLE,
            Self::VisibleSort => common::ARGS_VISIBLE_SORT,
            Self::Intersections => common::ARGS_INTERSECTIONS,
            Self::IntersectionSort => common::ARGS_INTERSECTION_SORT,
            Self::Tiles => common::ARGS_TILES,
            Self::Halves => common::ARGS_HALVES,
            Self::Lists => common::ARGS_LISTS,
            Self::One => common::ARGS_ONE,
            Self::Gaussians => common::ARGS_GAUSSIANS,
            Self::Moves => common::ARGS_MOVES,
            Self::Emission => common::ARGS_EMISSION,
            Self::Chunk(c) => common::ARGS_CHUNKS + c,
        }
    }

    /// Bytes of a table for `chunks` chunks.
    #[must_use]
    pub fn table_bytes(chunks: u32) -> u64 {
        16 * u64::from(common::ARGS_CHUNKS + chunks)
    }
}
