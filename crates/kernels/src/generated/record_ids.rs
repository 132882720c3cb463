//! `shaders/record_ids.comp`: writes which Gaussian each visible record is of. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `uint[]`.
    pub visible_mask: Span,
    /// Binding 2, `uint[]`.
    pub group_visible: Span,
    /// Binding 3, `uint[]`.
    pub record_ids: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("visible_mask"),
        Binding::read("group_visible"),
        Binding::write("record_ids"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.counters, self.visible_mask, self.group_visible, self.record_ids]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub stride: u32,
    /// Word 1; id of the chunk's first Gaussian.
    pub first: u32,
    /// Word 2; groups of earlier chunks.
    pub first_group: u32,
}

/// `record_ids.spv`.
pub static KERNEL: Kernel<Bind, Push> =
    Kernel::new("record_ids", include_bytes!("../../../../shaders/spv/record_ids.spv"));
