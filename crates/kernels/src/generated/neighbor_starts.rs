//! `shaders/neighbor_starts.comp`: where the list of each Gaussian starts: sums of all counts before its own, in blocks
//! of 2048. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `uint[]`.
    pub block_sums: Span,
    /// Binding 2, `uint[]`.
    pub starts: Span,
    /// Binding 3, `uint[]`.
    pub cursors: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("block_sums"),
        Binding::read_write("starts"),
        Binding::write("cursors"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.counters, self.block_sums, self.starts, self.cursors]
    }
}

/// What [`CLEAR`] binds.
#[derive(Clone, Copy, Debug)]
pub struct ClearBind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `uint[]`.
    pub starts: Span,
}

impl Bindings for ClearBind {
    const LIST: &'static [Binding] = &[Binding::read("counters"), Binding::write("starts")];

    fn views(&self) -> Vec<Span> {
        vec![self.counters, self.starts]
    }
}

/// What [`BEFORE`] binds.
#[derive(Clone, Copy, Debug)]
pub struct BeforeBind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `uint[]`.
    pub block_sums: Span,
}

impl Bindings for BeforeBind {
    const LIST: &'static [Binding] = &[Binding::read("counters"), Binding::read_write("block_sums")];

    fn views(&self) -> Vec<Span> {
        vec![self.counters, self.block_sums]
    }
}

/// What [`BLOCKS`] binds.
#[derive(Clone, Copy, Debug)]
pub struct BlocksBind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `uint[]`.
    pub block_sums: Span,
    /// Binding 2, `uint[]`.
    pub starts: Span,
}

impl Bindings for BlocksBind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::write("block_sums"),
        Binding::read("starts"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.counters, self.block_sums, self.starts]
    }
}

/// Push constants of [`KERNEL`], [`CLEAR`], [`BEFORE`] and [`BLOCKS`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0; words, or blocks of them.
    pub count: u32,
}

/// `neighbor_starts.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "neighbor_starts",
    include_bytes!("../../../../shaders/spv/neighbor_starts.spv"),
);

/// `neighbor_starts.clear.spv`, made with `CLEAR=1`.
pub static CLEAR: Kernel<ClearBind, Push> = Kernel::new(
    "neighbor_starts.clear",
    include_bytes!("../../../../shaders/spv/neighbor_starts.clear.spv"),
);

/// `neighbor_starts.before.spv`, made with `BEFORE=1`.
pub static BEFORE: Kernel<BeforeBind, Push> = Kernel::new(
    "neighbor_starts.before",
    include_bytes!("../../../../shaders/spv/neighbor_starts.before.spv"),
);

/// `neighbor_starts.blocks.spv`, made with `BLOCKS=1`.
pub static BLOCKS: Kernel<BlocksBind, Push> = Kernel::new(
    "neighbor_starts.blocks",
    include_bytes!("../../../../shaders/spv/neighbor_starts.blocks.spv"),
);
