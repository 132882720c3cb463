//! `shaders/mcmc_share.comp`: shares opacity and scales of each Gaussian that is copied among it and its copies, before
//! they are made; clears moments and statistics of both. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `DensifyControl`.
    pub control: Span,
    /// Binding 1, `uint[]`.
    pub copies: Span,
    /// Binding 2, `float[]`.
    pub geometry: Span,
    /// Binding 3, `uint[]`.
    pub geometry_m: Span,
    /// Binding 4, `uint[]`.
    pub geometry_v: Span,
    /// Binding 5, `uint[]`.
    pub sh_m: Span,
    /// Binding 6, `uint[]`.
    pub sh_v: Span,
    /// Binding 7, `float[]`.
    pub statistics: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("control"),
        Binding::read("copies"),
        Binding::read_write("geometry"),
        Binding::write("geometry_m"),
        Binding::write("geometry_v"),
        Binding::write("sh_m"),
        Binding::write("sh_v"),
        Binding::write("statistics"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.control,
            self.copies,
            self.geometry,
            self.geometry_m,
            self.geometry_v,
            self.sh_m,
            self.sh_v,
            self.statistics,
        ]
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
    pub least_opacity: f32,
    /// Word 3.
    pub geometry_m_planes: u32,
    /// Word 4.
    pub geometry_v_planes: u32,
    /// Word 5.
    pub sh_m_planes: u32,
    /// Word 6.
    pub sh_v_planes: u32,
}

/// `mcmc_share.spv`.
pub static KERNEL: Kernel<Bind, Push> =
    Kernel::new("mcmc_share", include_bytes!("../../../../shaders/spv/mcmc_share.spv"));
