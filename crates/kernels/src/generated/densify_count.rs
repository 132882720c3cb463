//! `shaders/densify_count.comp`: per 256 Gaussians, how many keys are above the threshold and how many equal it:
//! parents with their ties, or the living. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `DensifyControl`.
    pub control: Span,
    /// Binding 1, `uint[]`.
    pub keys: Span,
    /// Binding 2, `uvec2[]`.
    pub group_counts: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("control"),
        Binding::read("keys"),
        Binding::write("group_counts"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.control, self.keys, self.group_counts]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub stage: u32,
}

/// `densify_count.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "densify_count",
    include_bytes!("../../../../shaders/spv/densify_count.spv"),
);
