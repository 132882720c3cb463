//! Projection backward, densification statistics and Adam in one pass per chunk; no parameter gradient reaches memory.

use super::counters::Args;
use super::cull::group_window;
use super::views::{Chunk, Shared, Splats};
use crate::gaussians::layout::Storage;
use crate::program::{Program, Shader, View};
use crate::shader;

/// Everything f32.
pub static EXACT: Shader = shader!(
    "update", r uniforms, rw counters, rw geometry, rw geometry_m, rw geometry_v, rw sh, rw sh_m, rw sh_v,
    r filter_3d, rw statistics, rw visible_mask, r group_visible, r splat_color, r gradient_a, r gradient_b, r gradient_c
);
/// 16-bit colours and moments of colours.
pub static HALF: Shader = shader!(
    "update.half", r uniforms, rw counters, rw geometry, rw geometry_m, rw geometry_v, rw sh, rw sh_m, rw sh_v,
    r filter_3d, rw statistics, rw visible_mask, r group_visible, r splat_color, r gradient_a, r gradient_b, r gradient_c
);
/// 16-bit colours, 8-bit moments of colours, 16-bit moments of the geometry.
pub static COMPACT: Shader = shader!(
    "update.compact", r uniforms, rw counters, rw geometry, rw geometry_m, rw geometry_v, rw sh, rw sh_m, rw sh_v,
    r filter_3d, rw statistics, rw visible_mask, r group_visible, r splat_color, r gradient_a, r gradient_b, r gradient_c
);
/// Everything f32; colours out of view wait, see [`super::catch_up`].
pub static DEFERRED: Shader = shader!(
    "update.deferred", r rates, rw counters, rw geometry, rw geometry_m, rw geometry_v, rw sh, rw sh_m, rw sh_v,
    r filter_3d, rw statistics, rw visible_mask, r group_visible, r splat_color, r gradient_a, r gradient_b, r gradient_c
);
/// [`HALF`]; colours out of view wait.
pub static HALF_DEFERRED: Shader = shader!(
    "update.half_deferred", r rates, rw counters, rw geometry, rw geometry_m, rw geometry_v, rw sh, rw sh_m, rw sh_v,
    r filter_3d, rw statistics, rw visible_mask, r group_visible, r splat_color, r gradient_a, r gradient_b, r gradient_c
);
/// [`COMPACT`]; colours out of view wait.
pub static COMPACT_DEFERRED: Shader = shader!(
    "update.compact_deferred", r rates, rw counters, rw geometry, rw geometry_m, rw geometry_v, rw sh, rw sh_m, rw sh_v,
    r filter_3d, rw statistics, rw visible_mask, r group_visible, r splat_color, r gradient_a, r gradient_b, r gradient_c
);

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Push {
    stride: u32,
    first: u32,
    first_group: u32,
    sh_coefficients: u32,
}

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct DeferredPush {
    of_all: Push,
    seen_plane: u32,
}

/// Appends one pass per chunk.
pub fn record(
    program: &mut Program,
    shared: &Shared,
    chunks: &[Chunk],
    group_visible: View,
    splats: &Splats,
    sh_coefficients: u32,
) {
    for chunk in chunks {
        let (groups, first_group) = group_window(group_visible, chunk);
        let seen_plane = chunk.planes.seen_plane();
        let views = [
            seen_plane.map_or(shared.uniforms, |_| shared.rates),
            shared.counters,
            chunk.geometry,
            chunk.geometry_m,
            chunk.geometry_v,
            chunk.sh,
            chunk.sh_m,
            chunk.sh_v,
            chunk.filter_3d,
            chunk.statistics,
            chunk.visible_mask,
            groups,
            splats.color,
            splats.gradient_a,
            splats.gradient_b,
            splats.gradient_c,
        ];
        let push = Push {
            stride: chunk.stride,
            first: chunk.first,
            first_group,
            sh_coefficients,
        };
        let at = shared.groups(Args::Chunk(chunk.index));
        let spec = [u32::from(chunk.clusters)];
        match seen_plane {
            None => {
                let shader = match chunk.storage {
                    Storage::Exact => &EXACT,
                    Storage::Half => &HALF,
                    Storage::Compact => &COMPACT,
                };
                program.pass(shader, &spec, &views, &push, at);
            }
            Some(seen_plane) => {
                let shader = match chunk.storage {
                    Storage::Exact => &DEFERRED,
                    Storage::Half => &HALF_DEFERRED,
                    Storage::Compact => &COMPACT_DEFERRED,
                };
                let push = DeferredPush {
                    of_all: push,
                    seen_plane,
                };
                program.pass(shader, &spec, &views, &push, at);
            }
        }
    }
}
