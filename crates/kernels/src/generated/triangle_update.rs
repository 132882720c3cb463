//! `shaders/triangle_update.comp`: from the gradients of what a view shows of vertices to those of their values, and
//! the optimiser's step: positions, weights, colours. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] and [`EXACT`] bind.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms, TriangleUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `float[]`; planes x, y, z, weight.
    pub geometry: Span,
    /// Binding 3, `float[]`.
    pub geometry_m: Span,
    /// Binding 4, `float[]`.
    pub geometry_v: Span,
    /// Binding 5, `float[]`.
    pub sh: Span,
    /// Binding 6, `float[]`.
    pub sh_m: Span,
    /// Binding 7, `float[]`.
    pub sh_v: Span,
    /// Binding 8, `vec4[]`.
    pub vertex_gradient: Span,
    /// Binding 9, `vec4[]`.
    pub vertex_screen: Span,
    /// Binding 10, `vec2[]`.
    pub surface_depth: Span,
    /// Binding 11, `vec4[]`.
    pub vertex_total: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read_write("counters"),
        Binding::read_write("geometry"),
        Binding::read_write("geometry_m"),
        Binding::read_write("geometry_v"),
        Binding::read_write("sh"),
        Binding::read_write("sh_m"),
        Binding::read_write("sh_v"),
        Binding::read("vertex_gradient"),
        Binding::read("vertex_screen"),
        Binding::read("surface_depth"),
        Binding::read("vertex_total"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.geometry,
            self.geometry_m,
            self.geometry_v,
            self.sh,
            self.sh_m,
            self.sh_v,
            self.vertex_gradient,
            self.vertex_screen,
            self.surface_depth,
            self.vertex_total,
        ]
    }
}

/// Push constants of [`KERNEL`] and [`EXACT`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub stride: u32,
    /// Word 1; number of the chunk's first vertex.
    pub first: u32,
    /// Word 2; stored, not active.
    pub sh_coefficients: u32,
}

/// `triangle_update.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "triangle_update",
    include_bytes!("../../../../shaders/spv/triangle_update.spv"),
);

/// `triangle_update.exact.spv`, made with `EXACT=1`.
pub static EXACT: Kernel<Bind, Push> = Kernel::new(
    "triangle_update.exact",
    include_bytes!("../../../../shaders/spv/triangle_update.exact.spv"),
);
