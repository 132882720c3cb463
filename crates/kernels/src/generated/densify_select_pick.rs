//! `shaders/densify_select_pick.comp`: radix select, second pass of a digit: the digit whose keys hold the wanted rank.
//! Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `DensifyControl`.
    pub control: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[Binding::read_write("control")];

    fn views(&self) -> Vec<Span> {
        vec![self.control]
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

/// `densify_select_pick.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "densify_select_pick",
    include_bytes!("../../../../shaders/spv/densify_select_pick.spv"),
);
