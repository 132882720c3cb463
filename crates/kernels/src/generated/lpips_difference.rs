//! `shaders/lpips_difference.comp`: perceptual difference of one tap (Zhang et al. 2018, eq. 1): both feature vectors
//! of a pixel divided by their length plus 1e-10, squared difference, weighted sum over channels, summed over a
//! rectangle of pixels. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `float[]`.
    pub features: Span,
    /// Binding 1, `float[]`.
    pub constants: Span,
    /// Binding 2, `float[]`.
    pub sums: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("features"),
        Binding::read("constants"),
        Binding::write("sums"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.features, self.constants, self.sums]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub channels: u32,
    /// Word 1.
    pub width: u32,
    /// Word 2.
    pub in_row0: u32,
    /// Word 3.
    pub in_rows: u32,
    /// Word 4.
    pub x0: u32,
    /// Word 5.
    pub y0: u32,
    /// Word 6.
    pub columns: u32,
    /// Word 7.
    pub rows: u32,
    /// Word 8.
    pub linear_at: u32,
    /// Word 9.
    pub sums_at: u32,
}

/// `lpips_difference.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "lpips_difference",
    include_bytes!("../../../../shaders/spv/lpips_difference.spv"),
);
