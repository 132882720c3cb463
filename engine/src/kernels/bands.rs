//! Intersections band by band: splats of every tile, from which the host packs bands, and each splat's tiles in a band.
//!
//! A band is a run of tiles in row-major order, `[band_begin, band_end)` of the uniforms; it may begin and end inside a
//! row of tiles.

use super::counters::Args;
use super::views::{Shared, Splats};
use crate::program::{Program, Shader, View};
use crate::shader;

/// Tiles of each visible splat inside the band.
pub static COUNT: Shader =
    shader!("band_count", r uniforms, r counters, r splat_position, r splat_conic, w tile_counts);
/// Splats of every tile.
pub static HISTOGRAM: Shader =
    shader!("band_count.histogram", r uniforms, r counters, r splat_position, r splat_conic, rw tile_histogram);

/// Appends the count of each splat's tiles inside the band; it replaces the counts over the whole image.
pub fn record_count(program: &mut Program, shared: &Shared, splats: &Splats) {
    let views = [
        shared.uniforms,
        shared.counters,
        splats.position,
        splats.conic,
        splats.tile_counts,
    ];
    program.pass(&COUNT, &[], &views, &(), shared.groups(Args::Visible));
}

/// Appends the clear and the count of splats per tile, one word a tile of the image.
pub fn record_histogram(program: &mut Program, shared: &Shared, splats: &Splats, tile_histogram: View) {
    program.fill(tile_histogram, 0);
    let views = [
        shared.uniforms,
        shared.counters,
        splats.position,
        splats.conic,
        tile_histogram,
    ];
    program.pass(&HISTOGRAM, &[], &views, &(), shared.groups(Args::Visible));
}
