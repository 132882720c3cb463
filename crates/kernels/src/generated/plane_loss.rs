//! `shaders/plane_loss.comp`: agreement of blended planes and the depth map (Huang et al. 2024, eq. 14): mean over all
//! pixels of g (A - N . n) with the blended normal N, the coverage A, and the normal n of the depth map; pixels without
//! n have none. Made by `cargo xtask shaders`.

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
    /// Binding 3, `uint[]`; bits of the largest gradient.
    pub steepest: Span,
    /// Binding 4, `vec4[]`.
    pub image: Span,
    /// Binding 5, `vec4[]`.
    pub surface_plane: Span,
    /// Binding 6, `vec4[]`.
    pub depth_map: Span,
    /// Binding 7, `vec4[]`; d loss / d c; weight.
    pub normal_gradient: Span,
    /// Binding 8, `float[]`.
    pub plane_sums: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("target"),
        Binding::read("steepest"),
        Binding::read("image"),
        Binding::read("surface_plane"),
        Binding::read("depth_map"),
        Binding::write("normal_gradient"),
        Binding::write("plane_sums"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.target,
            self.steepest,
            self.image,
            self.surface_plane,
            self.depth_map,
            self.normal_gradient,
            self.plane_sums,
        ]
    }
}

/// What [`EDGES`] binds.
#[derive(Clone, Copy, Debug)]
pub struct EdgesBind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `uint[]`.
    pub target: Span,
    /// Binding 3, `uint[]`; bits of the largest gradient.
    pub steepest: Span,
}

impl Bindings for EdgesBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("target"),
        Binding::read_write("steepest"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.uniforms, self.counters, self.target, self.steepest]
    }
}

/// What [`PLAIN`] binds.
#[derive(Clone, Copy, Debug)]
pub struct PlainBind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `uint[]`.
    pub target: Span,
    /// Binding 3, `vec4[]`; by N; 0.
    pub surface_gradient: Span,
    /// Binding 4, `vec4[]`.
    pub surface_plane: Span,
    /// Binding 5, `vec4[]`.
    pub depth_map: Span,
    /// Binding 6, `vec4[]`; d loss / d c; 0.
    pub normal_gradient: Span,
    /// Binding 7, `float[]`.
    pub plane_sums: Span,
}

impl Bindings for PlainBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("target"),
        Binding::write("surface_gradient"),
        Binding::read("surface_plane"),
        Binding::read("depth_map"),
        Binding::write("normal_gradient"),
        Binding::write("plane_sums"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.target,
            self.surface_gradient,
            self.surface_plane,
            self.depth_map,
            self.normal_gradient,
            self.plane_sums,
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
    pub plane_sums: Span,
}

impl Bindings for ReduceBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read_write("counters"),
        Binding::read("plane_sums"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.uniforms, self.counters, self.plane_sums]
    }
}

/// Specialisation constants of [`KERNEL`], [`EDGES`] and [`PLAIN`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Spec {
    /// Constant 0; 1: photos carry masks.
    pub masked: u32,
}

/// `plane_loss.spv`.
pub static KERNEL: Kernel<Bind, (), Spec> =
    Kernel::new("plane_loss", include_bytes!("../../../../shaders/spv/plane_loss.spv"));

/// `plane_loss.edges.spv`, made with `EDGES=1`.
pub static EDGES: Kernel<EdgesBind, (), Spec> = Kernel::new(
    "plane_loss.edges",
    include_bytes!("../../../../shaders/spv/plane_loss.edges.spv"),
);

/// `plane_loss.plain.spv`, made with `PLAIN=1`.
pub static PLAIN: Kernel<PlainBind, (), Spec> = Kernel::new(
    "plane_loss.plain",
    include_bytes!("../../../../shaders/spv/plane_loss.plain.spv"),
);

/// `plane_loss.reduce.spv`, made with `REDUCE=1`.
pub static REDUCE: Kernel<ReduceBind> = Kernel::new(
    "plane_loss.reduce",
    include_bytes!("../../../../shaders/spv/plane_loss.reduce.spv"),
);
