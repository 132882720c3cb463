//! `shaders/surface_depth.comp`: depth and normal of every pixel from blended planes and depths: where the pixel's ray
//! meets the blended plane (Chen et al. 2024, eq. 5), the depth at which half its light is blocked, or the mean of the
//! splats' depths. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `vec4[]`.
    pub image: Span,
    /// Binding 3, `vec4[]`.
    pub surface_plane: Span,
    /// Binding 4, `vec2[]`.
    pub surface_depth: Span,
    /// Binding 5, `vec4[]`; z, 0 = none; normal, 0 = none.
    pub depth_map: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("image"),
        Binding::read("surface_plane"),
        Binding::read("surface_depth"),
        Binding::write("depth_map"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.image,
            self.surface_plane,
            self.surface_depth,
            self.depth_map,
        ]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0; one of `DEPTH_*`.
    pub kind: u32,
    /// Word 1; depths beyond it are none, world units.
    pub far: f32,
    /// Word 2; between ray and normal, below which a depth is none.
    pub least_cosine: f32,
}

/// `surface_depth.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "surface_depth",
    include_bytes!("../../../../shaders/spv/surface_depth.spv"),
);
