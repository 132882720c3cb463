//! `shaders/sort_count.comp`: radix sort, first of three passes: how often each digit occurs in each block of keys.
//! Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `uint[]`.
    pub counters: Span,
    /// Binding 1, `uint[]`.
    pub keys: Span,
    /// Binding 2, `uint[]`.
    pub histogram: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("keys"),
        Binding::write("histogram"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.counters, self.keys, self.histogram]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub shift: u32,
    /// Word 1; blocks a digit's row has room for.
    pub block_cap: u32,
}

/// Specialisation constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Spec {
    /// Constant 0.
    pub bits: u32,
    /// Constant 1; which counter holds the number of keys.
    pub counter: u32,
    /// Constant 2.
    pub sort_block: u32,
}

/// `sort_count.spv`.
pub static KERNEL: Kernel<Bind, Push, Spec> =
    Kernel::new("sort_count", include_bytes!("../../../../shaders/spv/sort_count.spv"));
