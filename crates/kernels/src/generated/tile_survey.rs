//! `shaders/tile_survey.comp`: where the tiles of every visible Gaussian lie, without records of them: per tile, how
//! many Gaussians touch it, how many touch it as their first tile and how many as their last, tiles counted row by row.
//! Made by `cargo xtask shaders`.

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
    pub tile_survey: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("geometry"),
        Binding::read("filter_3d"),
        Binding::read("visible_mask"),
        Binding::read_write("tile_survey"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.geometry,
            self.filter_3d,
            self.visible_mask,
            self.tile_survey,
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
    pub plane: u32,
}

/// Specialisation constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Spec {
    /// Constant 0; 1: some cameras have one.
    pub lens: u32,
}

/// `tile_survey.spv`.
pub static KERNEL: Kernel<Bind, Push, Spec> =
    Kernel::new("tile_survey", include_bytes!("../../../../shaders/spv/tile_survey.spv"));
