//! `shaders/project.comp`: writes the record of every visible Gaussian of a chunk: image position, conic, opacity,
//! colour, depth key, tile count. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] and [`HALF`] bind.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `float[]`.
    pub geometry: Span,
    /// Binding 3, `float[]`.
    pub filter_3d: Span,
    /// Binding 4, `float[]` or `uint[]`.
    pub sh: Span,
    /// Binding 5, `uint[]`.
    pub visible_mask: Span,
    /// Binding 6, `uint[]`.
    pub group_visible: Span,
    /// Binding 7, `vec4[]`.
    pub splat_position: Span,
    /// Binding 8, `vec4[]`.
    pub splat_conic: Span,
    /// Binding 9, `vec4[]`.
    pub splat_color: Span,
    /// Binding 10, `uint[]`.
    pub depth_keys: Span,
    /// Binding 11, `uint[]`.
    pub tile_counts: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("geometry"),
        Binding::read("filter_3d"),
        Binding::read("sh"),
        Binding::read("visible_mask"),
        Binding::read("group_visible"),
        Binding::write("splat_position"),
        Binding::write("splat_conic"),
        Binding::write("splat_color"),
        Binding::write("depth_keys"),
        Binding::write("tile_counts"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.geometry,
            self.filter_3d,
            self.sh,
            self.visible_mask,
            self.group_visible,
            self.splat_position,
            self.splat_conic,
            self.splat_color,
            self.depth_keys,
            self.tile_counts,
        ]
    }
}

/// What [`SURFACE`] and [`HALF_SURFACE`] bind.
#[derive(Clone, Copy, Debug)]
pub struct SurfaceBind {
    /// The first 12.
    pub base: Bind,
    /// Binding 12, `vec4[]`; normal; distance.
    pub splat_plane: Span,
}

impl Bindings for SurfaceBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("geometry"),
        Binding::read("filter_3d"),
        Binding::read("sh"),
        Binding::read("visible_mask"),
        Binding::read("group_visible"),
        Binding::write("splat_position"),
        Binding::write("splat_conic"),
        Binding::write("splat_color"),
        Binding::write("depth_keys"),
        Binding::write("tile_counts"),
        Binding::write("splat_plane"),
    ];

    fn views(&self) -> Vec<Span> {
        let mut views = self.base.views();
        views.extend([self.splat_plane]);
        views
    }
}

/// What [`DEFERRED`] binds.
#[derive(Clone, Copy, Debug)]
pub struct DeferredBind {
    /// The first 12.
    pub base: Bind,
    /// Binding 12, `float[]`.
    pub sh_m: Span,
    /// Binding 13, `float[]`.
    pub sh_v: Span,
}

impl Bindings for DeferredBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("geometry"),
        Binding::read("filter_3d"),
        Binding::read("sh"),
        Binding::read("visible_mask"),
        Binding::read("group_visible"),
        Binding::write("splat_position"),
        Binding::write("splat_conic"),
        Binding::write("splat_color"),
        Binding::write("depth_keys"),
        Binding::write("tile_counts"),
        Binding::read("sh_m"),
        Binding::read("sh_v"),
    ];

    fn views(&self) -> Vec<Span> {
        let mut views = self.base.views();
        views.extend([self.sh_m, self.sh_v]);
        views
    }
}

/// Push constants of [`KERNEL`], [`HALF`], [`SURFACE`] and [`HALF_SURFACE`].
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

/// Push constants of [`DEFERRED`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct DeferredPush {
    /// The first 3.
    pub base: Push,
    /// Word 3.
    pub seen_plane: u32,
}

/// Specialisation constants of [`KERNEL`], [`HALF`], [`SURFACE`], [`DEFERRED`] and [`HALF_SURFACE`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Spec {
    /// Constant 0; 1: some cameras have one.
    pub lens: u32,
}

/// `project.spv`.
pub static KERNEL: Kernel<Bind, Push, Spec> =
    Kernel::new("project", include_bytes!("../../../../shaders/spv/project.spv"));

/// `project.half.spv`, made with `HALF=1`.
pub static HALF: Kernel<Bind, Push, Spec> = Kernel::new(
    "project.half",
    include_bytes!("../../../../shaders/spv/project.half.spv"),
);

/// `project.surface.spv`, made with `SURFACE=1`.
pub static SURFACE: Kernel<SurfaceBind, Push, Spec> = Kernel::new(
    "project.surface",
    include_bytes!("../../../../shaders/spv/project.surface.spv"),
);

/// `project.deferred.spv`, made with `DEFERRED=1`.
pub static DEFERRED: Kernel<DeferredBind, DeferredPush, Spec> = Kernel::new(
    "project.deferred",
    include_bytes!("../../../../shaders/spv/project.deferred.spv"),
);

/// `project.half_surface.spv`, made with `HALF=1 SURFACE=1`.
pub static HALF_SURFACE: Kernel<SurfaceBind, Push, Spec> = Kernel::new(
    "project.half_surface",
    include_bytes!("../../../../shaders/spv/project.half_surface.spv"),
);
