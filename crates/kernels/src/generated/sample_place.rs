//! `shaders/sample_place.comp`: which samples of a step are of which Gaussian. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `uint[]`.
    pub visible_mask: Span,
    /// Binding 3, `uint[]`.
    pub group_visible: Span,
    /// Binding 4, `uint[]`; one more than Gaussians.
    pub first_sample: Span,
    /// Binding 5, `uint[]`.
    pub owners: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("visible_mask"),
        Binding::read("group_visible"),
        Binding::write("first_sample"),
        Binding::write("owners"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.visible_mask,
            self.group_visible,
            self.first_sample,
            self.owners,
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
    /// Word 2.
    pub first_group: u32,
    /// Word 3.
    pub samples: u32,
}

/// `sample_place.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "sample_place",
    include_bytes!("../../../../shaders/spv/sample_place.spv"),
);
