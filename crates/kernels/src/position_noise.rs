//! Noise on the centres of faint Gaussians after an update, so that they find where they are of use (3DGS-MCMC,
//! Kheradmand et al. 2024, equation 8). What it is worth is in the uniforms; without it the pass does nothing.

use super::counters::Args;
use super::generated::position_noise;
use super::views::{Chunk, Shared};
use kiln_program::Program;

/// Appends one pass per chunk.
pub fn record(program: &mut Program, shared: &Shared, chunks: &[Chunk]) {
    for chunk in chunks {
        program.pass(
            &position_noise::KERNEL,
            (),
            position_noise::Bind {
                uniforms: shared.uniforms,
                counters: shared.counters,
                geometry: chunk.geometry,
            },
            position_noise::Push {
                stride: chunk.stride,
                first: chunk.first,
            },
            shared.groups(Args::Chunk(chunk.index)),
        );
    }
}
