//! `shaders/mcmc_scan.comp`: turns the groups' sums into offsets, decides how many copies are made and publishes the
//! new number of Gaussians. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `DensifyControl`.
    pub control: Span,
    /// Binding 3, `uvec4[]`.
    pub args: Span,
    /// Binding 4, `uvec2[]`.
    pub group_counts: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read_write("counters"),
        Binding::read_write("control"),
        Binding::write("args"),
        Binding::read_write("group_counts"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.uniforms, self.counters, self.control, self.args, self.group_counts]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub chunks: u32,
    /// Word 1.
    pub chunk_gaussians: u32,
    /// Word 2.
    pub growth: f32,
    /// Word 3; entries the list has room for.
    pub row: u32,
}

/// `mcmc_scan.spv`.
pub static KERNEL: Kernel<Bind, Push> =
    Kernel::new("mcmc_scan", include_bytes!("../../../../shaders/spv/mcmc_scan.spv"));

/// Channel of where the first copy lies.
pub const CHANNEL_OFFSET: u32 = 73;
