//! `shaders/alpha_loss.comp`: mean absolute difference between the rendered coverage 1 - T and the photo's mask. Made
//! by `cargo xtask shaders`.

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
    /// Binding 4, `vec4[]`.
    pub image_gradient: Span,
    /// Binding 5, `float[]`.
    pub alpha_sums: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("image"),
        Binding::read("target"),
        Binding::read_write("image_gradient"),
        Binding::write("alpha_sums"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.image,
            self.target,
            self.image_gradient,
            self.alpha_sums,
        ]
    }
}

/// What [`REDUCE`] binds.
#[derive(Clone, Copy, Debug)]
pub struct ReduceBind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `float[]`.
    pub alpha_sums: Span,
}

impl Bindings for ReduceBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read_write("counters"),
        Binding::read("alpha_sums"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.uniforms, self.counters, self.alpha_sums]
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
}

/// `alpha_loss.spv`.
pub static KERNEL: Kernel<Bind, Push> =
    Kernel::new("alpha_loss", include_bytes!("../../../../shaders/spv/alpha_loss.spv"));

/// `alpha_loss.reduce.spv`, made with `REDUCE=1`.
pub static REDUCE: Kernel<ReduceBind> = Kernel::new(
    "alpha_loss.reduce",
    include_bytes!("../../../../shaders/spv/alpha_loss.reduce.spv"),
);
