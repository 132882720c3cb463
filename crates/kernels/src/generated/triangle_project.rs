//! `shaders/triangle_project.comp`: vertices of a chunk as a view sees them: place on the image, depth, opacity,
//! colour. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms, TriangleUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `float[]`; planes x, y, z, weight.
    pub geometry: Span,
    /// Binding 3, `float[]`.
    pub sh: Span,
    /// Binding 4, `vec4[]`; samples x, y; z; opacity.
    pub vertex_screen: Span,
    /// Binding 5, `float[]`.
    pub vertex_color: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("geometry"),
        Binding::read("sh"),
        Binding::write("vertex_screen"),
        Binding::write("vertex_color"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.geometry,
            self.sh,
            self.vertex_screen,
            self.vertex_color,
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
}

/// `triangle_project.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "triangle_project",
    include_bytes!("../../../../shaders/spv/triangle_project.spv"),
);
