//! `shaders/densify_prune.comp`: prunes: key 1 for Gaussians that stay, 0 for the others. Made by `cargo xtask
//! shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `DensifyControl`.
    pub control: Span,
    /// Binding 1, `float[]`.
    pub geometry: Span,
    /// Binding 2, `float[]`.
    pub statistics: Span,
    /// Binding 3, `uint[]`.
    pub keys: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("control"),
        Binding::read("geometry"),
        Binding::write("statistics"),
        Binding::write("keys"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.control, self.geometry, self.statistics, self.keys]
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
    pub opacity_min: f32,
    /// Word 3; world units, infinite when unlimited.
    pub scale_max: f32,
}

/// `densify_prune.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "densify_prune",
    include_bytes!("../../../../shaders/spv/densify_prune.spv"),
);
