//! `shaders/unbind_vertices.comp`: adam (Kingma & Ba 2015) on the vertices that Gaussians hang on: each gathers what
//! its triangles owe to it, in their order, so that equal runs give equal bytes. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `uint[]`; one more than vertices.
    pub first_corner: Span,
    /// Binding 3, `uint[]`; 3 triangle + place in it.
    pub corners: Span,
    /// Binding 4, `float[]`; by first corners.
    pub gradient_a: Span,
    /// Binding 5, `float[]`; by second ones.
    pub gradient_b: Span,
    /// Binding 6, `float[]`; by third ones.
    pub gradient_c: Span,
    /// Binding 7, `float[]`; three a vertex.
    pub vertices: Span,
    /// Binding 8, `float[]`.
    pub vertices_m: Span,
    /// Binding 9, `float[]`.
    pub vertices_v: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read_write("counters"),
        Binding::read("first_corner"),
        Binding::read("corners"),
        Binding::read("gradient_a"),
        Binding::read("gradient_b"),
        Binding::read("gradient_c"),
        Binding::read_write("vertices"),
        Binding::read_write("vertices_m"),
        Binding::read_write("vertices_v"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.first_corner,
            self.corners,
            self.gradient_a,
            self.gradient_b,
            self.gradient_c,
            self.vertices,
            self.vertices_m,
            self.vertices_v,
        ]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0; vertices.
    pub count: u32,
}

/// `unbind_vertices.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "unbind_vertices",
    include_bytes!("../../../../shaders/spv/unbind_vertices.spv"),
);
