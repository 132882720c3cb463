//! `shaders/densify_score.comp`: mean gradient and mean abs statistic of every Gaussian, and how many reach the
//! gradient threshold. Made by `cargo xtask shaders`.

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
    pub threshold: f32,
    /// Word 3; world units.
    pub clone_max: f32,
}

/// `densify_score.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "densify_score",
    include_bytes!("../../../../shaders/spv/densify_score.spv"),
);
