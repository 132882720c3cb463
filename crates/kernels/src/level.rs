//! Points where the rays of pixels meet a level of the density of Gaussians, with outward normals (SuGaR, Guedon and Lepetit
//! 2024, sec. 4.2).
//!
//! | pass | over | does |
//! |---|---|---|
//! | `density_rows` | chunk | Gaussians at their ids, as the density reads them |
//! | `record_ids` | chunk | which Gaussian each visible record is of |
//! | `level_hits` | candidates | which Gaussian a pixel shows |
//! | `level_points` | candidates, per part of the neighbours | where the density around it rises through the level |
//!
//! Candidates are one pixel of each of equal shares of a picture, the same for every seed and view.

use super::counters::Args;
use super::cull::group_window;
use super::generated::{density_rows, level_hits, level_points, record_ids};
use super::neighbors;
use super::views::{Chunk, Intersections, Shared, Splats, Variants};
use kiln_program::{Groups, Program, Span};

/// Gaussians near the one that a pixel shows, itself among them, that make the density.
pub const NEAR: u32 = 16;
/// Bytes of a point: place and normal, world space; normal 0 where there is none.
pub const POINT_BYTES: u64 = 24;
/// Bytes of a Gaussian in each of [`Rows`].
pub const ROW_BYTES: u64 = 16;

/// All Gaussians by id, as the density reads them.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// Centre; opacity.
    pub centers: Span,
    /// Rotation (w, x, y, z) of length 1.
    pub rotations: Span,
    /// Inverse standard deviations.
    pub inverses: Span,
}

/// The level and who looks for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Pixels of a view that are looked from.
    pub candidates: u32,
    /// Density, above 0 and below 1.
    pub density: f32,
    /// Depths beyond it are none, world units.
    pub far: f32,
}

/// Appends what copies all Gaussians into `rows`. The group counts of chunks must be those of the Gaussians there are.
pub fn record_rows(program: &mut Program, shared: &Shared, chunks: &[Chunk], rows: &Rows) {
    for chunk in chunks {
        program.pass(
            &density_rows::KERNEL,
            (),
            density_rows::Bind {
                counters: shared.counters,
                geometry: chunk.geometry,
                filter_3d: chunk.filter_3d,
                centers: rows.centers,
                rotations: rows.rotations,
                inverses: rows.inverses,
            },
            density_rows::Push {
                stride: chunk.stride,
                first: chunk.first,
            },
            shared.groups(Args::Chunk(chunk.index)),
        );
    }
}

/// Appends what writes the ids of the records in the masks of `chunks`, whose offsets are in `groups`, into `ids`.
pub fn record_ids(program: &mut Program, shared: &Shared, chunks: &[Chunk], groups: Span, ids: Span) {
    for chunk in chunks {
        let (group_visible, first_group) = group_window(groups, chunk);
        program.pass(
            &record_ids::KERNEL,
            (),
            record_ids::Bind {
                counters: shared.counters,
                visible_mask: chunk.visible_mask,
                group_visible,
                record_ids: ids,
            },
            record_ids::Push {
                stride: chunk.stride,
                first: chunk.first,
                first_group,
            },
            shared.groups(Args::Chunk(chunk.index)),
        );
    }
}

/// Appends what writes the Gaussians that candidates in the band's tiles show into `hits`, a word each.
pub fn record_hits(
    program: &mut Program,
    shared: &Shared,
    splats: &Splats,
    intersections: &Intersections,
    (ids, hits): (Span, Span),
    candidates: u32,
    variants: &Variants,
) {
    program.pass(
        &level_hits::KERNEL,
        level_hits::Spec {
            owners: variants.owners(),
            unrolled: variants.unrolled(),
        },
        level_hits::Bind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            tile_ranges: intersections.tile_ranges,
            payloads: intersections.payloads,
            owners: intersections.owners,
            splat_position: splats.position,
            splat_conic: splats.conic,
            record_ids: ids,
            hits,
        },
        level_hits::Push { candidates },
        Groups::cover(candidates, 64),
    );
}

/// Appends what writes the points of the candidates from `first` on into `points`, as many as there is room for.
pub fn record_points(
    program: &mut Program,
    shared: &Shared,
    (rows, neighbors): (&Rows, &[neighbors::Part]),
    (hits, points): (Span, Span),
    level: &Level,
    first: u32,
) {
    let room = u32::try_from(points.bytes / POINT_BYTES).unwrap_or(u32::MAX);
    let batch = level.candidates.saturating_sub(first).min(room);
    program.fill(points, 0);
    for part in neighbors {
        program.pass(
            &level_points::KERNEL,
            (),
            level_points::Bind {
                uniforms: shared.uniforms,
                counters: shared.counters,
                hits,
                neighbors: part.neighbors,
                centers: rows.centers,
                rotations: rows.rotations,
                inverses: rows.inverses,
                points,
            },
            level_points::Push {
                candidates: level.candidates,
                first_candidate: first,
                batch,
                first: part.first,
                count: part.count,
                level: level.density,
                far: level.far,
            },
            Groups::cover(batch, 64),
        );
    }
}
