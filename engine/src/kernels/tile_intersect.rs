//! One (tile, splat) pair per tile a splat touches, in depth order.
//!
//! `tile_sum` adds the tile counts of every 256 splats in depth order, `intersection_scan` turns the sums into offsets
//! and checks the capacity, `emit` writes the pairs.

use super::counters::Args;
use super::radix_sort::sort_block;
use super::views::{Shared, Splats, Variants};
use crate::program::{Groups, Program, Shader, View};
use crate::shader;

/// Sums of tile counts.
pub static SUM: Shader = shader!("tile_sum", r counters, r depth_order, r tile_counts, w group_tiles);
/// Offsets and capacity check.
pub static SCAN: Shader = shader!("intersection_scan", rw counters, w args, rw group_tiles);
/// The pairs.
pub static EMIT: Shader = shader!(
    "emit", r uniforms, r counters, r depth_order, r tile_counts, r group_tiles, r splat_position, r splat_conic,
    w tile_keys, w payloads, w owners, w emission_start
);

/// What the three passes read and write.
#[derive(Clone, Copy, Debug)]
pub struct EmitIo {
    /// Splats in depth order.
    pub depth_order: View,
    /// One word per 256 visible splats.
    pub group_tiles: View,
    /// Tile of each pair.
    pub tile_keys: View,
    /// Payload of each pair.
    pub payloads: View,
    /// Splat of each emission index (with owners).
    pub owners: View,
    /// Most pairs there can be.
    pub intersection_cap: u32,
}

/// Appends the three passes.
pub fn record(program: &mut Program, shared: &Shared, splats: &Splats, io: &EmitIo, variants: &Variants) {
    let views = [shared.counters, io.depth_order, splats.tile_counts, io.group_tiles];
    program.pass(&SUM, &[], &views, &(), shared.groups(Args::Visible));
    let views = [shared.counters, shared.args, io.group_tiles];
    let block = sort_block(Args::IntersectionSort, variants);
    program.pass(&SCAN, &[block], &views, &io.intersection_cap, Groups::Direct([1, 1, 1]));
    let views = [
        shared.uniforms,
        shared.counters,
        io.depth_order,
        splats.tile_counts,
        io.group_tiles,
        splats.position,
        splats.conic,
        io.tile_keys,
        io.payloads,
        io.owners,
        splats.emission_start,
    ];
    program.pass(&EMIT, &[variants.owners()], &views, &(), shared.groups(Args::Emission));
}
