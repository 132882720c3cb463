//! `shaders/rasterize_backward.comp`: gradients of the 2D splats of a tile, walking each pixel's contributors back to
//! front. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`ATOMIC`] and [`COMPARE_EXCHANGE`] bind.
#[derive(Clone, Copy, Debug)]
pub struct AtomicBind {
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
    /// Binding 8, `vec4[]`.
    pub image: Span,
    /// Binding 9, `uint[]`.
    pub last_contributor: Span,
    /// Binding 10, `vec4[]`.
    pub image_gradient: Span,
    /// Binding 11, `float[]` or `uint[]`.
    pub gradient_a: Span,
    /// Binding 12, `float[]` or `uint[]`.
    pub gradient_b: Span,
    /// Binding 13, `float[]` or `uint[]`.
    pub gradient_c: Span,
    /// Binding 14, `uint[]`.
    pub tile_order: Span,
}

impl Bindings for AtomicBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read_write("counters"),
        Binding::read("tile_ranges"),
        Binding::read("payloads"),
        Binding::read("owners"),
        Binding::read("splat_position"),
        Binding::read("splat_conic"),
        Binding::read("splat_color"),
        Binding::read("image"),
        Binding::read("last_contributor"),
        Binding::read("image_gradient"),
        Binding::read_write("gradient_a"),
        Binding::read_write("gradient_b"),
        Binding::read_write("gradient_c"),
        Binding::read("tile_order"),
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
            self.image_gradient,
            self.gradient_a,
            self.gradient_b,
            self.gradient_c,
            self.tile_order,
        ]
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
    /// Binding 8, `vec4[]`.
    pub image: Span,
    /// Binding 9, `uint[]`.
    pub last_contributor: Span,
    /// Binding 10, `vec4[]`.
    pub image_gradient: Span,
    /// Binding 11, `vec4[]`.
    pub gradient_a: Span,
    /// Binding 12, `vec4[]`.
    pub gradient_b: Span,
    /// Binding 13, `vec4[]`.
    pub gradient_c: Span,
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
        Binding::read("image"),
        Binding::read("last_contributor"),
        Binding::read("image_gradient"),
        Binding::write("gradient_a"),
        Binding::write("gradient_b"),
        Binding::write("gradient_c"),
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
            self.image_gradient,
            self.gradient_a,
            self.gradient_b,
            self.gradient_c,
        ]
    }
}

/// What [`ATOMIC_SURFACE`] and [`COMPARE_EXCHANGE_SURFACE`] bind.
#[derive(Clone, Copy, Debug)]
pub struct AtomicSurfaceBind {
    /// The first 15.
    pub base: AtomicBind,
    /// Binding 15, `vec4[]`.
    pub splat_plane: Span,
    /// Binding 16, `vec4[]`.
    pub surface_gradient: Span,
    /// Binding 17, `float[]` or `uint[]`.
    pub gradient_d: Span,
    /// Binding 18, `vec4[]`.
    pub normal_gradient: Span,
}

impl Bindings for AtomicSurfaceBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read_write("counters"),
        Binding::read("tile_ranges"),
        Binding::read("payloads"),
        Binding::read("owners"),
        Binding::read("splat_position"),
        Binding::read("splat_conic"),
        Binding::read("splat_color"),
        Binding::read("image"),
        Binding::read("last_contributor"),
        Binding::read("image_gradient"),
        Binding::read_write("gradient_a"),
        Binding::read_write("gradient_b"),
        Binding::read_write("gradient_c"),
        Binding::read("tile_order"),
        Binding::read("splat_plane"),
        Binding::read("surface_gradient"),
        Binding::read_write("gradient_d"),
        Binding::read("normal_gradient"),
    ];

    fn views(&self) -> Vec<Span> {
        let mut views = self.base.views();
        views.extend([
            self.splat_plane,
            self.surface_gradient,
            self.gradient_d,
            self.normal_gradient,
        ]);
        views
    }
}

