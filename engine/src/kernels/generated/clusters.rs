//! `shaders/clusters.comp`: bounds the clusters of a chunk after something other than the update moved, resized or
//! filtered its Gaussians. Made by `cargo xtask shaders`.

use crate::program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `float[]`.
    pub geometry: Span,
    /// Binding 2, `float[]`.
    pub filter_3d: Span,
    /// Binding 3, `uint[]`.
    pub visible_mask: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("geometry"),
        Binding::read("filter_3d"),
        Binding::read_write("visible_mask"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.counters, self.geometry, self.filter_3d, self.visible_mask]
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
}

/// `clusters.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new("clusters", include_bytes!("../../../../shaders/spv/clusters.spv"));
