//! Records of the visible Gaussians: EWA projection with the 3D and the 2D Mip filter, colour from SH, tile count.

use super::counters::Args;
use super::cull::{ChunkPush, group_window};
use super::views::{Chunk, Shared, Splats};
use crate::gaussians::layout::Storage;
use crate::memory::{Program, Shader, View};
use crate::shader;

/// For f32 colours.
pub static EXACT: Shader = shader!(
    "project", r uniforms, r counters, r geometry, r filter_3d, r sh, r visible_mask, r group_visible,
    w splat_position, w splat_conic, w splat_color, w depth_keys, w tile_counts
);
/// For 16-bit colours.
pub static HALF: Shader = shader!(
    "project.half", r uniforms, r counters, r geometry, r filter_3d, r sh, r visible_mask, r group_visible,
    w splat_position, w splat_conic, w splat_color, w depth_keys, w tile_counts
);

/// Appends one pass per chunk. Chunks write disjoint records of the same streams; the streams are declared written, so
/// the recorder puts a barrier between chunks.
pub fn record(program: &mut Program, shared: &Shared, chunks: &[Chunk], group_visible: View, splats: &Splats) {
    for chunk in chunks {
        let (groups, first_group) = group_window(group_visible, chunk);
        let views = [
            shared.uniforms,
            shared.counters,
            chunk.geometry,
            chunk.filter_3d,
            chunk.sh,
            chunk.visible_mask,
            groups,
            splats.position,
            splats.conic,
            splats.color,
            splats.depth_keys,
            splats.tile_counts,
        ];
        let push = ChunkPush::new(chunk, first_group);
        let shader = match chunk.storage {
            Storage::Exact => &EXACT,
            Storage::Half | Storage::Compact => &HALF,
        };
        program.pass(shader, &[], &views, &push, shared.groups(Args::Chunk(chunk.index)));
    }
}
