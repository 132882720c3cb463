//! `shaders/probe.comp`: reads runs of 16 KiB that lie `stride` units apart and leaves the exclusive or of each run's
//! words: as little work as possible for as many bytes, so that the time it takes is that of the memory. Made by `cargo
//! xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `uvec4[]`.
    pub source: Span,
    /// Binding 1, `uint[]`.
    pub sums: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[Binding::read("source"), Binding::write("sums")];

    fn views(&self) -> Vec<Span> {
        vec![self.source, self.sums]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0; units of 16 bytes.
    pub stride: u32,
    /// Word 1.
    pub runs: u32,
}

/// `probe.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new("probe", include_bytes!("../../../../shaders/spv/probe.spv"));
