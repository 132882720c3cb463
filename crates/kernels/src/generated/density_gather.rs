//! `shaders/density_gather.comp`: what the density's terms want of each Gaussian of a chunk: of its samples' places and
//! its normal as the Gaussian that they are of, and of its part in the density around the samples of those whose
//! neighbour it is. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `uint[]`.
    pub first_sample: Span,
    /// Binding 3, `vec4[]`.
    pub centers: Span,
    /// Binding 4, `vec4[]`.
    pub rotations: Span,
    /// Binding 5, `vec4[]`.
    pub inverses: Span,
    /// Binding 6, `uint[]`.
    pub starts: Span,
    /// Binding 7, `uint[]`.
    pub neighbor_of: Span,
    /// Binding 8, `vec4[]`.
    pub sample_place: Span,
    /// Binding 9, `vec4[]`.
    pub sample_pull: Span,
    /// Binding 10, `vec4[]`.
    pub sample_normal: Span,
    /// Binding 11, `vec4[]`.
    pub sample_value: Span,
    /// Binding 12, `float[]`.
    pub term_gradient: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("first_sample"),
        Binding::read("centers"),
        Binding::read("rotations"),
        Binding::read("inverses"),
        Binding::read("starts"),
        Binding::read("neighbor_of"),
        Binding::read("sample_place"),
        Binding::read("sample_pull"),
        Binding::read("sample_normal"),
        Binding::read("sample_value"),
        Binding::write("term_gradient"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.first_sample,
            self.centers,
            self.rotations,
            self.inverses,
            self.starts,
            self.neighbor_of,
            self.sample_place,
            self.sample_pull,
            self.sample_normal,
            self.sample_value,
            self.term_gradient,
        ]
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

/// `density_gather.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "density_gather",
    include_bytes!("../../../../shaders/spv/density_gather.spv"),
);
