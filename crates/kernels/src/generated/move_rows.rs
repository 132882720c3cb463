//! `shaders/move_rows.comp`: copies planes of listed Gaussians between a chunk and staging rows, entry k of the list at
//! place k of each row. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`GATHER`] binds.
#[derive(Clone, Copy, Debug)]
pub struct GatherBind {
    /// Binding 0, `DensifyControl`.
    pub control: Span,
    /// Binding 1, `uint[]`.
    pub ids: Span,
    /// Binding 2, `uint[]`.
    pub values: Span,
    /// Binding 3, `uint[]`.
    pub staging: Span,
}

impl Bindings for GatherBind {
    const LIST: &'static [Binding] = &[
        Binding::read("control"),
        Binding::read("ids"),
        Binding::read("values"),
        Binding::write("staging"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.control, self.ids, self.values, self.staging]
    }
}

/// What [`SCATTER`] binds.
#[derive(Clone, Copy, Debug)]
pub struct ScatterBind {
    /// Binding 0, `DensifyControl`.
    pub control: Span,
    /// Binding 1, `uint[]`.
    pub ids: Span,
    /// Binding 2, `uint[]`.
    pub staging: Span,
    /// Binding 3, `uint[]`.
    pub values: Span,
}

impl Bindings for ScatterBind {
    const LIST: &'static [Binding] = &[
        Binding::read("control"),
        Binding::read("ids"),
        Binding::read("staging"),
        Binding::write("values"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.control, self.ids, self.staging, self.values]
    }
}

/// Push constants of [`GATHER`] and [`SCATTER`].
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
    /// Word 4; entries a staging row has room for.
    pub row: u32,
}

/// `move_rows.gather.spv`.
pub static GATHER: Kernel<GatherBind, Push> = Kernel::new(
    "move_rows.gather",
    include_bytes!("../../../../shaders/spv/move_rows.gather.spv"),
);

/// `move_rows.scatter.spv`, made with `SCATTER=1`.
pub static SCATTER: Kernel<ScatterBind, Push> = Kernel::new(
    "move_rows.scatter",
    include_bytes!("../../../../shaders/spv/move_rows.scatter.spv"),
);
