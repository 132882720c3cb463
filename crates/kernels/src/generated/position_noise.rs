//! `shaders/position_noise.comp`: noise on the centres of faint Gaussians (3DGS-MCMC, Kheradmand et al. 2024, equation
//! 8): mean += noise gate Sigma n with n standard normal and gate = 1 / (1 + exp(100 (opacity - 0.005))). Made by
//! `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `float[]`.
    pub geometry: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read_write("geometry"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.uniforms, self.counters, self.geometry]
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
}

/// `position_noise.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "position_noise",
    include_bytes!("../../../../shaders/spv/position_noise.spv"),
);

/// Channel of the noise, plus the axis; a normal draws from two channels of `common/rng.glsl`.
pub const CHANNEL_NOISE: u32 = 32;
