//! Blends the sorted splats of each tile front to back: `C = sum c_i a_i T_i`, `T_i = prod (1 - a_j)`.
//!
//! A splat counts where its exponent is not positive and its alpha is at least 1/255; alpha is capped at 0.99, and a
//! pixel stops before the splat that would take its transmittance below 1e-4.

use super::counters::Args;
use super::views::{Intersections, Pixels, Shared, Splats, Variants};
use crate::program::{Program, Shader};
use crate::shader;

/// One pixel a thread.
pub static PIXEL: Shader = shader!(
    "rasterize", r uniforms, rw counters, r tile_ranges, r payloads, r owners, r splat_position, r splat_conic,
    r splat_color, w image, w last_contributor, r tile_order
);
/// One pixel column a thread.
pub static COLUMN: Shader = shader!(
    "rasterize.column", r uniforms, rw counters, r tile_ranges, r payloads, r owners, r splat_position, r splat_conic,
    r splat_color, w image, w last_contributor
);
/// A subgroup of eight lanes a tile, two columns a lane.
pub static LANES: Shader = shader!(
    "rasterize_lanes", r uniforms, rw counters, r tile_ranges, r payloads, r owners, r splat_position, r splat_conic,
    r splat_color, w image, w last_contributor
);

/// Appends the pass.
pub fn record(
    program: &mut Program,
    shared: &Shared,
    splats: &Splats,
    intersections: &Intersections,
    pixels: &Pixels,
    variants: &Variants,
) {
    let views = [
        shared.uniforms,
        shared.counters,
        intersections.tile_ranges,
        intersections.payloads,
        intersections.owners,
        splats.position,
        splats.conic,
        splats.color,
        pixels.image,
        pixels.last_contributor,
        intersections.tile_order,
    ];
    let shader = shader(variants);
    let views = if variants.columns { &views[..10] } else { &views[..] };
    program.pass(shader, &variants.raster_spec(), views, &(), shared.groups(Args::Tiles));
}

/// The shader that blends.
#[must_use]
pub fn shader(variants: &Variants) -> &'static Shader {
    match (variants.columns, variants.lanes) {
        (true, true) => &LANES,
        (true, false) => &COLUMN,
        (false, _) => &PIXEL,
    }
}
