//! `shaders/neighbor_patches.comp`: photometric consistency with a neighbouring view (Chen et al. 2024, sec. 3.3): mean
//! of w (1 - NCC) over patches around consistent pixels that chance picks, w from `neighbor_loss`. Made by `cargo xtask
//! shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `StepUniforms`.
    pub neighbor: Span,
    /// Binding 3, `uint[]`.
    pub target: Span,
    /// Binding 4, `vec4[]`.
    pub surface_plane: Span,
    /// Binding 5, `vec2[]`.
    pub neighbor_map: Span,
    /// Binding 6, `vec2[]`.
    pub pair_pixels: Span,
    /// Binding 7, `vec4[]`; by N; by D.
    pub pair_patches: Span,
    /// Binding 8, `vec2[]`.
    pub pair_sums: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("neighbor"),
        Binding::read("target"),
        Binding::read("surface_plane"),
        Binding::read("neighbor_map"),
        Binding::read("pair_pixels"),
        Binding::write("pair_patches"),
        Binding::write("pair_sums"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.neighbor,
            self.target,
            self.surface_plane,
            self.neighbor_map,
            self.pair_pixels,
            self.pair_patches,
            self.pair_sums,
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

/// `neighbor_patches.spv`.
pub static KERNEL: Kernel<Bind, (), Spec> = Kernel::new(
    "neighbor_patches",
    include_bytes!("../../../../shaders/spv/neighbor_patches.spv"),
);
