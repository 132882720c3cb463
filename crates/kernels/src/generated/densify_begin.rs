//! `shaders/densify_begin.comp`: starts a densification: clears its control block, says how many births there may be,
//! and writes the group counts for the Gaussians there are. Made by `cargo xtask shaders`.

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
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::write("control"),
        Binding::write("args"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.uniforms, self.counters, self.control, self.args]
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
    pub capacity: u32,
    /// Word 3; iterations between which the way to the capacity lies,.
    pub from: u32,
    /// Word 4.
    pub last: u32,
    /// Word 5; its shape, or 0 where there is none.
    pub ramp: f32,
    /// Word 6; most births on it, as a share of the Gaussians there are.
    pub growth: f32,
}

/// `densify_begin.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "densify_begin",
    include_bytes!("../../../../shaders/spv/densify_begin.spv"),
);
