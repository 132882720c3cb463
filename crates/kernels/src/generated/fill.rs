//! `shaders/fill.comp`: writes one value to the first `count` words of a buffer. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `uint[]`.
    pub words: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[Binding::write("words")];

    fn views(&self) -> Vec<Span> {
        vec![self.words]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub count: u32,
    /// Word 1.
    pub value: u32,
}

/// `fill.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new("fill", include_bytes!("../../../../shaders/spv/fill.spv"));
