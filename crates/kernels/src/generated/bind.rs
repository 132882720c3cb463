//! `shaders/bind.comp`: centres and rotations of Gaussians on triangles (SuGaR, Guedon & Lepetit 2024): the place is
//! fixed in the triangle, the first axis is its normal, and the other two are turned in its plane by a learned complex
//! number. Made by `cargo xtask shaders`.

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
    /// Binding 3, `float[]`.
    pub geometry: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("vertices"),
        Binding::read("triangles"),
        Binding::read_write("geometry"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.counters, self.vertices, self.triangles, self.geometry]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub stride: u32,
    /// Word 1.
    pub first: u32,
    /// Word 2; 1, 3, 4 or 6.
    pub per_triangle: u32,
}

/// `bind.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new("bind", include_bytes!("../../../../shaders/spv/bind.spv"));
