//! `shaders/triangle_terms.comp`: losses that look at vertices and not at pixels: mean opacity of all triangles'
//! corners, and mean distance of vertices in view from the median depth where they lie. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms, TriangleUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `vec4[]`.
    pub vertex_screen: Span,
    /// Binding 3, `uint[]`.
    pub adjacency_starts: Span,
    /// Binding 4, `vec2[]`.
    pub surface_depth: Span,
    /// Binding 5, `vec4[]`.
    pub vertex_sums: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("vertex_screen"),
        Binding::read("adjacency_starts"),
        Binding::read("surface_depth"),
        Binding::write("vertex_sums"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.vertex_screen,
            self.adjacency_starts,
            self.surface_depth,
            self.vertex_sums,
        ]
    }
}

/// What [`REDUCE`] binds.
#[derive(Clone, Copy, Debug)]
pub struct ReduceBind {
    /// Binding 0, `StepUniforms, TriangleUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `vec4[]`.
    pub vertex_sums: Span,
    /// Binding 3, `vec4[]`; as the sums of a group.
    pub vertex_total: Span,
}

impl Bindings for ReduceBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read_write("counters"),
        Binding::read("vertex_sums"),
        Binding::write("vertex_total"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.uniforms, self.counters, self.vertex_sums, self.vertex_total]
    }
}

/// `triangle_terms.spv`.
pub static KERNEL: Kernel<Bind> = Kernel::new(
    "triangle_terms",
    include_bytes!("../../../../shaders/spv/triangle_terms.spv"),
);

/// `triangle_terms.reduce.spv`, made with `REDUCE=1`.
pub static REDUCE: Kernel<ReduceBind> = Kernel::new(
    "triangle_terms.reduce",
    include_bytes!("../../../../shaders/spv/triangle_terms.reduce.spv"),
);
