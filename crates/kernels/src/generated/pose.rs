//! `shaders/pose.comp`: correction of the step's camera, learnt for each view: W' = exp(w) W and t' = exp(w) t + s, in
//! camera axes. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `float[]`.
    pub poses: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[Binding::read_write("uniforms"), Binding::read("poses")];

    fn views(&self) -> Vec<Span> {
        vec![self.uniforms, self.poses]
    }
}

/// What [`UPDATE`] binds.
#[derive(Clone, Copy, Debug)]
pub struct UpdateBind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `float[]`.
    pub poses: Span,
    /// Binding 3, `float[]`.
    pub pose_sums: Span,
}

impl Bindings for UpdateBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read_write("poses"),
        Binding::read("pose_sums"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.uniforms, self.counters, self.poses, self.pose_sums]
    }
}

/// What [`GRADIENT`] binds.
#[derive(Clone, Copy, Debug)]
pub struct GradientBind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `float[]`.
    pub geometry: Span,
    /// Binding 3, `float[]`.
    pub filter_3d: Span,
    /// Binding 4, `uint[]`.
    pub visible_mask: Span,
    /// Binding 5, `uint[]`.
    pub group_visible: Span,
    /// Binding 6, `vec4[]`.
    pub gradient_a: Span,
    /// Binding 7, `vec4[]`.
    pub gradient_b: Span,
    /// Binding 8, `float[]`.
    pub pose_sums: Span,
}

impl Bindings for GradientBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("geometry"),
        Binding::read("filter_3d"),
        Binding::read("visible_mask"),
        Binding::read("group_visible"),
        Binding::read("gradient_a"),
        Binding::read("gradient_b"),
        Binding::write("pose_sums"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.geometry,
            self.filter_3d,
            self.visible_mask,
            self.group_visible,
            self.gradient_a,
            self.gradient_b,
            self.pose_sums,
        ]
    }
}

/// What [`GRADIENT_SURFACE`] binds.
#[derive(Clone, Copy, Debug)]
pub struct GradientSurfaceBind {
    /// The first 9.
    pub base: GradientBind,
    /// Binding 9, `vec4[]`.
    pub gradient_d: Span,
}

impl Bindings for GradientSurfaceBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("geometry"),
        Binding::read("filter_3d"),
        Binding::read("visible_mask"),
        Binding::read("group_visible"),
        Binding::read("gradient_a"),
        Binding::read("gradient_b"),
        Binding::write("pose_sums"),
        Binding::read("gradient_d"),
    ];

    fn views(&self) -> Vec<Span> {
        let mut views = self.base.views();
        views.extend([self.gradient_d]);
        views
    }
}

/// Push constants of [`GRADIENT`] and [`GRADIENT_SURFACE`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub stride: u32,
    /// Word 1.
    pub first: u32,
    /// Word 2.
    pub first_group: u32,
}

/// Specialisation constants of [`GRADIENT`] and [`GRADIENT_SURFACE`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Spec {
    /// Constant 0; 1: some cameras have one.
    pub lens: u32,
}

/// `pose.spv`.
pub static KERNEL: Kernel<Bind> = Kernel::new("pose", include_bytes!("../../../../shaders/spv/pose.spv"));

/// `pose.update.spv`, made with `UPDATE=1`.
pub static UPDATE: Kernel<UpdateBind> =
    Kernel::new("pose.update", include_bytes!("../../../../shaders/spv/pose.update.spv"));

/// `pose.gradient.spv`, made with `GRADIENT=1`.
pub static GRADIENT: Kernel<GradientBind, Push, Spec> = Kernel::new(
    "pose.gradient",
    include_bytes!("../../../../shaders/spv/pose.gradient.spv"),
);

/// `pose.gradient_surface.spv`, made with `GRADIENT=1 SURFACE=1`.
pub static GRADIENT_SURFACE: Kernel<GradientSurfaceBind, Push, Spec> = Kernel::new(
    "pose.gradient_surface",
    include_bytes!("../../../../shaders/spv/pose.gradient_surface.spv"),
);

/// Words per view: the correction, two moments, the number of steps, and one unused.
pub const POSE_WORDS: u32 = 20;
/// Sums per 256 Gaussians: derivatives by a turn about the camera and by a shift.
pub const POSE_SUMS: u32 = 6;
