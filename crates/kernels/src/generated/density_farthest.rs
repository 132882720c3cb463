//! `shaders/density_farthest.comp`: the greatest depth of a Gaussian: what depth maps are blended over where distances
//! from surfaces are compared. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `vec4[]`.
    pub centers: Span,
    /// Binding 3, `uint[]`; bits of a positive float.
    pub farthest: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("centers"),
        Binding::read_write("farthest"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.uniforms, self.counters, self.centers, self.farthest]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub stride: u32,
    /// Word 1.
    pub first: u32,
}

/// `density_farthest.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "density_farthest",
    include_bytes!("../../../../shaders/spv/density_farthest.spv"),
);
