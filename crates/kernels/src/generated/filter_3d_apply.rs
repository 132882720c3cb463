//! `shaders/filter_3d_apply.comp`: second pass of the 3D smoothing filter: distance to standard deviation, d / f_max *
//! sqrt(0.2). Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `float[]`.
    pub filter_3d: Span,
    /// Binding 2, `uint`.
    pub farthest: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read_write("filter_3d"),
        Binding::read("farthest"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.counters, self.filter_3d, self.farthest]
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
    /// Word 2; sqrt(0.2) / f_max.
    pub scale: f32,
}

/// `filter_3d_apply.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "filter_3d_apply",
    include_bytes!("../../../../shaders/spv/filter_3d_apply.spv"),
);
