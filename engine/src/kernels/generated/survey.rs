//! `shaders/survey.comp`: where the tiles of every visible Gaussian lie, without records of them: per tile, how many
//! Gaussians touch it, how many touch it as their first tile and how many as their last, tiles counted row by row. Made
//! by `cargo xtask shaders`.

use crate::program::{Binding, Bindings, Kernel, View};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: View,
    /// Binding 1, `Counters`.
    pub counters: View,
    /// Binding 2, `float[]`.
    pub geometry: View,
    /// Binding 3, `float[]`.
    pub filter_3d: View,
    /// Binding 4, `uint[]`.
    pub visible_mask: View,
    /// Binding 5, `uint[]`.
    pub tile_survey: View,
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

    fn views(&self) -> Vec<View> {
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

/// `survey.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new("survey", include_bytes!("../../../../shaders/spv/survey.spv"));
