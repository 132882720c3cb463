//! `shaders/reorder.comp`: moves planes of a chunk's Gaussians to their places in staging rows, and what the rows then
//! hold for the chunk back into its planes. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`PUT`] binds.
#[derive(Clone, Copy, Debug)]
pub struct PutBind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `uint[]`.
    pub staging: Span,
    /// Binding 2, `uint[]`.
    pub values: Span,
}

impl Bindings for PutBind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("staging"),
        Binding::write("values"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.counters, self.staging, self.values]
    }
}

/// What [`TAKE`] binds.
#[derive(Clone, Copy, Debug)]
pub struct TakeBind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `uint[]`.
    pub places: Span,
    /// Binding 2, `uint[]`.
    pub values: Span,
    /// Binding 3, `uint[]`.
    pub staging: Span,
}

impl Bindings for TakeBind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("places"),
        Binding::read("values"),
        Binding::write("staging"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.counters, self.places, self.values, self.staging]
    }
}

/// Push constants of [`PUT`] and [`TAKE`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub stride: u32,
    /// Word 1.
    pub first: u32,
    /// Word 2.
    pub first_plane: u32,
    /// Word 3.
    pub planes: u32,
    /// Word 4; Gaussians a staging row has room for.
    pub row: u32,
}

/// `reorder.put.spv`, made with `PUT=1`.
pub static PUT: Kernel<PutBind, Push> =
    Kernel::new("reorder.put", include_bytes!("../../../../shaders/spv/reorder.put.spv"));

/// `reorder.take.spv`.
pub static TAKE: Kernel<TakeBind, Push> = Kernel::new(
    "reorder.take",
    include_bytes!("../../../../shaders/spv/reorder.take.spv"),
);
