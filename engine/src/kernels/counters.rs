//! Counters that live on the device, and the table of indirect group counts.

/// Mirror of `Counters` in `shaders/common/step.glsl`; also the status word that the host reads late.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Counters {
    /// Sticky: 0, or why every later step is a no-op (see [`Stall`]).
    pub stalled: u32,
    /// Gaussians in use.
    pub gaussians: u32,
    /// Gaussians visible in this step.
    pub visible: u32,
    /// Tile intersections of this step.
    pub intersections: u32,
    /// Most visible Gaussians any step wanted.
    pub visible_wanted: u32,
    /// Most intersections any step wanted.
    pub intersections_wanted: u32,
    /// Iteration that stalled.
    pub stall_iteration: u32,
    /// Visible Gaussians with a non-finite 2D gradient.
    pub nonfinite: u32,
    /// Lowest visible index among them.
    pub nonfinite_index: u32,
    /// Gaussians skipped by the update for a non-finite gradient, since start.
    pub skipped: u32,
    /// Births of the last densification.
    pub births: u32,
    /// Deaths of the last densification.
    pub deaths: u32,
    /// Clones among the births.
    pub clones: u32,
    /// Splits among the births.
    pub splits: u32,
    /// Births given up because the capacity was reached.
    pub capped: u32,
    /// Iteration this word belongs to.
    pub iteration: u32,
    /// Loss.
    pub loss: f32,
    /// Mean absolute error.
    pub l1: f32,
    /// Mean SSIM.
    pub ssim: f32,
    /// Gaussians that the last cull removed.
    pub culled: u32,
}

/// Index of `gaussians` among the counters' words.
pub const WORD_GAUSSIANS: u32 = 1;
/// Index of `visible` among the counters' words.
pub const WORD_VISIBLE: u32 = 2;
/// Index of `intersections` among the counters' words.
pub const WORD_INTERSECTIONS: u32 = 3;

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
            1 => Some(Stall::Visible),
            2 => Some(Stall::Intersections),
            3 => Some(Stall::NonFinite),
            _ => Some(Stall::Loops),
        }
    }
}

/// Slots of the indirect table; `shaders/common/step.glsl` has the same.
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
            Self::Visible => 0,
            Self::VisibleSort => 1,
            Self::Intersections => 2,
            Self::IntersectionSort => 3,
            Self::Tiles => 4,
            Self::One => 5,
            Self::Gaussians => 6,
            Self::Moves => 7,
            Self::Emission => 8,
            Self::Chunk(c) => 9 + c,
        }
    }

    /// Bytes of a table for `chunks` chunks.
    #[must_use]
    pub fn table_bytes(chunks: u32) -> u64 {
        16 * u64::from(9 + chunks)
    }
}
