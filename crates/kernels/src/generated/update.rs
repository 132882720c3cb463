//! `shaders/update.comp`: projection backward, densification statistics and Adam (Kingma & Ba 2015) for every Gaussian
//! of a chunk, in one pass: no parameter gradient ever reaches memory. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`], [`HALF`], [`BOUND`], [`COMPACT`], [`DEFERRED`] and [`COMPACT_BOUND`] bind.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms` or `StepUniforms, vec4[]`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `float[]`.
    pub geometry: Span,
    /// Binding 3, `float[]` or `uint[]`.
    pub geometry_m: Span,
    /// Binding 4, `float[]` or `uint[]`.
    pub geometry_v: Span,
    /// Binding 5, `float[]` or `uint[]`.
    pub sh: Span,
    /// Binding 6, `float[]` or `uint[]`.
    pub sh_m: Span,
    /// Binding 7, `float[]` or `uint[]`.
    pub sh_v: Span,
    /// Binding 8, `float[]`.
    pub filter_3d: Span,
    /// Binding 9, `float[]`.
    pub statistics: Span,
    /// Binding 10, `uint[]`.
    pub visible_mask: Span,
    /// Binding 11, `uint[]`.
    pub group_visible: Span,
    /// Binding 12, `vec4[]`.
    pub splat_color: Span,
    /// Binding 13, `vec4[]`.
    pub gradient_a: Span,
    /// Binding 14, `vec4[]`.
    pub gradient_b: Span,
    /// Binding 15, `vec4[]`.
    pub gradient_c: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read_write("counters"),
        Binding::read_write("geometry"),
        Binding::read_write("geometry_m"),
        Binding::read_write("geometry_v"),
        Binding::read_write("sh"),
        Binding::read_write("sh_m"),
        Binding::read_write("sh_v"),
        Binding::read("filter_3d"),
        Binding::read_write("statistics"),
        Binding::read("visible_mask"),
        Binding::read("group_visible"),
        Binding::read("splat_color"),
        Binding::read("gradient_a"),
        Binding::read("gradient_b"),
        Binding::read("gradient_c"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.geometry,
            self.geometry_m,
            self.geometry_v,
            self.sh,
            self.sh_m,
            self.sh_v,
            self.filter_3d,
            self.statistics,
            self.visible_mask,
            self.group_visible,
            self.splat_color,
            self.gradient_a,
            self.gradient_b,
            self.gradient_c,
        ]
    }
}

/// What [`DENSE`] and [`COMPACT_DENSE`] bind.
#[derive(Clone, Copy, Debug)]
pub struct DenseBind {
    /// The first 16.
    pub base: Bind,
    /// Binding 16, `float[]`.
    pub term_gradient: Span,
}

impl Bindings for DenseBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read_write("counters"),
        Binding::read_write("geometry"),
        Binding::read_write("geometry_m"),
        Binding::read_write("geometry_v"),
        Binding::read_write("sh"),
        Binding::read_write("sh_m"),
        Binding::read_write("sh_v"),
        Binding::read("filter_3d"),
        Binding::read_write("statistics"),
        Binding::read("visible_mask"),
        Binding::read("group_visible"),
        Binding::read("splat_color"),
        Binding::read("gradient_a"),
        Binding::read("gradient_b"),
        Binding::read("gradient_c"),
        Binding::read("term_gradient"),
    ];

    fn views(&self) -> Vec<Span> {
        let mut views = self.base.views();
        views.extend([self.term_gradient]);
        views
    }
}

/// What [`SURFACE`] and [`COMPACT_SURFACE`] bind.
#[derive(Clone, Copy, Debug)]
pub struct SurfaceBind {
    /// The first 16.
    pub base: Bind,
    /// Binding 16, `vec4[]`.
    pub gradient_d: Span,
}

impl Bindings for SurfaceBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read_write("counters"),
        Binding::read_write("geometry"),
        Binding::read_write("geometry_m"),
        Binding::read_write("geometry_v"),
        Binding::read_write("sh"),
        Binding::read_write("sh_m"),
        Binding::read_write("sh_v"),
        Binding::read("filter_3d"),
        Binding::read_write("statistics"),
        Binding::read("visible_mask"),
        Binding::read("group_visible"),
        Binding::read("splat_color"),
        Binding::read("gradient_a"),
        Binding::read("gradient_b"),
        Binding::read("gradient_c"),
        Binding::read("gradient_d"),
    ];

    fn views(&self) -> Vec<Span> {
        let mut views = self.base.views();
        views.extend([self.gradient_d]);
        views
    }
}

/// What [`SURFACE_DENSE`] and [`COMPACT_SURFACE_DENSE`] bind.
#[derive(Clone, Copy, Debug)]
pub struct SurfaceDenseBind {
    /// The first 17.
    pub base: SurfaceBind,
    /// Binding 17, `float[]`.
    pub term_gradient: Span,
}

