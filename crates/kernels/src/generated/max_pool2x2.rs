//! `shaders/max_pool2x2.comp`: maximum of 2x2 pixels, stride 2; an odd last row or column is dropped. Made by `cargo
//! xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `float[]`.
    pub features: Span,
    /// Binding 1, `float[]`.
    pub pooled: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[Binding::read("features"), Binding::write("pooled")];

    fn views(&self) -> Vec<Span> {
        vec![self.features, self.pooled]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub width: u32,
    /// Word 1.
    pub in_row0: u32,
    /// Word 2.
    pub in_rows: u32,
    /// Word 3.
    pub out_width: u32,
    /// Word 4.
    pub out_height: u32,
    /// Word 5.
    pub out_row0: u32,
    /// Word 6.
    pub out_rows: u32,
}

/// `max_pool2x2.spv`.
pub static KERNEL: Kernel<Bind, Push> =
    Kernel::new("max_pool2x2", include_bytes!("../../../../shaders/spv/max_pool2x2.spv"));
