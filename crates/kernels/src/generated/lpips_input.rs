//! `shaders/lpips_input.comp`: rendered image and photograph to six normalised planes: (range(v) - shift) / scale per
//! channel (Zhang et al. 2018). Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `float[]`; RGB triples.
    pub image: Span,
    /// Binding 1, `uint[]`; packed u8 RGB.
    pub target: Span,
    /// Binding 2, `float[]`.
    pub constants: Span,
    /// Binding 3, `float[]`.
    pub planes: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("image"),
        Binding::read("target"),
        Binding::read("constants"),
        Binding::write("planes"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.image, self.target, self.constants, self.planes]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub pixels: u32,
    /// Word 1; shift of r, g, b, then scale of r, g, b.
    pub scaling_at: u32,
    /// Word 2.
    pub gain: f32,
    /// Word 3.
    pub offset: f32,
}

/// `lpips_input.spv`.
pub static KERNEL: Kernel<Bind, Push> =
    Kernel::new("lpips_input", include_bytes!("../../../../shaders/spv/lpips_input.spv"));
