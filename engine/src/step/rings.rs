//! The rings that a step's inputs come through, and its status words go back.

use super::Capacities;
use kiln_kernels::counters::Counters;
use kiln_kernels::triangles::TriangleUniforms;
use kiln_kernels::uniforms::StepUniforms;
use kiln_program::{Class, Span, Tag, TensorTable};

/// Host-visible rings and their strides.
#[derive(Clone, Copy, Debug)]
pub struct Rings {
    /// Uniform blocks, one a slot, each with room for that of triangles behind it.
    pub uniforms: Span,
    /// Bytes between uniform slots.
    pub uniforms_stride: u64,
    /// Ground-truth images, one a slot.
    pub images: Span,
    /// Bytes between image slots.
    pub images_stride: u64,
    /// Status words, one a slot, each with room for a loss's means behind it.
    pub status: Span,
    /// Bytes between status slots.
    pub status_stride: u64,
}

impl Rings {
    /// Of a status word.
    const STATUS_BYTES: u64 = size_of::<Counters>() as u64;
    /// Of the means of steps that compare, a `vec4`; see [`kiln_kernels::neighbor_loss::PairIo`].
    const MEANS_BYTES: u64 = 16;

    /// Where the means of the step in slot `slot` are.
    #[must_use]
    pub fn means(&self, slot: u32) -> Span {
        let at = u64::from(slot) * self.status_stride + Self::STATUS_BYTES;
        self.status.slice(at, Self::MEANS_BYTES)
    }

    /// Adds them to `table`, with `image_slots` places for photos.
    pub(super) fn new(table: &mut TensorTable, c: &Capacities, image_slots: u32) -> Self {
        let slots = u64::from(c.slots);
        let uniforms_bytes = size_of::<StepUniforms>() + size_of::<TriangleUniforms>();
        let uniforms_stride = (uniforms_bytes as u64).next_multiple_of(256);
        let status_stride = (Self::STATUS_BYTES + Self::MEANS_BYTES).next_multiple_of(256);
        let images_stride = c.image_bytes().next_multiple_of(256);
        Self {
            uniforms: table.add("ring/uniforms", Class::Upload, Tag::Staging, slots * uniforms_stride),
            uniforms_stride,
            images: table.add(
                "ring/images",
                Class::Upload,
                Tag::Staging,
                u64::from(image_slots) * images_stride,
            ),
            images_stride,
            status: table.add("ring/status", Class::Readback, Tag::Staging, slots * status_stride),
            status_stride,
        }
    }
}
