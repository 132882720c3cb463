//! `shaders/loss_gradient.comp`: gradient of w1 L1 + w2 (1 - SSIM) with respect to the rendered image. Made by `cargo
//! xtask shaders`.

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
    /// Binding 3, `uint[]`.
    pub target: Span,
    /// Binding 4, `float[]`.
    pub ssim_maps: Span,
    /// Binding 5, `vec4[]`.
    pub image_gradient: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("image"),
        Binding::read("target"),
        Binding::read("ssim_maps"),
        Binding::write("image_gradient"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.image,
            self.target,
            self.ssim_maps,
            self.image_gradient,
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
    /// Word 3; the same of the ground truth.
    pub target_base: u32,
    /// Word 4; pixels of a map.
    pub map_pixels: u32,
}

/// Specialisation constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Spec {
    /// Constant 0; 1: photos carry masks.
    pub masked: u32,
}

/// `loss_gradient.spv`.
pub static KERNEL: Kernel<Bind, Push, Spec> = Kernel::new(
    "loss_gradient",
    include_bytes!("../../../../shaders/spv/loss_gradient.spv"),
);
