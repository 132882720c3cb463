//! `shaders/error_score.comp`: scores of the strategy `error_guided`: the product of a Gaussian's splatted error and
//! mean abs gradient, each to an exponent. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `DensifyControl`.
    pub control: Span,
    /// Binding 1, `float[]`.
    pub statistics: Span,
    /// Binding 2, `float[]`.
    pub geometry: Span,
    /// Binding 3, `uint[]`.
    pub gradients: Span,
    /// Binding 4, `uint[]`.
    pub keys: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read_write("control"),
        Binding::read("statistics"),
        Binding::read("geometry"),
        Binding::write("gradients"),
        Binding::write("keys"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.control, self.statistics, self.geometry, self.gradients, self.keys]
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
    pub error_exponent: f32,
    /// Word 3.
    pub abs_exponent: f32,
    /// Word 4; the fainter die.
    pub opacity_min: f32,
    /// Word 5; world units; larger ones are split.
    pub copy_max: f32,
}

/// `error_score.spv`.
pub static KERNEL: Kernel<Bind, Push> =
    Kernel::new("error_score", include_bytes!("../../../../shaders/spv/error_score.spv"));
