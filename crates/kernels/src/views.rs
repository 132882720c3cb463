//! The tensors that kernels share, grouped by what one element is.

use super::counters::Args;
use super::swaths::Swaths;
use kiln_gaussians::layout::{StatePlanes, Storage};
use kiln_program::{Groups, Span};

/// Bound by nearly every pass.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    /// [`super::uniforms::StepUniforms`].
    pub uniforms: Span,
    /// The same, and behind it the table of [`super::catch_up`] where SH is deferred, or the block of
    /// [`super::triangles`] where the model is of these.
    pub rates: Span,
    /// [`super::counters::Counters`].
    pub counters: Span,
    /// Indirect group counts, four words a slot.
    pub args: Span,
    /// 1 where some cameras have a lens: kernels that project can go through one.
    pub lens: u32,
}

impl Shared {
    /// Groups read from slot `args` of the indirect table.
    #[must_use]
    pub fn groups(&self, args: Args) -> Groups {
        Groups::Indirect(self.args.slice(16 * u64::from(args.slot()), 12))
    }
}

/// Persistent state of one chunk of Gaussians, planes of `stride` words.
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    /// Position in the list of chunks.
    pub index: u32,
    /// Id of the first Gaussian.
    pub first: u32,
    /// Gaussians it can hold, a multiple of 256; also the plane length.
    pub stride: u32,
    /// How values are stored.
    pub storage: Storage,
    /// Planes of each tensor that depends on it.
    pub planes: StatePlanes,
    /// Means, rotations, log scales, opacity logit: 11 planes.
    pub geometry: Span,
    /// First moments of the geometry.
    pub geometry_m: Span,
    /// Second moments of the geometry.
    pub geometry_v: Span,
    /// SH coefficients, plane `3 k + channel`.
    pub sh: Span,
    /// First moments of SH.
    pub sh_m: Span,
    /// Second moments of SH.
    pub sh_v: Span,
    /// 3D filter, 1 plane.
    pub filter_3d: Span,
    /// Gradient sum, absolute sum, count: 3 planes.
    pub statistics: Span,
    /// One bit a Gaussian.
    pub visible_mask: Span,
}

impl Chunk {
    /// First group of 256 Gaussians.
    #[must_use]
    pub fn first_group(&self) -> u32 {
        self.first / 256
    }
}

/// Records of visible Gaussians, in id order.
#[derive(Clone, Copy, Debug)]
pub struct Splats {
    /// Position (px), 3-sigma radius (px), opacity.
    pub position: Span,
    /// Conic A, B, C; depth.
    pub conic: Span,
    /// Colour; clamped-channel mask.
    pub color: Span,
    /// Bits of the depth.
    pub depth_keys: Span,
    /// Tiles touched.
    pub tile_counts: Span,
    /// First emission index; only with owners.
    pub emission_start: Span,
    /// Gradient of position, opacity; absolute statistic.
    pub gradient_a: Span,
    /// Gradient of the conic.
    pub gradient_b: Span,
    /// Gradient of the colour.
    pub gradient_c: Span,
    /// Normal and distance of the plane; only where surfaces are drawn.
    pub plane: Option<Span>,
    /// Gradient of the plane's normal and distance; only where surfaces are trained.
    pub gradient_d: Option<Span>,
}

/// Sums of one tile each by emission slot, with the segmented reduction: what adds up to the gradients of [`Splats`].
#[derive(Clone, Copy, Debug)]
pub struct Partials {
    /// Of position, opacity; absolute statistic.
    pub a: Span,
    /// Of the conic.
    pub b: Span,
    /// Of the colour.
    pub c: Span,
    /// Of the plane; only where surfaces are trained.
    pub d: Option<Span>,
}

/// One element per (tile, splat) pair.
#[derive(Clone, Copy, Debug)]
pub struct Intersections {
    /// Sorted payloads: splat, or emission index with owners.
    pub payloads: Span,
    /// Splat of each emission index; a dummy without owners.
    pub owners: Span,
    /// First and one-past-last sorted intersection of each tile.
    pub tile_ranges: Span,
    /// Tiles in the order in which they are rasterised; a dummy unless [`Variants::orders_tiles`] says so.
    pub tile_order: Span,
}

/// Bytes of a pixel of an image, and of its gradient.
pub const IMAGE_BYTES: u64 = 16;

