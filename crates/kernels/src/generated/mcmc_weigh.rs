//! `shaders/mcmc_weigh.comp`: finds dead Gaussians, and the weight with which the others are copied: their opacity in
//! whole steps, rounded at random so that its mean is the opacity. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `DensifyControl`.
    pub control: Span,
    /// Binding 2, `float[]`.
    pub geometry: Span,
    /// Binding 3, `uint[]`.
    pub keys: Span,
    /// Binding 4, `uvec2[]`.
    pub group_counts: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("control"),
        Binding::read("geometry"),
        Binding::write("keys"),
        Binding::write("group_counts"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.uniforms, self.control, self.geometry, self.keys, self.group_counts]
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
    /// Word 2.
    pub dead_opacity: f32,
}

/// `mcmc_weigh.spv`.
pub static KERNEL: Kernel<Bind, Push> =
    Kernel::new("mcmc_weigh", include_bytes!("../../../../shaders/spv/mcmc_weigh.spv"));

/// Channel that rounds weights up or down.
pub const CHANNEL_WEIGHT: u32 = 72;
