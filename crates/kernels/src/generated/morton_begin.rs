//! `shaders/morton_begin.comp`: starts a re-sort: the group counts of its passes over all Gaussians. Made by `cargo
//! xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `uvec4[]`.
    pub args: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[Binding::read("counters"), Binding::write("args")];

    fn views(&self) -> Vec<Span> {
        vec![self.counters, self.args]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0; keys a group of the sort takes.
    pub sort_block: u32,
}

/// `morton_begin.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "morton_begin",
    include_bytes!("../../../../shaders/spv/morton_begin.spv"),
);
