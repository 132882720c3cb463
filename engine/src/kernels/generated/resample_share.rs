//! `shaders/resample_share.comp`: shares opacity and scales of each Gaussian that is copied among it and its copies,
//! before they are made; clears moments and statistics of both. Made by `cargo xtask shaders`.

use crate::program::{Binding, Bindings, Kernel, View};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `DensifyControl`.
    pub control: View,
    /// Binding 1, `uint[]`.
    pub copies: View,
    /// Binding 2, `float[]`.
    pub geometry: View,
    /// Binding 3, `uint[]`.
    pub geometry_m: View,
    /// Binding 4, `uint[]`.
    pub geometry_v: View,
    /// Binding 5, `uint[]`.
    pub sh_m: View,
    /// Binding 6, `uint[]`.
    pub sh_v: View,
    /// Binding 7, `float[]`.
    pub statistics: View,
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

    fn views(&self) -> Vec<View> {
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

/// `resample_share.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "resample_share",
    include_bytes!("../../../../shaders/spv/resample_share.spv"),
);
