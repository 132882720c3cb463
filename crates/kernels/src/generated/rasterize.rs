//! `shaders/rasterize.comp`: blends the sorted splats of a tile front to back (Kerbl et al. 2023, eq. 3). Made by
//! `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// The first 10.
    pub base: ColumnBind,
    /// Binding 10, `uint[]`.
    pub tile_order: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read_write("counters"),
        Binding::read("tile_ranges"),
        Binding::read("payloads"),
        Binding::read("owners"),
        Binding::read("splat_position"),
        Binding::read("splat_conic"),
        Binding::read("splat_color"),
        Binding::write("image"),
        Binding::write("last_contributor"),
        Binding::read("tile_order"),
    ];

    fn views(&self) -> Vec<Span> {
        let mut views = self.base.views();
        views.extend([self.tile_order]);
        views
    }
}

/// What [`COLUMN`] binds.
#[derive(Clone, Copy, Debug)]
pub struct ColumnBind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `uvec2[]`.
    pub tile_ranges: Span,
    /// Binding 3, `uint[]`.
    pub payloads: Span,
    /// Binding 4, `uint[]`.
    pub owners: Span,
    /// Binding 5, `vec4[]`.
    pub splat_position: Span,
    /// Binding 6, `vec4[]`.
    pub splat_conic: Span,
    /// Binding 7, `vec4[]`.
    pub splat_color: Span,
    /// Binding 8, `vec4[]`; rgb, final T.
    pub image: Span,
    /// Binding 9, `uint[]`.
    pub last_contributor: Span,
}

impl Bindings for ColumnBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read_write("counters"),
        Binding::read("tile_ranges"),
        Binding::read("payloads"),
        Binding::read("owners"),
        Binding::read("splat_position"),
        Binding::read("splat_conic"),
        Binding::read("splat_color"),
        Binding::write("image"),
        Binding::write("last_contributor"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.tile_ranges,
            self.payloads,
            self.owners,
            self.splat_position,
            self.splat_conic,
            self.splat_color,
            self.image,
            self.last_contributor,
        ]
    }
}

/// What [`SURFACE`] binds.
#[derive(Clone, Copy, Debug)]
pub struct SurfaceBind {
    /// The first 13.
    pub base: ColumnSurfaceBind,
    /// Binding 13, `uint[]`.
    pub tile_order: Span,
}

impl Bindings for SurfaceBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read_write("counters"),
        Binding::read("tile_ranges"),
        Binding::read("payloads"),
        Binding::read("owners"),
        Binding::read("splat_position"),
        Binding::read("splat_conic"),
        Binding::read("splat_color"),
        Binding::write("image"),
        Binding::write("last_contributor"),
        Binding::read("splat_plane"),
        Binding::write("surface_plane"),
        Binding::write("surface_depth"),
        Binding::read("tile_order"),
    ];

    fn views(&self) -> Vec<Span> {
        let mut views = self.base.views();
        views.extend([self.tile_order]);
        views
    }
}

/// What [`COLUMN_SURFACE`] binds.
#[derive(Clone, Copy, Debug)]
pub struct ColumnSurfaceBind {
    /// The first 10.
    pub base: ColumnBind,
    /// Binding 10, `vec4[]`.
    pub splat_plane: Span,
    /// Binding 11, `vec4[]`; sum w n, sum w d.
    pub surface_plane: Span,
    /// Binding 12, `vec2[]`; median z, sum w z.
    pub surface_depth: Span,
}

impl Bindings for ColumnSurfaceBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read_write("counters"),
        Binding::read("tile_ranges"),
        Binding::read("payloads"),
        Binding::read("owners"),
        Binding::read("splat_position"),
        Binding::read("splat_conic"),
        Binding::read("splat_color"),
        Binding::write("image"),
        Binding::write("last_contributor"),
        Binding::read("splat_plane"),
        Binding::write("surface_plane"),
        Binding::write("surface_depth"),
    ];

    fn views(&self) -> Vec<Span> {
        let mut views = self.base.views();
        views.extend([self.splat_plane, self.surface_plane, self.surface_depth]);
        views
    }
}

/// Push constants of [`KERNEL`], [`COLUMN`], [`SURFACE`] and [`COLUMN_SURFACE`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0; pixels that rows of this swath begin at.
    pub swath_begin: u32,
    /// Word 1; one past the last.
    pub swath_end: u32,
    /// Word 2; pixel that bound tensors begin with.
    pub swath_base: u32,
}

/// Specialisation constants of [`KERNEL`] and [`SURFACE`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Spec {
    /// Constant 0.
    pub owners: u32,
}

/// Specialisation constants of [`COLUMN`] and [`COLUMN_SURFACE`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct ColumnSpec {
    /// The first 1.
    pub base: Spec,
    /// Constant 1; several splats a turn, see `common/turns.glsl`.
    pub unrolled: u32,
}

/// `rasterize.spv`.
pub static KERNEL: Kernel<Bind, Push, Spec> =
    Kernel::new("rasterize", include_bytes!("../../../../shaders/spv/rasterize.spv"));

/// `rasterize.column.spv`, made with `COLUMN=1`.
pub static COLUMN: Kernel<ColumnBind, Push, ColumnSpec> = Kernel::new(
    "rasterize.column",
    include_bytes!("../../../../shaders/spv/rasterize.column.spv"),
);

/// `rasterize.surface.spv`, made with `SURFACE=1`.
pub static SURFACE: Kernel<SurfaceBind, Push, Spec> = Kernel::new(
    "rasterize.surface",
    include_bytes!("../../../../shaders/spv/rasterize.surface.spv"),
);

/// `rasterize.column_surface.spv`, made with `COLUMN=1 SURFACE=1`.
pub static COLUMN_SURFACE: Kernel<ColumnSurfaceBind, Push, ColumnSpec> = Kernel::new(
    "rasterize.column_surface",
    include_bytes!("../../../../shaders/spv/rasterize.column_surface.spv"),
);
