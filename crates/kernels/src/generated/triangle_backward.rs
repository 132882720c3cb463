//! `shaders/triangle_backward.comp`: gradients of a tile's triangles, walking each sample's contributors back to front.
//! Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms, TriangleUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `uvec2[]`.
    pub tile_ranges: Span,
    /// Binding 3, `uint[]`.
    pub payloads: Span,
    /// Binding 4, `uint[]`.
    pub owners: Span,
    /// Binding 5, `uvec4[]`.
    pub record_corners: Span,
    /// Binding 6, `vec4[]`.
    pub vertex_screen: Span,
    /// Binding 7, `float[]`.
    pub vertex_color: Span,
    /// Binding 8, `vec4[]`.
    pub image_gradient: Span,
    /// Binding 9, `vec4[]`; by normal; by depth.
    pub surface_gradient: Span,
    /// Binding 10, `float[]`.
    pub partial_a: Span,
    /// Binding 11, `float[]`.
    pub partial_b: Span,
    /// Binding 12, `float[]`.
    pub partial_c: Span,
    /// Binding 13, `float[]`.
    pub partial_d: Span,
    /// Binding 14, `float[]`.
    pub partial_e: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read_write("counters"),
        Binding::read("tile_ranges"),
        Binding::read("payloads"),
        Binding::read("owners"),
        Binding::read("record_corners"),
        Binding::read("vertex_screen"),
        Binding::read("vertex_color"),
        Binding::read("image_gradient"),
        Binding::read("surface_gradient"),
        Binding::read_write("partial_a"),
        Binding::read_write("partial_b"),
        Binding::read_write("partial_c"),
        Binding::read_write("partial_d"),
        Binding::read_write("partial_e"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.tile_ranges,
            self.payloads,
            self.owners,
            self.record_corners,
            self.vertex_screen,
            self.vertex_color,
            self.image_gradient,
            self.surface_gradient,
            self.partial_a,
            self.partial_b,
            self.partial_c,
            self.partial_d,
            self.partial_e,
        ]
    }
}

/// What [`EXACT`] binds.
#[derive(Clone, Copy, Debug)]
pub struct ExactBind {
    /// The first 15.
    pub base: Bind,
    /// Binding 15, `float[]`.
    pub partial_f: Span,
}

impl Bindings for ExactBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read_write("counters"),
        Binding::read("tile_ranges"),
        Binding::read("payloads"),
        Binding::read("owners"),
        Binding::read("record_corners"),
        Binding::read("vertex_screen"),
        Binding::read("vertex_color"),
        Binding::read("image_gradient"),
        Binding::read("surface_gradient"),
        Binding::read_write("partial_a"),
        Binding::read_write("partial_b"),
        Binding::read_write("partial_c"),
        Binding::read_write("partial_d"),
        Binding::read_write("partial_e"),
        Binding::read_write("partial_f"),
    ];

    fn views(&self) -> Vec<Span> {
        let mut views = self.base.views();
        views.extend([self.partial_f]);
        views
    }
}

/// Push constants of [`KERNEL`] and [`EXACT`].
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

/// Specialisation constants of [`KERNEL`] and [`EXACT`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Spec {
    /// Constant 0; several triangles a turn, see `common/turns.glsl`.
    pub unrolled: u32,
}

/// `triangle_backward.spv`.
pub static KERNEL: Kernel<Bind, Push, Spec> = Kernel::new(
    "triangle_backward",
    include_bytes!("../../../../shaders/spv/triangle_backward.spv"),
);

/// `triangle_backward.exact.spv`, made with `EXACT=1`.
pub static EXACT: Kernel<ExactBind, Push, Spec> = Kernel::new(
    "triangle_backward.exact",
    include_bytes!("../../../../shaders/spv/triangle_backward.exact.spv"),
);
