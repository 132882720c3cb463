//! Which Gaussians touch a tile, and where their records go.
//!
//! `cull` runs per chunk: it projects each Gaussian and sets a bit when it meets a tile. `visible_scan` turns the counts
//! of every 256 Gaussians into offsets, so that records lie in id order without an atomic cursor; it also checks the
//! capacity of visible records and writes the group counts of everything that runs once per visible Gaussian.
//!
//! `cull.band` does the same for a band of tiles, among the Gaussians that are visible at all.

use super::counters::Args;
use super::generated::{cull, visible_scan};
use super::radix_sort::sort_block;
use super::views::{Chunk, Shared, Variants};
use kiln_program::{ALIGNMENT, Groups, Program, Span};

/// Appends `cull` for every chunk, then the scan.
pub fn record(
    program: &mut Program,
    shared: &Shared,
    chunks: &[Chunk],
    group_visible: Span,
    visible_cap: u32,
    variants: &Variants,
) {
    for chunk in chunks {
        let (groups, first_group) = group_window(group_visible, chunk);
        let push = cull::Push {
            stride: chunk.stride,
            first: chunk.first,
            first_group,
        };
        program.pass(
            &cull::KERNEL,
            cull::Spec { lens: shared.lens },
            cull::Bind {
                uniforms: shared.uniforms,
                counters: shared.counters,
                geometry: chunk.geometry,
                filter_3d: chunk.filter_3d,
                visible_mask: chunk.visible_mask,
                group_visible: groups,
            },
            push,
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
    groups: Span,
    visible_cap: u32,
    variants: &Variants,
) {
    for (chunk, inside) in chunks.iter().zip(inside) {
        let (window, first_group) = group_window(groups, chunk);
        let push = cull::Push {
            stride: chunk.stride,
            first: chunk.first,
            first_group,
        };
        program.pass(
            &cull::BAND,
            cull::Spec { lens: shared.lens },
            cull::BandBind {
                base: cull::Bind {
                    uniforms: shared.uniforms,
                    counters: shared.counters,
                    geometry: chunk.geometry,
                    filter_3d: chunk.filter_3d,
                    visible_mask: inside.visible_mask,
                    group_visible: window,
                },
                whole_mask: chunk.visible_mask,
            },
            push,
            shared.groups(Args::Chunk(chunk.index)),
        );
    }
    record_scan(program, shared, groups, visible_cap, variants);
}

fn record_scan(program: &mut Program, shared: &Shared, groups: Span, visible_cap: u32, variants: &Variants) {
    let block = sort_block(Args::VisibleSort, variants);
    program.pass(
        &visible_scan::KERNEL,
        visible_scan::Spec { sort_block: block },
        visible_scan::Bind {
            counters: shared.counters,
            args: shared.args,
            group_visible: groups,
        },
        visible_scan::Push { visible_cap },
        Groups::Direct([1, 1, 1]),
    );
}

/// What to bind of the per-group table for `chunk`, and the index of the chunk's first group in it.
///
/// Only the chunk's own groups where a binding may start there, so that chunks need no barrier between them; small
/// chunks, as used to stress the step, start at odd places and get the whole table.
pub fn group_window(group_visible: Span, chunk: &Chunk) -> (Span, u32) {
    let start = 4 * u64::from(chunk.first_group());
    if start.is_multiple_of(ALIGNMENT) {
        (group_visible.slice(start, 4 * u64::from(chunk.stride / 256)), 0)
    } else {
        (group_visible, chunk.first_group())
    }
}
