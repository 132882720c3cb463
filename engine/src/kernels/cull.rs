//! Which Gaussians touch a tile, and where their records go.
//!
//! `cull` runs per chunk: it projects each Gaussian and sets a bit when it meets a tile. `visible_scan` turns the counts
//! of every 256 Gaussians into offsets, so that records lie in id order without an atomic cursor; it also checks the
//! capacity of visible records and writes the group counts of everything that runs once per visible Gaussian.

use super::counters::Args;
use super::views::{Chunk, Shared};
use crate::memory::{Program, Shader, View};
use crate::shader;

/// Visibility of a chunk.
pub static CULL: Shader =
    shader!("cull", r uniforms, r counters, r geometry, r filter_3d, w visible_mask, w group_visible);
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
    pub(crate) fn new(chunk: &Chunk) -> Self {
        Self {
            stride: chunk.stride,
            first: chunk.first,
            first_group: chunk.first_group(),
        }
    }
}

/// Appends `cull` for every chunk, then the scan.
pub fn record(program: &mut Program, shared: &Shared, chunks: &[Chunk], group_visible: View, visible_cap: u32) {
    for chunk in chunks {
        let views = [
            shared.uniforms,
            shared.counters,
            chunk.geometry,
            chunk.filter_3d,
            chunk.visible_mask,
            // Only this chunk's groups, so that chunks need no barrier between them.
            group_window(group_visible, chunk),
        ];
        let push = ChunkPush {
            first_group: 0,
            ..ChunkPush::new(chunk)
        };
        program.pass(&CULL, &[], &views, &push, shared.groups(Args::Chunk(chunk.index)));
    }
    let views = [shared.counters, shared.args, group_visible];
    program.pass(
        &SCAN,
        &[],
        &views,
        &visible_cap,
        crate::memory::Groups::Direct([1, 1, 1]),
    );
}

/// The part of the per-group table that belongs to `chunk`.
pub(crate) fn group_window(group_visible: View, chunk: &Chunk) -> View {
    group_visible.slice(4 * u64::from(chunk.first_group()), 4 * u64::from(chunk.stride / 256))
}