/// What [`COLUMN_SURFACE`] binds.
#[derive(Clone, Copy, Debug)]
pub struct ColumnSurfaceBind {
    /// The first 14.
    pub base: ColumnBind,
    /// Binding 14, `vec4[]`.
    pub splat_plane: Span,
    /// Binding 15, `vec4[]`.
    pub surface_gradient: Span,
    /// Binding 16, `vec4[]`.
    pub gradient_d: Span,
    /// Binding 17, `vec4[]`.
    pub normal_gradient: Span,
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
        Binding::read("image"),
        Binding::read("last_contributor"),
        Binding::read("image_gradient"),
        Binding::write("gradient_a"),
        Binding::write("gradient_b"),
        Binding::write("gradient_c"),
        Binding::read("splat_plane"),
        Binding::read("surface_gradient"),
        Binding::write("gradient_d"),
        Binding::read("normal_gradient"),
    ];

    fn views(&self) -> Vec<Span> {
        let mut views = self.base.views();
        views.extend([
            self.splat_plane,
            self.surface_gradient,
            self.gradient_d,
            self.normal_gradient,
        ]);
        views
    }
}

/// Push constants of [`ATOMIC`], [`COLUMN`], [`ATOMIC_SURFACE`], [`COLUMN_SURFACE`], [`COMPARE_EXCHANGE`] and
/// [`COMPARE_EXCHANGE_SURFACE`].
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

/// Specialisation constants of [`ATOMIC`], [`ATOMIC_SURFACE`], [`COMPARE_EXCHANGE`] and [`COMPARE_EXCHANGE_SURFACE`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct AtomicSpec {
    /// Constant 0.
    pub owners: u32,
    /// Constant 1; the fourth value of image gradients is splatted back as well.
    pub scores: u32,
    /// Constant 2; the absolute pull of every pixel is summed, for densification.
    pub statistic: u32,
}

/// Specialisation constants of [`COLUMN`] and [`COLUMN_SURFACE`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct ColumnSpec {
    /// The first 3.
    pub base: AtomicSpec,
    /// Constant 3; several splats a turn, see `common/turns.glsl`.
    pub unrolled: u32,
}

/// `rasterize_backward.atomic.spv`, made with `ATOMIC=1`.
pub static ATOMIC: Kernel<AtomicBind, Push, AtomicSpec> = Kernel::new(
    "rasterize_backward.atomic",
    include_bytes!("../../../../shaders/spv/rasterize_backward.atomic.spv"),
);

/// `rasterize_backward.column.spv`, made with `COLUMN=1`.
pub static COLUMN: Kernel<ColumnBind, Push, ColumnSpec> = Kernel::new(
    "rasterize_backward.column",
    include_bytes!("../../../../shaders/spv/rasterize_backward.column.spv"),
);

/// `rasterize_backward.atomic_surface.spv`, made with `ATOMIC=1 SURFACE=1`.
pub static ATOMIC_SURFACE: Kernel<AtomicSurfaceBind, Push, AtomicSpec> = Kernel::new(
    "rasterize_backward.atomic_surface",
    include_bytes!("../../../../shaders/spv/rasterize_backward.atomic_surface.spv"),
);

/// `rasterize_backward.column_surface.spv`, made with `COLUMN=1 SURFACE=1`.
pub static COLUMN_SURFACE: Kernel<ColumnSurfaceBind, Push, ColumnSpec> = Kernel::new(
    "rasterize_backward.column_surface",
    include_bytes!("../../../../shaders/spv/rasterize_backward.column_surface.spv"),
);

/// `rasterize_backward.compare_exchange.spv`, made with `COMPARE_EXCHANGE=1`.
pub static COMPARE_EXCHANGE: Kernel<AtomicBind, Push, AtomicSpec> = Kernel::new(
    "rasterize_backward.compare_exchange",
    include_bytes!("../../../../shaders/spv/rasterize_backward.compare_exchange.spv"),
);

/// `rasterize_backward.compare_exchange_surface.spv`, made with `COMPARE_EXCHANGE=1 SURFACE=1`.
pub static COMPARE_EXCHANGE_SURFACE: Kernel<AtomicSurfaceBind, Push, AtomicSpec> = Kernel::new(
    "rasterize_backward.compare_exchange_surface",
    include_bytes!("../../../../shaders/spv/rasterize_backward.compare_exchange_surface.spv"),
);
