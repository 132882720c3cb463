//! `shaders/densify_select_count.comp`: radix select, first of two passes a digit: how often each value of the next
//! digit occurs among the keys that share the digits found so far. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `DensifyControl`.
    pub control: Span,
    /// Binding 1, `uint[]`.
    pub keys: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[Binding::read_write("control"), Binding::read("keys")];

    fn views(&self) -> Vec<Span> {
        vec![self.control, self.keys]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub mode: u32,
    /// Word 1.
    pub shift: u32,
}

/// `densify_select_count.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "densify_select_count",
    include_bytes!("../../../../shaders/spv/densify_select_count.spv"),
);
