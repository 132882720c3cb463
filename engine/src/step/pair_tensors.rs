//! What steps that compare a view with a neighbouring one need; see [`super::pair`](mod@super::pair).

use super::{Capacities, Rings};
use kiln_kernels::neighbor_loss::{self, Neighbor, PairIo, PairWeights};
use kiln_kernels::uniforms::StepUniforms;
use kiln_program::{Class, Tag, TensorTable};

/// Tensors of steps that compare, beside those of steps with surfaces.
#[derive(Clone, Copy, Debug)]
pub struct PairTensors {
    /// What the loss binds.
    pub io: PairIo,
    /// Rings of the neighbour; its status words are those of the step.
    pub rings: Rings,
}

impl PairTensors {
    /// Adds the tensors to `table`; `rings` are the step's, and photos come through them where it `brings_photos`.
    pub(super) fn new(
        table: &mut TensorTable,
        c: &Capacities,
        weights: PairWeights,
        rings: &Rings,
        brings_photos: bool,
    ) -> Self {
        let (px, slots) = (u64::from(c.max_pixels), u64::from(c.slots));
        let uniforms_bytes = size_of::<StepUniforms>() as u64;
        let uniforms = table.add("small/neighbor_uniforms", Class::Small, Tag::Other, uniforms_bytes);
        let neighbor = Neighbor {
            uniforms: uniforms.slice(0, uniforms_bytes),
            map: table.add("images/neighbor_map", Class::Images, Tag::Pixels, 8 * px),
        };
        let means = table.add("small/pair_means", Class::Small, Tag::Other, 16);
        let mut arena = |name: &str, bytes| table.add(format!("pair/{name}"), Class::Arena, Tag::Loss, bytes);
        let io = PairIo {
            neighbor,
            pixels: arena("pixels", 8 * px),
            patches: arena("patches", 16 * u64::from(neighbor_loss::most_patches(c.max_pixels))),
            sums: arena("sums", neighbor_loss::sums_bytes(c.max_tiles, c.max_pixels)),
            means,
            weights,
        };
        let uniforms_stride = uniforms_bytes.next_multiple_of(256);
        let mut ring =
            |name: &str, bytes| table.add(format!("ring/neighbor_{name}"), Class::Upload, Tag::Staging, bytes);
        Self {
            io,
            rings: Rings {
                uniforms: ring("uniforms", slots * uniforms_stride),
                uniforms_stride,
                images: if brings_photos {
                    ring("images", slots * rings.images_stride)
                } else {
                    rings.images
                },
                ..*rings
            },
        }
    }
}
