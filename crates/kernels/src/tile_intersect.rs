//! One (tile, splat) pair per tile a splat touches, in depth order.
//!
//! `tile_sum` adds the tile counts of every 256 splats in depth order, `intersection_scan` turns the sums into offsets
//! and checks the capacity, `emit` writes the pairs.

use super::counters::Args;
use super::generated::{emit, intersection_scan, tile_sum};
use super::radix_sort::sort_block;
use super::views::{Shared, Splats, Variants};
use kiln_program::{Groups, Program, Span};

/// What the three passes read and write.
#[derive(Clone, Copy, Debug)]
pub struct EmitIo {
    /// Splats in depth order.
    pub depth_order: Span,
    /// One word per 256 visible splats.
    pub group_tiles: Span,
    /// One word per visible splat: tiles of the splats before it among its 256.
    pub tiles_before: Span,
    /// Tile of each pair.
    pub tile_keys: Span,
    /// Payload of each pair.
    pub payloads: Span,
    /// Splat of each emission index (with owners).
    pub owners: Span,
    /// Most pairs there can be.
    pub intersection_cap: u32,
}

/// Appends the three passes.
pub fn record(program: &mut Program, shared: &Shared, splats: &Splats, io: &EmitIo, variants: &Variants) {
    program.pass(
        &tile_sum::KERNEL,
        (),
        tile_sum::Bind {
            counters: shared.counters,
            depth_order: io.depth_order,
            tile_counts: splats.tile_counts,
            group_tiles: io.group_tiles,
            tiles_before: io.tiles_before,
        },
        (),
        shared.groups(Args::Visible),
    );
    let block = sort_block(Args::IntersectionSort, variants);
    program.pass(
        &intersection_scan::KERNEL,
        intersection_scan::Spec { sort_block: block },
        intersection_scan::Bind {
            counters: shared.counters,
            args: shared.args,
            group_tiles: io.group_tiles,
        },
        intersection_scan::Push {
            intersection_cap: io.intersection_cap,
        },
        Groups::Direct([1, 1, 1]),
    );
    program.pass(
        &emit::KERNEL,
        emit::Spec {
            owners: variants.owners(),
        },
        emit::Bind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            depth_order: io.depth_order,
            tile_counts: splats.tile_counts,
            group_tiles: io.group_tiles,
            tiles_before: io.tiles_before,
            splat_position: splats.position,
            splat_conic: splats.conic,
            tile_keys: io.tile_keys,
            payloads: io.payloads,
            owners: io.owners,
            emission_start: splats.emission_start,
        },
        (),
        shared.groups(Args::Emission),
    );
}
