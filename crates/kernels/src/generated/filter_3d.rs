//! `shaders/filter_3d.comp`: the 3D smoothing filter (Mip-Splatting, Yu et al. 2024, sec. 4): each Gaussian's nearest
//! sampling distance over all training cameras. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `FilterCamera[]`.
    pub cameras: Span,
    /// Binding 2, `float[]`.
    pub geometry: Span,
    /// Binding 3, `float[]`.
    pub filter_3d: Span,
    /// Binding 4, `uint`.
    pub farthest: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("cameras"),
        Binding::read("geometry"),
        Binding::write("filter_3d"),
        Binding::read_write("farthest"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.counters,
            self.cameras,
            self.geometry,
            self.filter_3d,
            self.farthest,
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
    pub camera_count: u32,
}

/// `filter_3d.spv`.
pub static KERNEL: Kernel<Bind, Push> =
    Kernel::new("filter_3d", include_bytes!("../../../../shaders/spv/filter_3d.spv"));
