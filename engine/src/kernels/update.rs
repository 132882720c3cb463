//! Projection backward, densification statistics and Adam in one pass per chunk; no parameter gradient reaches memory.

use super::counters::Args;
use super::cull::group_window;
use super::views::{Chunk, Shared, Splats};
use crate::gaussians::layout::Storage;
use crate::memory::{Program, Shader, View};
use crate::shader;

/// Everything f32.
pub static EXACT: Shader = shader!(
    "update", r uniforms, rw counters, rw geometry, rw geometry_m, rw geometry_v, rw sh, rw sh_m, rw sh_v,
    r filter_3d, rw statistics, r visible_mask, r group_visible, r splat_color, r gradient_a, r gradient_b, r gradient_c
);
/// 16-bit colours and moments of colours.
pub static HALF: Shader = shader!(
    "update.half", r uniforms, rw counters, rw geometry, rw geometry_m, rw geometry_v, rw sh, rw sh_m, rw sh_v,
    r filter_3d, rw statistics, r visible_mask, r group_visible, r splat_color, r gradient_a, r gradient_b, r gradient_c
);
/// 16-bit colours, 8-bit moments of colours, 16-bit moments of the geometry.
pub static COMPACT: Shader = shader!(
    "update.compact", r uniforms, rw counters, rw geometry, rw geometry_m, rw geometry_v, rw sh, rw sh_m, rw sh_v,
    r filter_3d, rw statistics, r visible_mask, r group_visible, r splat_color, r gradient_a, r gradient_b, r gradient_c
);

/// Where the gradients by depth are, which [`super::depth_loss`] makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum DepthGradients {
    /// There are none.
    None = 0,
    /// Beside the conic's in the records.
    Records = 1,
    /// The same in rows of a [`super::gradient_store`].
    Rows = 2,
}

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Push {
    stride: u32,
    first: u32,
    first_group: u32,
    sh_coefficients: u32,
}

/// Appends one pass per chunk.
pub fn record(
    program: &mut Program,
    shared: &Shared,
    chunks: &[Chunk],
    group_visible: View,
    splats: &Splats,
    sh_coefficients: u32,
    depth: DepthGradients,
) {
    for chunk in chunks {
        let (groups, first_group) = group_window(group_visible, chunk);
        let views = [
            shared.uniforms,
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
        let shader = match chunk.storage {
            Storage::Exact => &EXACT,
            Storage::Half => &HALF,
            Storage::Compact => &COMPACT,
        };
        program.pass(
            shader,
            &[depth as u32],
            &views,
            &push,
            shared.groups(Args::Chunk(chunk.index)),
        );
    }
}
