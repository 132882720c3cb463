//! `shaders/triangle_rasterize.comp`: blends the sorted triangles of a tile front to back and averages a pixel's
//! samples in shared memory: images have pixels and never samples, whatever their number. Made by `cargo xtask
//! shaders`.

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
    pub record: Span,
    /// Binding 6, `uvec4[]`.
    pub record_corners: Span,
    /// Binding 7, `vec4[]`.
    pub vertex_screen: Span,
    /// Binding 8, `float[]`.
    pub vertex_color: Span,
    /// Binding 9, `uint[]`; bits of the largest blending weights.
    pub importance: Span,
    /// Binding 10, `vec4[]`; rgb, final T.
    pub image: Span,
    /// Binding 11, `vec4[]`; sum w n, sum w z.
    pub surface_plane: Span,
    /// Binding 12, `vec2[]`; median z, sum w z.
    pub surface_depth: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read_write("counters"),
        Binding::read("tile_ranges"),
        Binding::read("payloads"),
        Binding::read("owners"),
        Binding::read("record"),
        Binding::read("record_corners"),
        Binding::read("vertex_screen"),
        Binding::read("vertex_color"),
        Binding::read_write("importance"),
        Binding::write("image"),
        Binding::write("surface_plane"),
        Binding::write("surface_depth"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.tile_ranges,
            self.payloads,
            self.owners,
            self.record,
            self.record_corners,
            self.vertex_screen,
            self.vertex_color,
            self.importance,
            self.image,
            self.surface_plane,
            self.surface_depth,
        ]
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

/// Specialisation constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Spec {
    /// Constant 0; several triangles a turn, see `common/turns.glsl`.
    pub unrolled: u32,
}

/// `triangle_rasterize.spv`.
pub static KERNEL: Kernel<Bind, Push, Spec> = Kernel::new(
    "triangle_rasterize",
    include_bytes!("../../../../shaders/spv/triangle_rasterize.spv"),
);
