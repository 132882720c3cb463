//! Which Gaussians touch a tile, and where their records go.
//!
//! `cull` runs per chunk: it projects each Gaussian and sets a bit when it meets a tile; groups of 256 that are out of view as
//! [`super::clusters`] are not looked at one by one. `visible_scan` turns the counts
//! of every 256 Gaussians into offsets, so that records lie in id order without an atomic cursor; it also checks the
//! capacity of visible records and writes the group counts of everything that runs once per visible Gaussian.
//!
//! `cull.band` does the same for a band of tiles, among the Gaussians that are visible at all.

use super::counters::Args;
use super::radix_sort::sort_block;
use super::views::{Chunk, Shared, Variants};
use crate::program::ALIGNMENT;
use crate::program::{Groups, Program, Shader, View};
use crate::shader;

/// Visibility of a chunk.
pub static CULL: Shader =
    shader!("cull", r uniforms, r counters, r geometry, r filter_3d, rw visible_mask, w group_visible);
/// Visibility of a chunk in a band of tiles.
pub static CULL_BAND: Shader = shader!("cull.band", r uniforms, r counters, r geometry, r filter_3d, w visible_mask, w group_visible, r whole_mask);
/// Offsets of the records.
pub static SCAN: Shader = shader!("visible_scan", rw counters, w args, rw group_visible);

/// Push constants shared by the passes that walk a chunk.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
pub(crate) struct ChunkPush {
    pub(crate) stride: u32,
    pub(crate) first: u32,
    pub(crate) first_group: u32,
}

impl ChunkPush {
    /// `first_group` is where the chunk's groups start in the bound part of the per-group table, see [`group_window`].
    pub(crate) fn new(chunk: &Chunk, first_group: u32) -> Self {
        Self {
            stride: chunk.stride,
            first: chunk.first,
            first_group,
        }
    }
}

/// Appends `cull` for every chunk, then the scan.
pub fn record(
    program: &mut Program,
    shared: &Shared,
    chunks: &[Chunk],
    group_visible: View,
    visible_cap: u32,
    variants: &Variants,
) {
    for chunk in chunks {
        let (groups, first_group) = group_window(group_visible, chunk);
        let views = [
            shared.uniforms,
            shared.counters,
            chunk.geometry,
            chunk.filter_3d,
            chunk.visible_mask,
            groups,
        ];
        let push = ChunkPush::new(chunk, first_group);
        program.pass(
            &CULL,
            &[u32::from(chunk.clusters)],
            &views,
            &push,
            shared.groups(Args::Chunk(chunk.index)),
        );
    }
    record_scan(program, shared, group_visible, visible_cap, variants);
}

/// Appends `cull.band` for every chunk, then the scan. `inside` are the chunks with the mask to write instead of that of
/// the whole view, `groups` takes the offsets of the band's records.
pub fn record_band(
    program: &mut Program,
    shared: &Shared,
    chunks: &[Chunk],
    inside: &[Chunk],
    groups: View,
    visible_cap: u32,
    variants: &Variants,
) {
    for (chunk, inside) in chunks.iter().zip(inside) {
        let (window, first_group) = group_window(groups, chunk);
        let views = [
            shared.uniforms,
            shared.counters,
            chunk.geometry,
            chunk.filter_3d,
            inside.visible_mask,
            window,
            chunk.visible_mask,
        ];
        let push = ChunkPush::new(chunk, first_group);
        program.pass(&CULL_BAND, &[], &views, &push, shared.groups(Args::Chunk(chunk.index)));
    }
    record_scan(program, shared, groups, visible_cap, variants);
}

fn record_scan(program: &mut Program, shared: &Shared, groups: View, visible_cap: u32, variants: &Variants) {
    let views = [shared.counters, shared.args, groups];
    let block = sort_block(Args::VisibleSort, variants);
    program.pass(&SCAN, &[block], &views, &visible_cap, Groups::Direct([1, 1, 1]));
}

/// What to bind of the per-group table for `chunk`, and the index of the chunk's first group in it.
///
/// Only the chunk's own groups where a binding may start there, so that chunks need no barrier between them; small
/// chunks, as used to stress the step, start at odd places and get the whole table.
pub(crate) fn group_window(group_visible: View, chunk: &Chunk) -> (View, u32) {
    let start = 4 * u64::from(chunk.first_group());
    if start.is_multiple_of(ALIGNMENT) {
        (group_visible.slice(start, 4 * u64::from(chunk.stride / 256)), 0)
    } else {
        (group_visible, chunk.first_group())
    }
}
