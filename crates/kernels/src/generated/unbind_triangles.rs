//! `shaders/unbind_triangles.comp`: what the Gaussians of a triangle, and the normals of the triangles around it, owe
//! to its corners: a thread a triangle. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `float[]`; three a vertex.
    pub vertices: Span,
    /// Binding 2, `uint[]`; three a triangle.
    pub triangles: Span,
    /// Binding 3, `uint[]`; neighbours, three a triangle.
    pub across: Span,
    /// Binding 4, `float[]`; planes: force, torque.
    pub pulls: Span,
    /// Binding 5, `float[]`; by the first corner.
    pub gradient_a: Span,
    /// Binding 6, `float[]`; by the second.
    pub gradient_b: Span,
    /// Binding 7, `float[]`; by the third.
    pub gradient_c: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("vertices"),
        Binding::read("triangles"),
        Binding::read("across"),
        Binding::read("pulls"),
        Binding::write("gradient_a"),
        Binding::write("gradient_b"),
        Binding::write("gradient_c"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.counters,
            self.vertices,
            self.triangles,
            self.across,
            self.pulls,
            self.gradient_a,
            self.gradient_b,
            self.gradient_c,
        ]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub stride: u32,
    /// Word 1.
    pub first_triangle: u32,
    /// Word 2; triangles of the chunk.
    pub count: u32,
    /// Word 3; 1, 3, 4 or 6.
    pub per_triangle: u32,
    /// Word 4; weight of the normals' term for an edge.
    pub flatness: f32,
}

/// `unbind_triangles.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "unbind_triangles",
    include_bytes!("../../../../shaders/spv/unbind_triangles.spv"),
);

/// No triangle, or several.
pub const ALONE: u32 = 0xffffffff;
