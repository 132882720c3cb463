//! `shaders/loss_reduce.comp`: adds the groups' loss sums in a fixed order and stores loss, L1 and SSIM as means in the
//! counters. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `vec2[]`.
    pub sums: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read_write("counters"),
        Binding::read("sums"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.uniforms, self.counters, self.sums]
    }
}

/// `loss_reduce.spv`.
pub static KERNEL: Kernel<Bind> = Kernel::new("loss_reduce", include_bytes!("../../../../shaders/spv/loss_reduce.spv"));
