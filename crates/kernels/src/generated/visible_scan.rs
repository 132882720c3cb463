//! `shaders/visible_scan.comp`: turns the groups' visible counts into offsets and writes the group counts of everything
//! that runs once per visible Gaussian. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `uvec4[]`.
    pub args: Span,
    /// Binding 2, `uint[]`.
    pub group_visible: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read_write("counters"),
        Binding::write("args"),
        Binding::read_write("group_visible"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.counters, self.args, self.group_visible]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub visible_cap: u32,
}

/// Specialisation constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Spec {
    /// Constant 0; keys a group of the sort takes.
    pub sort_block: u32,
}

/// `visible_scan.spv`.
pub static KERNEL: Kernel<Bind, Push, Spec> = Kernel::new(
    "visible_scan",
    include_bytes!("../../../../shaders/spv/visible_scan.spv"),
);
