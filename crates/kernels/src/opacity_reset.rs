//! Lowers every effective opacity to at most a ceiling and zeroes the opacity moments; the step count stays.

use super::counters::Args;
use super::generated::opacity_reset;
use super::views::{Chunk, Shared};
use kiln_program::Program;

/// Appends one pass per chunk.
pub fn record(program: &mut Program, shared: &Shared, chunks: &[Chunk], ceiling: f32) {
    for chunk in chunks {
        let push = opacity_reset::Push {
            stride: chunk.stride,
            first: chunk.first,
            ceiling,
            moment_plane: chunk.storage.opacity_moment_plane(),
        };
        program.pass(
            &opacity_reset::KERNEL,
            (),
            opacity_reset::Bind {
                counters: shared.counters,
                geometry: chunk.geometry,
                geometry_m: chunk.geometry_m,
                geometry_v: chunk.geometry_v,
                filter_3d: chunk.filter_3d,
            },
            push,
            shared.groups(Args::Chunk(chunk.index)),
        );
    }
}
