//! `shaders/neighbor_take.comp`: centres of a chunk to their places in Morton order. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `uint[]`.
    pub places: Span,
    /// Binding 2, `float[]`.
    pub geometry: Span,
    /// Binding 3, `float[]`.
    pub centers_x: Span,
    /// Binding 4, `float[]`.
    pub centers_y: Span,
    /// Binding 5, `float[]`.
    pub centers_z: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("places"),
        Binding::read("geometry"),
        Binding::write("centers_x"),
        Binding::write("centers_y"),
        Binding::write("centers_z"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.counters,
            self.places,
            self.geometry,
            self.centers_x,
            self.centers_y,
            self.centers_z,
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
}

/// `neighbor_take.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "neighbor_take",
    include_bytes!("../../../../shaders/spv/neighbor_take.spv"),
);
