//! Records of the visible Gaussians: EWA projection with the 3D and the 2D Mip filter, colour from SH, tile count.

use super::counters::Args;
use super::cull::{ChunkPush, group_window};
use super::views::{Chunk, Shared, Splats};
use crate::gaussians::layout::Storage;
use crate::program::{Program, Shader, View};
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
/// For f32 colours that miss steps out of view.
pub static DEFERRED: Shader = shader!(
    "project.deferred", r rates, r counters, r geometry, r filter_3d, r sh, r visible_mask, r group_visible,
    w splat_position, w splat_conic, w splat_color, w depth_keys, w tile_counts, r sh_m, r sh_v
);
/// For 16-bit colours that miss steps out of view, with moments of 16 bits.
pub static HALF_DEFERRED: Shader = shader!(
    "project.half_deferred", r rates, r counters, r geometry, r filter_3d, r sh, r visible_mask, r group_visible,
    w splat_position, w splat_conic, w splat_color, w depth_keys, w tile_counts, r sh_m, r sh_v
);
/// The same with moments of 8 bits.
pub static COMPACT_DEFERRED: Shader = shader!(
    "project.compact_deferred", r rates, r counters, r geometry, r filter_3d, r sh, r visible_mask, r group_visible,
    w splat_position, w splat_conic, w splat_color, w depth_keys, w tile_counts, r sh_m, r sh_v
);

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct DeferredPush {
    stride: u32,
    first: u32,
    first_group: u32,
    seen_plane: u32,
}

/// Appends one pass per chunk. Chunks write disjoint records of the same streams; the streams are declared written, so
/// the recorder puts a barrier between chunks.
pub fn record(program: &mut Program, shared: &Shared, chunks: &[Chunk], group_visible: View, splats: &Splats) {
    for chunk in chunks {
        let (groups, first_group) = group_window(group_visible, chunk);
        let seen_plane = chunk.planes.seen_plane();
        let views = [
            seen_plane.map_or(shared.uniforms, |_| shared.rates),
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
        let at = shared.groups(Args::Chunk(chunk.index));
        let Some(seen_plane) = seen_plane else {
            let shader = match chunk.storage {
                Storage::Exact => &EXACT,
                Storage::Half | Storage::Compact => &HALF,
            };
            program.pass(shader, &[], &views, &ChunkPush::new(chunk, first_group), at);
            continue;
        };
        let views = [&views[..], &[chunk.sh_m, chunk.sh_v]].concat();
        let push = DeferredPush {
            stride: chunk.stride,
            first: chunk.first,
            first_group,
            seen_plane,
        };
        let shader = match chunk.storage {
            Storage::Exact => &DEFERRED,
            Storage::Half => &HALF_DEFERRED,
            Storage::Compact => &COMPACT_DEFERRED,
        };
        program.pass(shader, &[], &views, &push, at);
    }
}
