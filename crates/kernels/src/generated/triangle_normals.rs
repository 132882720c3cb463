//! `shaders/triangle_normals.comp`: agreement of blended normals and those of the median depth, which are given: mean
//! over all pixels of 1 - N . (A n) with the blended normal N, the coverage A, and the normal n of the depth around the
//! pixel; pixels without n have none, and the mean is over all. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms, TriangleUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `vec4[]`.
    pub image: Span,
    /// Binding 3, `vec4[]`.
    pub surface_plane: Span,
    /// Binding 4, `vec2[]`.
    pub surface_depth: Span,
    /// Binding 5, `vec4[]`.
    pub surface_gradient: Span,
    /// Binding 6, `float[]`.
    pub normal_sums: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("image"),
        Binding::read("surface_plane"),
        Binding::read("surface_depth"),
        Binding::write("surface_gradient"),
        Binding::write("normal_sums"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.image,
            self.surface_plane,
            self.surface_depth,
            self.surface_gradient,
            self.normal_sums,
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
    /// Binding 2, `float[]`.
    pub normal_sums: Span,
}

impl Bindings for ReduceBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read_write("counters"),
        Binding::read("normal_sums"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.uniforms, self.counters, self.normal_sums]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0; pixels that rows of this swath begin at.
    pub swath_begin: u32,
    /// Word 1; one past the last.
    pub swath_end: u32,
    /// Word 2; pixel that bound tensors begin with.
    pub swath_base: u32,
}

/// `triangle_normals.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "triangle_normals",
    include_bytes!("../../../../shaders/spv/triangle_normals.spv"),
);

/// `triangle_normals.reduce.spv`, made with `REDUCE=1`.
pub static REDUCE: Kernel<ReduceBind> = Kernel::new(
    "triangle_normals.reduce",
    include_bytes!("../../../../shaders/spv/triangle_normals.reduce.spv"),
);
