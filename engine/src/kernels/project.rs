//! Records of the visible Gaussians: EWA projection with the 3D and the 2D Mip filter, colour from SH, tile count.

use super::counters::Args;
use super::cull::{ChunkPush, group_window};
use super::views::{Chunk, Shared, Splats};
use crate::memory::{Program, Shader, View};
use crate::shader;

/// The shader.
pub static SHADER: Shader = shader!(
    "project", r uniforms, r counters, r geometry, r filter_3d, r sh, r visible_mask, r group_visible,
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
        program.pass(&SHADER, &[], &views, &push, shared.groups(Args::Chunk(chunk.index)));
    }
}
