//! `shaders/sort_scatter.comp`: radix sort, third pass: moves keys and payloads to their places, keeping the order of
//! equal digits. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] and [`SUBGROUP`] bind.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `uint[]`.
    pub counters: Span,
    /// Binding 1, `uint[]`.
    pub histogram: Span,
    /// Binding 2, `uint[]`.
    pub keys_in: Span,
    /// Binding 3, `uint[]`.
    pub values_in: Span,
    /// Binding 4, `uint[]`.
    pub keys_out: Span,
    /// Binding 5, `uint[]`.
    pub values_out: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("histogram"),
        Binding::read("keys_in"),
        Binding::read("values_in"),
        Binding::write("keys_out"),
        Binding::write("values_out"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.counters,
            self.histogram,
            self.keys_in,
            self.values_in,
            self.keys_out,
            self.values_out,
        ]
    }
}

/// Push constants of [`KERNEL`] and [`SUBGROUP`].
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
    /// Constant 3; 1: payloads are the keys' own indices.
    pub first: u32,
}

/// Specialisation constants of [`SUBGROUP`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct SubgroupSpec {
    /// The first 4.
    pub base: Spec,
    /// Constant 4; subgroups in a group.
    pub subgroups: u32,
}

/// `sort_scatter.spv`.
pub static KERNEL: Kernel<Bind, Push, Spec> = Kernel::new(
    "sort_scatter",
    include_bytes!("../../../../shaders/spv/sort_scatter.spv"),
);

/// `sort_scatter.subgroup.spv`, made with `SUBGROUP=1`.
pub static SUBGROUP: Kernel<Bind, Push, SubgroupSpec> = Kernel::new(
    "sort_scatter.subgroup",
    include_bytes!("../../../../shaders/spv/sort_scatter.subgroup.spv"),
);
