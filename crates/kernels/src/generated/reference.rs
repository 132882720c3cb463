//! `shaders/reference.comp`: work that never changes, for `kernels/reference.rs`: every thread reads a vector,
//! multiplies and adds 256 times, each time waiting for the last, and writes it back. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `vec4[]`.
    pub values: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[Binding::read_write("values")];

    fn views(&self) -> Vec<Span> {
        vec![self.values]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0; vectors.
    pub count: u32,
}

/// `reference.spv`.
pub static KERNEL: Kernel<Bind, Push> =
    Kernel::new("reference", include_bytes!("../../../../shaders/spv/reference.spv"));
