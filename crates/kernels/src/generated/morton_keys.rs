//! `shaders/morton_keys.comp`: keys of a re-sort: the Morton code of each centre of a chunk. Made by `cargo xtask
//! shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `float[]`.
    pub geometry: Span,
    /// Binding 2, `uint[]`.
    pub keys: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("geometry"),
        Binding::write("keys"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.counters, self.geometry, self.keys]
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
    /// Word 2; of the scene, world units.
    pub center_x: f32,
    /// Word 3.
    pub center_y: f32,
    /// Word 4.
    pub center_z: f32,
    /// Word 5.
    pub inverse_extent: f32,
}

/// `morton_keys.spv`.
pub static KERNEL: Kernel<Bind, Push> =
    Kernel::new("morton_keys", include_bytes!("../../../../shaders/spv/morton_keys.spv"));
