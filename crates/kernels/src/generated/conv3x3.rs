//! `shaders/conv3x3.comp`: 3x3 convolution, stride 1, zero padding 1, bias, ReLU, for both images of a pair. Made by
//! `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `float[]`.
    pub features: Span,
    /// Binding 1, `uint[]`.
    pub weights: Span,
    /// Binding 2, `float[]`.
    pub constants: Span,
    /// Binding 3, `float[]`.
    pub convolved: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("features"),
        Binding::read("weights"),
        Binding::read("constants"),
        Binding::write("convolved"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.features, self.weights, self.constants, self.convolved]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub in_channels: u32,
    /// Word 1.
    pub out_channels: u32,
    /// Word 2.
    pub width: i32,
    /// Word 3.
    pub height: i32,
    /// Word 4.
    pub in_row0: i32,
    /// Word 5.
    pub in_rows: i32,
    /// Word 6.
    pub out_row0: i32,
    /// Word 7.
    pub out_rows: i32,
    /// Word 8; words.
    pub weights_at: u32,
    /// Word 9; floats.
    pub bias_at: u32,
}

/// `conv3x3.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new("conv3x3", include_bytes!("../../../../shaders/spv/conv3x3.spv"));