impl Bindings for SurfaceDenseBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read_write("counters"),
        Binding::read_write("geometry"),
        Binding::read_write("geometry_m"),
        Binding::read_write("geometry_v"),
        Binding::read_write("sh"),
        Binding::read_write("sh_m"),
        Binding::read_write("sh_v"),
        Binding::read("filter_3d"),
        Binding::read_write("statistics"),
        Binding::read("visible_mask"),
        Binding::read("group_visible"),
        Binding::read("splat_color"),
        Binding::read("gradient_a"),
        Binding::read("gradient_b"),
        Binding::read("gradient_c"),
        Binding::read("gradient_d"),
        Binding::read("term_gradient"),
    ];

    fn views(&self) -> Vec<Span> {
        let mut views = self.base.views();
        views.extend([self.term_gradient]);
        views
    }
}

/// Push constants of [`KERNEL`], [`HALF`], [`BOUND`], [`DENSE`], [`COMPACT`], [`SURFACE`], [`COMPACT_BOUND`],
/// [`COMPACT_DENSE`], [`SURFACE_DENSE`], [`COMPACT_SURFACE`] and [`COMPACT_SURFACE_DENSE`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub stride: u32,
    /// Word 1.
    pub first: u32,
    /// Word 2.
    pub first_group: u32,
    /// Word 3; stored, not active.
    pub sh_coefficients: u32,
}

/// Push constants of [`DEFERRED`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct DeferredPush {
    /// The first 4.
    pub base: Push,
    /// Word 4.
    pub seen_plane: u32,
}

/// Specialisation constants of [`KERNEL`], [`HALF`], [`BOUND`], [`DENSE`], [`COMPACT`], [`SURFACE`], [`DEFERRED`],
/// [`COMPACT_BOUND`], [`COMPACT_DENSE`], [`SURFACE_DENSE`], [`COMPACT_SURFACE`] and [`COMPACT_SURFACE_DENSE`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Spec {
    /// Constant 0; 1: some cameras have one.
    pub lens: u32,
}

/// `update.spv`.
pub static KERNEL: Kernel<Bind, Push, Spec> =
    Kernel::new("update", include_bytes!("../../../../shaders/spv/update.spv"));

/// `update.half.spv`, made with `HALF=1`.
pub static HALF: Kernel<Bind, Push, Spec> =
    Kernel::new("update.half", include_bytes!("../../../../shaders/spv/update.half.spv"));

/// `update.bound.spv`, made with `BOUND=1`.
pub static BOUND: Kernel<Bind, Push, Spec> = Kernel::new(
    "update.bound",
    include_bytes!("../../../../shaders/spv/update.bound.spv"),
);

/// `update.dense.spv`, made with `DENSE=1`.
pub static DENSE: Kernel<DenseBind, Push, Spec> = Kernel::new(
    "update.dense",
    include_bytes!("../../../../shaders/spv/update.dense.spv"),
);

/// `update.compact.spv`, made with `COMPACT=1`.
pub static COMPACT: Kernel<Bind, Push, Spec> = Kernel::new(
    "update.compact",
    include_bytes!("../../../../shaders/spv/update.compact.spv"),
);

/// `update.surface.spv`, made with `SURFACE=1`.
pub static SURFACE: Kernel<SurfaceBind, Push, Spec> = Kernel::new(
    "update.surface",
    include_bytes!("../../../../shaders/spv/update.surface.spv"),
);

/// `update.deferred.spv`, made with `DEFERRED=1`.
pub static DEFERRED: Kernel<Bind, DeferredPush, Spec> = Kernel::new(
    "update.deferred",
    include_bytes!("../../../../shaders/spv/update.deferred.spv"),
);

/// `update.compact_bound.spv`, made with `COMPACT=1 BOUND=1`.
pub static COMPACT_BOUND: Kernel<Bind, Push, Spec> = Kernel::new(
    "update.compact_bound",
    include_bytes!("../../../../shaders/spv/update.compact_bound.spv"),
);

/// `update.compact_dense.spv`, made with `COMPACT=1 DENSE=1`.
pub static COMPACT_DENSE: Kernel<DenseBind, Push, Spec> = Kernel::new(
    "update.compact_dense",
    include_bytes!("../../../../shaders/spv/update.compact_dense.spv"),
);

/// `update.surface_dense.spv`, made with `SURFACE=1 DENSE=1`.
pub static SURFACE_DENSE: Kernel<SurfaceDenseBind, Push, Spec> = Kernel::new(
    "update.surface_dense",
    include_bytes!("../../../../shaders/spv/update.surface_dense.spv"),
);

/// `update.compact_surface.spv`, made with `COMPACT=1 SURFACE=1`.
pub static COMPACT_SURFACE: Kernel<SurfaceBind, Push, Spec> = Kernel::new(
    "update.compact_surface",
    include_bytes!("../../../../shaders/spv/update.compact_surface.spv"),
);

/// `update.compact_surface_dense.spv`, made with `COMPACT=1 SURFACE=1 DENSE=1`.
pub static COMPACT_SURFACE_DENSE: Kernel<SurfaceDenseBind, Push, Spec> = Kernel::new(
    "update.compact_surface_dense",
    include_bytes!("../../../../shaders/spv/update.compact_surface_dense.spv"),
);
