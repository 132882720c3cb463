//! `shaders/neighbor_map.comp`: what a neighbouring view keeps for the step that compares with it: the depth at which
//! each pixel's ray meets the blended plane (Chen et al. 2024, eq. 5), and the grey of its photo. Made by `cargo xtask
//! shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `uint[]`.
    pub target: Span,
    /// Binding 3, `vec4[]`.
    pub image: Span,
    /// Binding 4, `vec4[]`.
    pub surface_plane: Span,
    /// Binding 5, `vec2[]`; z, 0 = none; grey, -1 = none.
    pub neighbor_map: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("target"),
        Binding::read("image"),
        Binding::read("surface_plane"),
        Binding::write("neighbor_map"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.target,
            self.image,
            self.surface_plane,
            self.neighbor_map,
        ]
    }
}

/// Specialisation constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Spec {
    /// Constant 0; 1: photos carry masks.
    pub masked: u32,
}

/// `neighbor_map.spv`.
pub static KERNEL: Kernel<Bind, (), Spec> = Kernel::new(
    "neighbor_map",
    include_bytes!("../../../../shaders/spv/neighbor_map.spv"),
);
