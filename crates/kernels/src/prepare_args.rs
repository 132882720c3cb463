//! Starts a step: clears counters, writes the group counts that depend only on the number of Gaussians.
//!
//! | binding | use |
//! |---|---|
//! | uniforms | image size in tiles, iteration |
//! | counters | cleared unless stalled |
//! | args | chunk, tile and one-group slots |

use super::generated::prepare_args;
use super::views::{Chunk, Shared};
use kiln_program::{Groups, Program};

/// Appends the pass.
pub fn record(program: &mut Program, shared: &Shared, chunks: &[Chunk]) {
    let push = prepare_args::Push {
        chunks: u32::try_from(chunks.len()).unwrap_or(u32::MAX),
        chunk_gaussians: chunks.first().map_or(0, |c| c.stride),
    };
    program.pass(
        &prepare_args::KERNEL,
        (),
        prepare_args::Bind {
            uniforms: shared.uniforms,
            counters: shared.counters,
            args: shared.args,
        },
        push,
        Groups::Direct([1, 1, 1]),
    );
}
