//! `shaders/depth_loss.comp`: agreement of renders and depth maps: mean over all pixels of t rho(1 / (u z) - m) with
//! the depth z where the ray meets the blended plane, the map's inverse depth m in the photo's unit u, and how far the
//! map is trusted t, 0 to 1. rho(r) = c |r| / (c + |r|) is |r| near 0 and at most c, so that what a map has wrong pulls
//! the less, the more it is wrong. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `uint[]`.
    pub target: Span,
    /// Binding 3, `vec4[]`.
    pub surface_plane: Span,
    /// Binding 4, `vec4[]`.
    pub depth_map: Span,
    /// Binding 5, `vec4[]`; by N; by D.
    pub surface_gradient: Span,
    /// Binding 6, `float[]`.
    pub depth_sums: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("target"),
        Binding::read("surface_plane"),
        Binding::read("depth_map"),
        Binding::read_write("surface_gradient"),
        Binding::write("depth_sums"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.target,
            self.surface_plane,
            self.depth_map,
            self.surface_gradient,
            self.depth_sums,
        ]
    }
}

/// What [`REDUCE`] binds.
#[derive(Clone, Copy, Debug)]
pub struct ReduceBind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `float[]`.
    pub depth_sums: Span,
}

impl Bindings for ReduceBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read_write("counters"),
        Binding::read("depth_sums"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.uniforms, self.counters, self.depth_sums]
    }
}

/// Push constants of [`KERNEL`] and [`REDUCE`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0; weight at iteration 0.
    pub start_weight: f32,
    /// Word 1; logarithm of what it is multiplied with in a step.
    pub decay: f32,
    /// Word 2; first step with a weight.
    pub from: u32,
    /// Word 3; 1 where no other loss has written gradients of planes.
    pub alone: u32,
}

/// Specialisation constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Spec {
    /// Constant 0; 1: photos carry masks.
    pub masked: u32,
}

/// `depth_loss.spv`.
pub static KERNEL: Kernel<Bind, Push, Spec> =
    Kernel::new("depth_loss", include_bytes!("../../../../shaders/spv/depth_loss.spv"));

/// `depth_loss.reduce.spv`, made with `REDUCE=1`.
pub static REDUCE: Kernel<ReduceBind, Push> = Kernel::new(
    "depth_loss.reduce",
    include_bytes!("../../../../shaders/spv/depth_loss.reduce.spv"),
);
