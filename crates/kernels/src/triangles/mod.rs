//! Triangles with shared vertices: projection of vertices, culling, lists of tiles, rasterisation and its gradients, and the
//! update of vertices. Depth order, sorts and tile ranges are those of splats.
//!
//! A step goes `project` (vertices) -> `cull`, `records` (triangles) -> depth sort -> `emit` -> tile sort -> `rasterize` -> losses ->
//! `backward` -> `fold` -> `gather` (vertices, over their triangles) -> `update`. Sums of a tile go to a triangle's emission slot
//! and are folded in order, and vertices gather in the order of their triangles: the same bytes every time, on any device.

mod backward;
mod forward;

use super::generated::common;
use kiln_program::Span;

pub use backward::{record_check, record_clear, record_normals, record_sums, record_terms, record_update};
pub use common::TriangleUniforms;
pub use forward::{
    record_band_count, record_cull, record_emit, record_histogram, record_prepare, record_project, record_rasterize,
};

/// Bits of [`TriangleUniforms::flags`].
pub mod flags {
    pub use super::common::TRIANGLES_MAXIMA as MAXIMA;
}

/// Pixels along the side of a tile with a list where a pixel has `samples` samples along each axis: the largest power of two whose
/// samples a workgroup of 16 x 16 threads has. Most triangles cover few samples, so a group should walk the list of its own only.
#[must_use]
pub const fn tile_px(samples: u32) -> u32 {
    let most = super::uniforms::TILE_PX / samples;
    if most == 0 { 1 } else { 1 << most.ilog2() }
}

/// Persistent state of one chunk of vertices, planes of `stride` words.
#[derive(Clone, Copy, Debug)]
pub struct VertexChunk {
    /// Number of the first vertex.
    pub first: u32,
    /// Vertices it can hold, a multiple of 256; also the plane length.
    pub stride: u32,
    /// Position and weight: 4 planes.
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
}

/// Which vertices make triangles, and which triangles have a vertex.
#[derive(Clone, Copy, Debug)]
pub struct Topology {
    /// Triangles there is room for.
    pub cap: u32,
    /// Corners 0, 1, 2 of every triangle, a word each.
    pub corners: [Span; 3],
    /// Bits of the largest blending weight of every triangle since it was cleared.
    pub importance: Span,
    /// Bits of the largest size on an image since it was cleared, samples.
    pub size: Span,
    /// First entry of every vertex in the list of rows, and one past the last of all.
    pub adjacency_starts: Span,
    /// The list of rows: entry e is word `e % cap` of tensor `e / cap`. An entry is three times a triangle plus its corner, rows
    /// ascend.
    pub adjacency: [Span; 3],
    /// One bit a triangle: drawn in this view.
    pub visible_mask: Span,
    /// Drawn triangles per 256, then offsets.
    pub group_visible: Span,
}

/// A vertex as the view sees it.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    /// Place on the image in samples, depth, opacity.
    pub screen: Span,
    /// Colour, three words.
    pub color: Span,
}

/// Records of drawn triangles, in the order of their numbers.
#[derive(Clone, Copy, Debug)]
pub struct Records {
    /// Number and faintest corner; box in tiles.
    pub record: Span,
    /// The vertices; bits of the opacity.
    pub corners: Span,
    /// Bits of the centre's depth.
    pub depth_keys: Span,
    /// Tiles of the box in the band.
    pub tile_counts: Span,
    /// First emission index.
    pub emission_start: Span,
    /// Gradients: of corners 0, 1, 2 place, depth and red; the other colours, opacity, radius.
    pub gradients: [Span; 5],
    /// Gradient of the normal; only where gradients are exact.
    pub gradient_normal: Option<Span>,
}

/// Sums of one tile each by emission slot, laid out as the gradients of [`Records`].
#[derive(Clone, Copy, Debug)]
pub struct Partials {
    /// Five vectors.
    pub sums: [Span; 5],
    /// Of the normal; only where gradients are exact.
    pub normal: Option<Span>,
}

/// What losses over vertices and normals add up in.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// A vector per 256 vertices.
    pub vertex_sums: Span,
    /// Their sum.
    pub vertex_total: Span,
    /// A word a tile.
    pub normal_sums: Span,
    /// Gradients of vertices as the view sees them: two vectors each.
    pub vertex_gradient: Span,
}
