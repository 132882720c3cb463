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
use super::cull::{ChunkPush, group_window};
use super::views::{Chunk, Shared, Splats};
use crate::program::{Program, Shader, View};
use crate::shader;

/// Zeroes the rows.
pub static CLEAR: Shader = shader!("gradient_store.clear", r counters, w store_a, w store_b, w store_c, w group_rows);
/// Rows to records.
pub static LOAD: Shader = shader!(
    "gradient_store.load", r counters, r visible_mask, r store_a, r store_b, r store_c, r band_mask, r group_in_band,
    w gradient_a, w gradient_b, w gradient_c
);
/// Records to rows.
pub static SAVE: Shader = shader!(
    "gradient_store.save", r counters, r visible_mask, w store_a, w store_b, w store_c, r band_mask, r group_in_band,
    r gradient_a, r gradient_b, r gradient_c, r splat_color
);
/// Finds values that are not finite.
pub static CHECK: Shader = shader!(
    "gradient_store.check", rw counters, r visible_mask, r store_a, r store_b, r store_c, r group_visible
);

/// Rows of one chunk, as many as it can hold Gaussians.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// Gradient of position, opacity; absolute statistic.
    pub a: View,
    /// Gradient of the conic; clamped-channel mask.
    pub b: View,
    /// Gradient of the colour.
    pub c: View,
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
    pub groups: View,
}

/// Appends the clear of every chunk's rows; `group_rows` has a word for every 256 Gaussians.
pub fn record_clear(program: &mut Program, shared: &Shared, chunks: &[Chunk], store: &[Rows], group_rows: View) {
    for (chunk, rows) in chunks.iter().zip(store) {
        let (groups, first_group) = group_window(group_rows, chunk);
        let views = [shared.counters, rows.a, rows.b, rows.c, groups];
        let push = ChunkPush::new(chunk, first_group);
        program.pass(&CLEAR, &[], &views, &push, shared.groups(Args::Chunk(chunk.index)));
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
        let views = [
            shared.counters,
            chunk.visible_mask,
            rows.a,
            rows.b,
            rows.c,
            inside.visible_mask,
            groups,
            splats.gradient_a,
            splats.gradient_b,
            splats.gradient_c,
        ];
        let push = ChunkPush::new(chunk, first_group);
        program.pass(&LOAD, &[], &views, &push, shared.groups(Args::Chunk(chunk.index)));
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
        let views = [
            shared.counters,
            chunk.visible_mask,
            rows.a,
            rows.b,
            rows.c,
            inside.visible_mask,
            groups,
            splats.gradient_a,
            splats.gradient_b,
            splats.gradient_c,
            splats.color,
        ];
        let push = ChunkPush::new(chunk, first_group);
        program.pass(&SAVE, &[], &views, &push, shared.groups(Args::Chunk(chunk.index)));
    }
}

/// Appends the search for values that are not finite; `group_visible` has the visible index of every group's first, so
/// that the index told is that of a step with records for all.
pub fn record_check(program: &mut Program, shared: &Shared, chunks: &[Chunk], store: &[Rows], group_visible: View) {
    for (chunk, rows) in chunks.iter().zip(store) {
        let (groups, first_group) = group_window(group_visible, chunk);
        let views = [shared.counters, chunk.visible_mask, rows.a, rows.b, rows.c, groups];
        let push = ChunkPush::new(chunk, first_group);
        program.pass(&CHECK, &[], &views, &push, shared.groups(Args::Chunk(chunk.index)));
    }
}
