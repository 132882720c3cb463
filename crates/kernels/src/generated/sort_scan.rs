//! `shaders/sort_scan.comp`: radix sort, second pass: each group scans one digit's row of block counts and stores the
//! row's total behind the rows. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `uint[]`.
    pub counters: Span,
    /// Binding 1, `uint[]`.
    pub histogram: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[Binding::read("counters"), Binding::read_write("histogram")];

    fn views(&self) -> Vec<Span> {
        vec![self.counters, self.histogram]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub shift: u32,
    /// Word 1.
    pub block_cap: u32,
}

/// Specialisation constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Spec {
    /// Constant 0.
    pub bits: u32,
    /// Constant 1.
    pub counter: u32,
    /// Constant 2.
    pub sort_block: u32,
}

/// `sort_scan.spv`.
pub static KERNEL: Kernel<Bind, Push, Spec> =
    Kernel::new("sort_scan", include_bytes!("../../../../shaders/spv/sort_scan.spv"));
