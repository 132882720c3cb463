//! `shaders/relocate.comp`: copies planes of listed Gaussians between a chunk and staging rows, entry k of the list at
//! place k of each row. Made by `cargo xtask shaders`.

use crate::program::{Binding, Bindings, Kernel, View};

/// What [`GATHER`] binds.
#[derive(Clone, Copy, Debug)]
pub struct GatherBind {
    /// Binding 0, `DensifyControl`.
    pub control: View,
    /// Binding 1, `uint[]`.
    pub ids: View,
    /// Binding 2, `uint[]`.
    pub values: View,
    /// Binding 3, `uint[]`.
    pub staging: View,
}

impl Bindings for GatherBind {
    const LIST: &'static [Binding] = &[
        Binding::read("control"),
        Binding::read("ids"),
        Binding::read("values"),
        Binding::write("staging"),
    ];

    fn views(&self) -> Vec<View> {
        vec![self.control, self.ids, self.values, self.staging]
    }
}

/// What [`SCATTER`] binds.
#[derive(Clone, Copy, Debug)]
pub struct ScatterBind {
    /// Binding 0, `DensifyControl`.
    pub control: View,
    /// Binding 1, `uint[]`.
    pub ids: View,
    /// Binding 2, `uint[]`.
    pub staging: View,
    /// Binding 3, `uint[]`.
    pub values: View,
}

impl Bindings for ScatterBind {
    const LIST: &'static [Binding] = &[
        Binding::read("control"),
        Binding::read("ids"),
        Binding::read("staging"),
        Binding::write("values"),
    ];

    fn views(&self) -> Vec<View> {
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

/// `relocate.gather.spv`.
pub static GATHER: Kernel<GatherBind, Push> = Kernel::new(
    "relocate.gather",
    include_bytes!("../../../../shaders/spv/relocate.gather.spv"),
);

/// `relocate.scatter.spv`, made with `SCATTER=1`.
pub static SCATTER: Kernel<ScatterBind, Push> = Kernel::new(
    "relocate.scatter",
    include_bytes!("../../../../shaders/spv/relocate.scatter.spv"),
);
