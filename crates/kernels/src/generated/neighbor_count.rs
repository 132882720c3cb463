//! `shaders/neighbor_count.comp`: turns the lists of neighbours round. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `uint[]`; of this part's Gaussians.
    pub neighbors: Span,
    /// Binding 2, `uint[]`.
    pub cursors: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("neighbors"),
        Binding::read_write("cursors"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.counters, self.neighbors, self.cursors]
    }
}

/// What [`FILL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct FillBind {
    /// The first 3.
    pub base: Bind,
    /// Binding 3, `uint[]`.
    pub neighbor_of: Span,
}

impl Bindings for FillBind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("neighbors"),
        Binding::read_write("cursors"),
        Binding::write("neighbor_of"),
    ];

    fn views(&self) -> Vec<Span> {
        let mut views = self.base.views();
        views.extend([self.neighbor_of]);
        views
    }
}

/// Push constants of [`KERNEL`] and [`FILL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0; id of the part's first Gaussian.
    pub first: u32,
    /// Word 1; Gaussians of the part.
    pub count: u32,
    /// Word 2; neighbours of each.
    pub k: u32,
}

/// `neighbor_count.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "neighbor_count",
    include_bytes!("../../../../shaders/spv/neighbor_count.spv"),
);

/// `neighbor_count.fill.spv`, made with `FILL=1`.
pub static FILL: Kernel<FillBind, Push> = Kernel::new(
    "neighbor_count.fill",
    include_bytes!("../../../../shaders/spv/neighbor_count.fill.spv"),
);
