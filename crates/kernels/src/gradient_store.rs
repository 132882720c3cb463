//! 2D gradients of all visible Gaussians, kept while bands of tiles take turns with the records.
//!
//! A store has 256 rows for every group of 256 Gaussians. The visible ones of a group take the first of its rows in id
//! order, so that `group_rows`, the first row of each group counted from the start of its chunk, is to the rows of a
//! chunk what the table of visible offsets is to the records: `update` reads either.
//!
//! | pass | per chunk |
//! |---|---|
//! | clear | zero rows, the table of first rows |
//! | load | rows of the Gaussians in the band to their records, which then go on adding |
//! | save | those records back, with the mask of clamped channels beside the conic's gradient |
//! | check | what `gradient_check` does with records |

use super::counters::Args;
use super::cull::group_window;
use super::generated::gradient_store;
use super::views::{Chunk, Shared, Splats};
use kiln_program::{Program, Span};

/// Rows of one chunk, as many as it can hold Gaussians.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// Gradient of position, opacity; absolute statistic.
    pub a: Span,
    /// Gradient of the conic; clamped-channel mask.
    pub b: Span,
    /// Gradient of the colour.
    pub c: Span,
    /// Gradient of the plane; only where surfaces are trained, and then records have it too.
    pub d: Option<Span>,
}

impl Rows {
    /// The rows in the place of records; only what `update` reads of records is there.
    #[must_use]
    pub fn as_splats(&self, splats: &Splats) -> Splats {
        Splats {
            color: self.b,
            gradient_a: self.a,
            gradient_b: self.b,
            gradient_c: self.c,
            gradient_d: self.d,
            ..*splats
        }
    }
}

/// The Gaussians of a band.
#[derive(Clone, Copy, Debug)]
pub struct InBand<'a> {
    /// The chunks, with the mask of the band instead of the whole view's.
    pub chunks: &'a [Chunk],
    /// First record of every 256 Gaussians.
    pub groups: Span,
}

/// Push constants of the passes over a chunk; `first_group` as [`group_window`] says it.
fn push(chunk: &Chunk, first_group: u32) -> gradient_store::Push {
    gradient_store::Push {
        stride: chunk.stride,
        first: chunk.first,
        first_group,
    }
}

/// Appends the clear of every chunk's rows; `group_rows` has a word for every 256 Gaussians.
pub fn record_clear(program: &mut Program, shared: &Shared, chunks: &[Chunk], store: &[Rows], group_rows: Span) {
    for (chunk, rows) in chunks.iter().zip(store) {
        let (groups, first_group) = group_window(group_rows, chunk);
        let bind = gradient_store::ClearBind {
            counters: shared.counters,
            store_a: rows.a,
            store_b: rows.b,
            store_c: rows.c,
            group_rows: groups,
        };
        let (push, at) = (push(chunk, first_group), shared.groups(Args::Chunk(chunk.index)));
        if let Some(store_d) = rows.d {
            let bind = gradient_store::ClearSurfaceBind { base: bind, store_d };
            program.pass(&gradient_store::CLEAR_SURFACE, (), bind, push, at);
        } else {
            program.pass(&gradient_store::CLEAR, (), bind, push, at);
        }
    }
}

/// Appends the copies from rows to the records of a band.
pub fn record_load(
    program: &mut Program,
    shared: &Shared,
    chunks: &[Chunk],
    store: &[Rows],
    band: &InBand<'_>,
    splats: &Splats,
) {
    for ((chunk, inside), rows) in chunks.iter().zip(band.chunks).zip(store) {
        let (groups, first_group) = group_window(band.groups, chunk);
        let bind = gradient_store::LoadBind {
            counters: shared.counters,
            visible_mask: chunk.visible_mask,
            store_a: rows.a,
            store_b: rows.b,
            store_c: rows.c,
            band_mask: inside.visible_mask,
            group_in_band: groups,
            gradient_a: splats.gradient_a,
            gradient_b: splats.gradient_b,
            gradient_c: splats.gradient_c,
        };
        let (push, at) = (push(chunk, first_group), shared.groups(Args::Chunk(chunk.index)));
        if let Some((store_d, gradient_d)) = rows.d.zip(splats.gradient_d) {
            let bind = gradient_store::LoadSurfaceBind {
                base: bind,
                store_d,
                gradient_d,
            };
            program.pass(&gradient_store::LOAD_SURFACE, (), bind, push, at);
        } else {
            program.pass(&gradient_store::LOAD, (), bind, push, at);
        }
    }
}

/// Appends the copies from the records of a band to rows.
pub fn record_save(
    program: &mut Program,
    shared: &Shared,
    chunks: &[Chunk],
    store: &[Rows],
    band: &InBand<'_>,
    splats: &Splats,
) {
    for ((chunk, inside), rows) in chunks.iter().zip(band.chunks).zip(store) {
        let (groups, first_group) = group_window(band.groups, chunk);
        let bind = gradient_store::SaveBind {
            counters: shared.counters,
            visible_mask: chunk.visible_mask,
            store_a: rows.a,
            store_b: rows.b,
            store_c: rows.c,
            band_mask: inside.visible_mask,
            group_in_band: groups,
            gradient_a: splats.gradient_a,
            gradient_b: splats.gradient_b,
            gradient_c: splats.gradient_c,
            splat_color: splats.color,
        };
        let (push, at) = (push(chunk, first_group), shared.groups(Args::Chunk(chunk.index)));
        if let Some((store_d, gradient_d)) = rows.d.zip(splats.gradient_d) {
            let bind = gradient_store::SaveSurfaceBind {
                base: bind,
                store_d,
                gradient_d,
            };
            program.pass(&gradient_store::SAVE_SURFACE, (), bind, push, at);
        } else {
            program.pass(&gradient_store::SAVE, (), bind, push, at);
        }
    }
}

/// Appends the search for values that are not finite; `group_visible` has the visible index of every group's first, so
/// that the reported index is that of a step with records for all.
pub fn record_check(program: &mut Program, shared: &Shared, chunks: &[Chunk], store: &[Rows], group_visible: Span) {
    for (chunk, rows) in chunks.iter().zip(store) {
        let (groups, first_group) = group_window(group_visible, chunk);
        let bind = gradient_store::CheckBind {
            counters: shared.counters,
            visible_mask: chunk.visible_mask,
            store_a: rows.a,
            store_b: rows.b,
            store_c: rows.c,
            group_visible: groups,
        };
        let (push, at) = (push(chunk, first_group), shared.groups(Args::Chunk(chunk.index)));
        if let Some(store_d) = rows.d {
            let bind = gradient_store::CheckSurfaceBind { base: bind, store_d };
            program.pass(&gradient_store::CHECK_SURFACE, (), bind, push, at);
        } else {
            program.pass(&gradient_store::CHECK, (), bind, push, at);
        }
    }
}
