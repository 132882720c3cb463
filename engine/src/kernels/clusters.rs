//! Bounds of groups of 256 Gaussians, so that those out of view are culled as a whole.
//!
//! A cluster is a group's box of centres and its largest standard deviation, 3D filter included: eight words, one of them
//! unused, behind the masks of the chunk. [`update`](super::update) bounds a group again whenever it has changed it;
//! `clusters` does it for all after events, noise, a new 3D filter and a model from elsewhere. [`cull`](super::cull) leaves
//! a group without a look at its Gaussians when the bounds show that none can touch a tile, by the derivation in
//! `shaders/common/cluster_view.glsl`; masks, and so models, are those of one by one. Memory that was cleared says that
//! nothing is known, and so do groups with a centre, scale or rotation that is no number.

use super::counters::Args;
use super::generated::clusters;
use super::views::{Chunk, Shared};
use crate::program::Program;

/// Words of a cluster: low corner, high corner, deviation, nothing.
pub const WORDS: u32 = 8;

/// Appends one pass for each chunk that has clusters.
pub fn record(program: &mut Program, shared: &Shared, chunks: &[Chunk]) {
    for chunk in chunks.iter().filter(|chunk| chunk.clusters) {
        program.pass(
            &clusters::KERNEL,
            (),
            clusters::Bind {
                counters: shared.counters,
                geometry: chunk.geometry,
                filter_3d: chunk.filter_3d,
                visible_mask: chunk.visible_mask,
            },
            clusters::Push {
                stride: chunk.stride,
                first: chunk.first,
            },
            shared.groups(Args::Chunk(chunk.index)),
        );
    }
}
