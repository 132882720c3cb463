//! `shaders/densify_decide.comp`: selects Gaussians, with a score: selected means g >= threshold or ga >= Q; the score
//! is the larger of g / threshold and ga / Q. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `DensifyControl`.
    pub control: Span,
    /// Binding 1, `uint[]`.
    pub gradients: Span,
    /// Binding 2, `uint[]`.
    pub keys: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read_write("control"),
        Binding::read("gradients"),
        Binding::read_write("keys"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.control, self.gradients, self.keys]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub threshold: f32,
    /// Word 1.
    pub use_abs: u32,
}

/// `densify_decide.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "densify_decide",
    include_bytes!("../../../../shaders/spv/densify_decide.spv"),
);
