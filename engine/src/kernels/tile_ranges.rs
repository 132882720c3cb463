//! First and one-past-last sorted intersection of every tile; tiles without any get an empty range. Then, for rasterisers
//! that take a tile a group, the order to take them in: those with the most splats first.

use super::counters::Args;
use super::views::{Intersections, Shared, Variants};
use crate::program::{Groups, Program, Shader, View};
use crate::shader;

/// The ranges.
pub static SHADER: Shader = shader!("tile_ranges", r uniforms, r counters, r tile_keys, rw tile_ranges);
/// The order.
pub static ORDER: Shader = shader!("tile_order", r uniforms, r counters, r tile_ranges, w tile_order);

/// Appends the clear and the passes.
pub fn record(
    program: &mut Program,
    shared: &Shared,
    tile_keys: View,
    intersections: &Intersections,
    variants: &Variants,
) {
    let ranges = intersections.tile_ranges;
    program.fill(ranges, 0);
    let views = [shared.uniforms, shared.counters, tile_keys, ranges];
    program.pass(&SHADER, &[], &views, &(), shared.groups(Args::Intersections));
    if variants.orders_tiles() {
        let views = [shared.uniforms, shared.counters, ranges, intersections.tile_order];
        program.pass(&ORDER, &[], &views, &(), Groups::Direct([1, 1, 1]));
    }
}
