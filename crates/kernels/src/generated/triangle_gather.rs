//! `shaders/triangle_gather.comp`: sums of what the drawn triangles owe to each vertex of a chunk, triangles in their
//! order: a gather, so nothing races. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms, TriangleUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `uint[]`.
    pub adjacency_starts: Span,
    /// Binding 3, `uint[]`; three times a triangle, plus its corner.
    pub adjacency_0: Span,
    /// Binding 4, `uint[]`.
    pub adjacency_1: Span,
    /// Binding 5, `uint[]`.
    pub adjacency_2: Span,
    /// Binding 6, `uint[]`.
    pub visible_mask: Span,
    /// Binding 7, `uint[]`.
    pub group_visible: Span,
    /// Binding 8, `uvec4[]`.
    pub record: Span,
    /// Binding 9, `vec4[]`.
    pub gradient_a: Span,
    /// Binding 10, `vec4[]`.
    pub gradient_b: Span,
    /// Binding 11, `vec4[]`.
    pub gradient_c: Span,
    /// Binding 12, `vec4[]`.
    pub gradient_d: Span,
    /// Binding 13, `vec4[]`.
    pub gradient_e: Span,
    /// Binding 14, `vec4[]`.
    pub vertex_gradient: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("adjacency_starts"),
        Binding::read("adjacency_0"),
        Binding::read("adjacency_1"),
        Binding::read("adjacency_2"),
        Binding::read("visible_mask"),
        Binding::read("group_visible"),
        Binding::read("record"),
        Binding::read("gradient_a"),
        Binding::read("gradient_b"),
        Binding::read("gradient_c"),
        Binding::read("gradient_d"),
        Binding::read("gradient_e"),
        Binding::write("vertex_gradient"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.adjacency_starts,
            self.adjacency_0,
            self.adjacency_1,
            self.adjacency_2,
            self.visible_mask,
            self.group_visible,
            self.record,
            self.gradient_a,
            self.gradient_b,
            self.gradient_c,
            self.gradient_d,
            self.gradient_e,
            self.vertex_gradient,
        ]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub stride: u32,
    /// Word 1; number of the chunk's first vertex.
    pub first: u32,
    /// Word 2; entries of a tensor of the adjacency.
    pub triangle_cap: u32,
}

/// `triangle_gather.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "triangle_gather",
    include_bytes!("../../../../shaders/spv/triangle_gather.spv"),
);
