//! `shaders/densify_scan.comp`: turns the groups' counts into offsets, then says how many Gaussians there are now and
//! how many groups the next passes need. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `DensifyControl`.
    pub control: Span,
    /// Binding 2, `uvec4[]`.
    pub args: Span,
    /// Binding 3, `uvec2[]`.
    pub group_counts: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read_write("counters"),
        Binding::read_write("control"),
        Binding::write("args"),
        Binding::read_write("group_counts"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.counters, self.control, self.args, self.group_counts]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub chunks: u32,
    /// Word 1.
    pub chunk_gaussians: u32,
    /// Word 2.
    pub stage: u32,
}

/// `densify_scan.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "densify_scan",
    include_bytes!("../../../../shaders/spv/densify_scan.spv"),
);
