//! Intersections band by band: splats of every tile, from which the host packs bands, and each splat's tiles in a band.
//!
//! A band is a run of tiles in row-major order, `[band_begin, band_end)` of the uniforms; it may begin and end inside a
//! row of tiles.

use super::counters::Args;
use super::generated::band_count;
use super::views::{Shared, Splats};
use kiln_program::{Program, Span};

/// Appends the count of each splat's tiles inside the band; it replaces the counts over the whole image.
pub fn record_count(program: &mut Program, shared: &Shared, splats: &Splats) {
    program.pass(
        &band_count::KERNEL,
        (),
        band_count::Bind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            splat_position: splats.position,
            splat_conic: splats.conic,
            tile_counts: splats.tile_counts,
        },
        (),
        shared.groups(Args::Visible),
    );
}

/// Appends the clear and the count of splats per tile, one word a tile of the image.
pub fn record_histogram(program: &mut Program, shared: &Shared, splats: &Splats, tile_histogram: Span) {
    program.fill(tile_histogram, 0);
    program.pass(
        &band_count::HISTOGRAM,
        (),
        band_count::HistogramBind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            splat_position: splats.position,
            splat_conic: splats.conic,
            tile_histogram,
        },
        (),
        shared.groups(Args::Visible),
    );
}
