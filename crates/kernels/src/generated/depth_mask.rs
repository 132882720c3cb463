//! `shaders/depth_mask.comp`: depths that a mask leaves out are none: there the photo said nothing to the model. Made
//! by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `uint[]`; a byte a pixel, 0 = left out.
    pub mask: Span,
    /// Binding 2, `vec4[]`.
    pub depth_map: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("mask"),
        Binding::read_write("depth_map"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.uniforms, self.mask, self.depth_map]
    }
}

/// `depth_mask.spv`.
pub static KERNEL: Kernel<Bind> = Kernel::new("depth_mask", include_bytes!("../../../../shaders/spv/depth_mask.spv"));
