//! Noise on the centres of faint Gaussians after an update, so that they find where they are of use (3DGS-MCMC,
//! Kheradmand et al. 2024, equation 8). What it is worth is in the uniforms; without it the pass does nothing.

use super::counters::Args;
use super::views::{Chunk, Shared};
use crate::program::{Program, Shader};
use crate::shader;

/// The shader.
pub static SHADER: Shader = shader!("explore", r uniforms, r counters, rw geometry);

/// Appends one pass per chunk.
pub fn record(program: &mut Program, shared: &Shared, chunks: &[Chunk]) {
    for chunk in chunks {
        let views = [shared.uniforms, shared.counters, chunk.geometry];
        let push = [chunk.stride, chunk.first];
        program.pass(&SHADER, &[], &views, &push, shared.groups(Args::Chunk(chunk.index)));
    }
}
