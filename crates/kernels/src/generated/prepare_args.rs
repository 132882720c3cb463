//! `shaders/prepare_args.comp`: starts a step: clears the counters and writes the group counts that depend only on the
//! number of Gaussians. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `uvec4[]`.
    pub args: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read_write("counters"),
        Binding::write("args"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.uniforms, self.counters, self.args]
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
}

/// `prepare_args.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "prepare_args",
    include_bytes!("../../../../shaders/spv/prepare_args.spv"),
);
