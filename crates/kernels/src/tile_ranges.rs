//! First and one-past-last sorted intersection of every tile; tiles without any get an empty range. Then, for rasterisers
//! that take a tile a group, the order to take them in: those with the most splats first.

use super::counters::Args;
use super::generated::{tile_order, tile_ranges};
use super::views::{Intersections, Shared, Variants};
use kiln_program::{Groups, Program, Span};

/// Appends the clear and the passes.
pub fn record(
    program: &mut Program,
    shared: &Shared,
    tile_keys: Span,
    intersections: &Intersections,
    variants: &Variants,
) {
    let ranges = intersections.tile_ranges;
    program.fill(ranges, 0);
    program.pass(
        &tile_ranges::KERNEL,
        (),
        tile_ranges::Bind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            tile_keys,
            tile_ranges: ranges,
        },
        (),
        shared.groups(Args::Intersections),
    );
    if variants.orders_tiles() {
        program.pass(
            &tile_order::KERNEL,
            (),
            tile_order::Bind {
                uniforms: shared.uniforms,
                counters: shared.counters,
                tile_ranges: ranges,
                tile_order: intersections.tile_order,
            },
            (),
            Groups::Direct([1, 1, 1]),
        );
    }
}
