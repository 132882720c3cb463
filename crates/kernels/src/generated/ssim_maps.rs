//! `shaders/ssim_maps.comp`: SSIM of the rendered image against the ground truth, zero-padded, and the three maps its
//! gradient needs. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `vec4[]`.
    pub image: Span,
    /// Binding 3, `uint[]`; packed u8 RGB.
    pub target: Span,
    /// Binding 4, `vec2[]`; L1, SSIM a group.
    pub sums: Span,
    /// Binding 5, `float[]`.
    pub ssim_maps: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("image"),
        Binding::read("target"),
        Binding::write("sums"),
        Binding::write("ssim_maps"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.image,
            self.target,
            self.sums,
            self.ssim_maps,
        ]
    }
}

/// What [`METRICS`] binds.
#[derive(Clone, Copy, Debug)]
pub struct MetricsBind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `vec4[]`.
    pub image: Span,
    /// Binding 3, `uint[]`; packed u8 RGB.
    pub target: Span,
    /// Binding 4, `float[]`; 8 a group.
    pub sums: Span,
}

impl Bindings for MetricsBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("image"),
        Binding::read("target"),
        Binding::write("sums"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.uniforms, self.counters, self.image, self.target, self.sums]
    }
}

/// Push constants of [`KERNEL`] and [`METRICS`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0; pixels that rows of this swath begin at.
    pub swath_begin: u32,
    /// Word 1; one past the last.
    pub swath_end: u32,
    /// Word 2; pixel that bound tensors begin with.
    pub swath_base: u32,
    /// Word 3; the same of the ground truth.
    pub target_base: u32,
    /// Word 4; pixels of a map.
    pub map_pixels: u32,
}

/// Specialisation constants of [`KERNEL`] and [`METRICS`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Spec {
    /// Constant 0; 1: photos carry masks.
    pub masked: u32,
}

/// `ssim_maps.spv`.
pub static KERNEL: Kernel<Bind, Push, Spec> =
    Kernel::new("ssim_maps", include_bytes!("../../../../shaders/spv/ssim_maps.spv"));

/// `ssim_maps.metrics.spv`, made with `METRICS=1`.
pub static METRICS: Kernel<MetricsBind, Push, Spec> = Kernel::new(
    "ssim_maps.metrics",
    include_bytes!("../../../../shaders/spv/ssim_maps.metrics.spv"),
);
