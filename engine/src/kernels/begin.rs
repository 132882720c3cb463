//! Starts a step: clears counters, writes the group counts that depend only on the number of Gaussians.
//!
//! | binding | use |
//! |---|---|
//! | uniforms | image size in tiles, iteration |
//! | counters | cleared unless stalled |
//! | args | chunk, tile and one-group slots |

use super::views::{Chunk, Shared};
use crate::program::{Groups, Program, Shader};
use crate::shader;

/// The shader.
pub static SHADER: Shader = shader!("begin", r uniforms, rw counters, w args);

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Push {
    chunks: u32,
    chunk_gaussians: u32,
}

/// Appends the pass.
pub fn record(program: &mut Program, shared: &Shared, chunks: &[Chunk]) {
    let push = Push {
        chunks: u32::try_from(chunks.len()).unwrap_or(u32::MAX),
        chunk_gaussians: chunks.first().map_or(0, |c| c.stride),
    };
    let views = [shared.uniforms, shared.counters, shared.args];
    program.pass(&SHADER, &[], &views, &push, Groups::Direct([1, 1, 1]));
}
