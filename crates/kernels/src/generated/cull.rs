//! `shaders/cull.comp`: decides which Gaussians of a chunk touch a tile: one bit each, and the number of set bits of
//! every group of 256. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `float[]`.
    pub geometry: Span,
    /// Binding 3, `float[]`.
    pub filter_3d: Span,
    /// Binding 4, `uint[]`.
    pub visible_mask: Span,
    /// Binding 5, `uint[]`.
    pub group_visible: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("geometry"),
        Binding::read("filter_3d"),
        Binding::write("visible_mask"),
        Binding::write("group_visible"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.geometry,
            self.filter_3d,
            self.visible_mask,
            self.group_visible,
        ]
    }
}

/// What [`BAND`] binds.
#[derive(Clone, Copy, Debug)]
pub struct BandBind {
    /// The first 6.
    pub base: Bind,
    /// Binding 6, `uint[]`.
    pub whole_mask: Span,
}

impl Bindings for BandBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("geometry"),
        Binding::read("filter_3d"),
        Binding::write("visible_mask"),
        Binding::write("group_visible"),
        Binding::read("whole_mask"),
    ];

    fn views(&self) -> Vec<Span> {
        let mut views = self.base.views();
        views.extend([self.whole_mask]);
        views
    }
}

/// Push constants of [`KERNEL`] and [`BAND`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub stride: u32,
    /// Word 1; id of the chunk's first Gaussian.
    pub first: u32,
    /// Word 2; groups of earlier chunks.
    pub first_group: u32,
}

/// Specialisation constants of [`KERNEL`] and [`BAND`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Spec {
    /// Constant 0; 1: some cameras have one.
    pub lens: u32,
}

/// `cull.spv`.
pub static KERNEL: Kernel<Bind, Push, Spec> = Kernel::new("cull", include_bytes!("../../../../shaders/spv/cull.spv"));

/// `cull.band.spv`, made with `BAND=1`.
pub static BAND: Kernel<BandBind, Push, Spec> =
    Kernel::new("cull.band", include_bytes!("../../../../shaders/spv/cull.band.spv"));
