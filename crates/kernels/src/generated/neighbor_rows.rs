//! `shaders/neighbor_rows.comp`: sorts the list of each Gaussian of a chunk, because atomics filled it in any order.
//! Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `uint[]`.
    pub starts: Span,
    /// Binding 2, `uint[]`.
    pub neighbor_of: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("starts"),
        Binding::read_write("neighbor_of"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.counters, self.starts, self.neighbor_of]
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

/// `neighbor_rows.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "neighbor_rows",
    include_bytes!("../../../../shaders/spv/neighbor_rows.spv"),
);
