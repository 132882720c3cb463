//! Lowers every effective opacity to at most a ceiling and zeroes the opacity moments; the step count stays.

use super::counters::Args;
use super::views::{Chunk, Shared};
use crate::program::{Program, Shader};
use crate::shader;

/// The shader.
pub static SHADER: Shader = shader!("opacity_reset", r counters, rw geometry, w geometry_m, w geometry_v, r filter_3d);

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Push {
    stride: u32,
    first: u32,
    ceiling: f32,
    moment_plane: u32,
}

/// Appends one pass per chunk.
pub fn record(program: &mut Program, shared: &Shared, chunks: &[Chunk], ceiling: f32) {
    for chunk in chunks {
        let push = Push {
            stride: chunk.stride,
            first: chunk.first,
            ceiling,
            moment_plane: chunk.storage.opacity_moment_plane(),
        };
        let views = [
            shared.counters,
            chunk.geometry,
            chunk.geometry_m,
            chunk.geometry_v,
            chunk.filter_3d,
        ];
        program.pass(&SHADER, &[], &views, &push, shared.groups(Args::Chunk(chunk.index)));
    }
}