/// One element per pixel.
#[derive(Clone, Copy, Debug)]
pub struct Pixels {
    /// Colour and final transmittance.
    pub image: Span,
    /// One-based position of the last contributor in the tile's list.
    pub last_contributor: Span,
    /// Gradient of the loss.
    pub gradient: Span,
    /// The ground truth: [`kiln_scene::Photo`]s, the step's own from word `image_offset` on.
    pub target: Span,
    /// Photos carry a mask.
    pub masked: bool,
    /// The gradient's fourth value is splatted back onto Gaussians by their blending weights, for scores.
    pub scores: bool,
    /// The absolute pull of every pixel on a Gaussian is summed, for densification.
    pub statistic: bool,
    /// How much of an image passes bind at once.
    pub swaths: Swaths,
    /// What is blended beside colours; only where surfaces are drawn.
    pub surface: Option<Surface>,
}

/// Blended planes and depths, and what comes of them; one element per pixel.
#[derive(Clone, Copy, Debug)]
pub struct Surface {
    /// Sums of normals and of distances by blending weights, camera space.
    pub plane: Span,
    /// Depth at which half the light is blocked; sum of depths by blending weights.
    pub depth: Span,
    /// Depth, 0 = none, and normal, 0 = none, camera space.
    pub map: Span,
    /// Gradient of the loss by `plane`; a dummy where surfaces are only drawn.
    pub gradient: Span,
    /// Gradient of the loss by the map's normal before it is normalised, and by the coverage 1 - T; a dummy likewise.
    pub normal_gradient: Span,
}

/// How gradients of a splat's tiles are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reduction {
    /// Partial sums per intersection, folded in emission order: the same bytes every time, on any device.
    Segmented,
    /// Subgroup sums added with native float atomics.
    Atomic,
    /// Subgroup sums added by compare-exchange loops on their bits, for devices without float atomics.
    CompareExchange,
}

impl Reduction {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Segmented => "segmented",
            Self::Atomic => "atomic",
            Self::CompareExchange => "compare_exchange",
        }
    }
}

/// How the threads of a rasteriser share a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Threads {
    /// One pixel per thread; losses go strip by strip.
    Pixels,
    /// One column of pixels per thread; losses go tile by tile.
    Columns,
    /// One tile per subgroup of eight lanes, for CPU drivers; losses go tile by tile.
    Lanes,
}

impl Threads {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pixels => "pixels",
            Self::Columns => "columns",
            Self::Lanes => "lanes",
        }
    }
}

/// How rasterisers go through a tile's list. All give the same bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loops {
    /// A record at a time.
    #[default]
    Long,
    /// A record at a time, on a driver that may end long loops: a step that it did so to is done again with [`Loops::Unrolled`].
    Cut,
    /// Several records a turn, and no loops inside: for 349 520 records a tile where a driver ends loops after 65 535 turns. More work
    /// where splats are small.
    Unrolled,
}

/// Kernel variants pinned for a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Variants {
    /// Gradient accumulation.
    pub reduction: Reduction,
    /// Lanes of a subgroup where the sort may use ballots; 0 for the variant without subgroup operations.
    pub sort_subgroup: u32,
    /// How rasterisers share a tile.
    pub threads: Threads,
    /// How they go through its list.
    #[serde(skip)]
    pub loops: Loops,
}

impl Variants {
    /// Those of steps in bands, which a step whose loops were cut becomes.
    #[must_use]
    pub fn for_bands(self) -> Self {
        let loops = match self.loops {
            Loops::Long => Loops::Long,
            Loops::Cut | Loops::Unrolled => Loops::Unrolled,
        };
        Self { loops, ..self }
    }

    /// Value of the `UNROLLED` constant.
    #[must_use]
    pub fn unrolled(&self) -> u32 {
        u32::from(self.loops == Loops::Unrolled)
    }

    /// True where a rasteriser takes tiles by [`Intersections::tile_order`]. Those that take a column a thread do not: on
    /// software drivers a few long tiles are spread over few threads anyway.
    #[must_use]
    pub fn orders_tiles(&self) -> bool {
        self.threads == Threads::Pixels || self.reduction != Reduction::Segmented
    }

    /// The name of these kernels among others of the same device, for people.
    #[must_use]
    pub fn name(&self) -> String {
        let reduction = self.reduction.name();
        let threads = self.threads.name();
        format!("{reduction}+{threads}")
    }

    /// Value of the `OWNERS` constant.
    #[must_use]
    pub fn owners(&self) -> u32 {
        u32::from(self.reduction == Reduction::Segmented)
    }
}
