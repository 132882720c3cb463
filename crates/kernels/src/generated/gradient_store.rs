//! `shaders/gradient_store.comp`: 2D gradients of all visible Gaussians of a chunk, kept while bands of tiles take
//! turns with the records. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`LOAD`] binds.
#[derive(Clone, Copy, Debug)]
pub struct LoadBind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `uint[]`.
    pub visible_mask: Span,
    /// Binding 2, `vec4[]`.
    pub store_a: Span,
    /// Binding 3, `vec4[]`.
    pub store_b: Span,
    /// Binding 4, `vec4[]`.
    pub store_c: Span,
    /// Binding 5, `uint[]`.
    pub band_mask: Span,
    /// Binding 6, `uint[]`.
    pub group_in_band: Span,
    /// Binding 7, `vec4[]`.
    pub gradient_a: Span,
    /// Binding 8, `vec4[]`.
    pub gradient_b: Span,
    /// Binding 9, `vec4[]`.
    pub gradient_c: Span,
}

impl Bindings for LoadBind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("visible_mask"),
        Binding::read("store_a"),
        Binding::read("store_b"),
        Binding::read("store_c"),
        Binding::read("band_mask"),
        Binding::read("group_in_band"),
        Binding::write("gradient_a"),
        Binding::write("gradient_b"),
        Binding::write("gradient_c"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.counters,
            self.visible_mask,
            self.store_a,
            self.store_b,
            self.store_c,
            self.band_mask,
            self.group_in_band,
            self.gradient_a,
            self.gradient_b,
            self.gradient_c,
        ]
    }
}

/// What [`SAVE`] binds.
#[derive(Clone, Copy, Debug)]
pub struct SaveBind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `uint[]`.
    pub visible_mask: Span,
    /// Binding 2, `vec4[]`.
    pub store_a: Span,
    /// Binding 3, `vec4[]`.
    pub store_b: Span,
    /// Binding 4, `vec4[]`.
    pub store_c: Span,
    /// Binding 5, `uint[]`.
    pub band_mask: Span,
    /// Binding 6, `uint[]`.
    pub group_in_band: Span,
    /// Binding 7, `vec4[]`.
    pub gradient_a: Span,
    /// Binding 8, `vec4[]`.
    pub gradient_b: Span,
    /// Binding 9, `vec4[]`.
    pub gradient_c: Span,
    /// Binding 10, `vec4[]`.
    pub splat_color: Span,
}

impl Bindings for SaveBind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("visible_mask"),
        Binding::write("store_a"),
        Binding::write("store_b"),
        Binding::write("store_c"),
        Binding::read("band_mask"),
        Binding::read("group_in_band"),
        Binding::read("gradient_a"),
        Binding::read("gradient_b"),
        Binding::read("gradient_c"),
        Binding::read("splat_color"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.counters,
            self.visible_mask,
            self.store_a,
            self.store_b,
            self.store_c,
            self.band_mask,
            self.group_in_band,
            self.gradient_a,
            self.gradient_b,
            self.gradient_c,
            self.splat_color,
        ]
    }
}

/// What [`CHECK`] binds.
#[derive(Clone, Copy, Debug)]
pub struct CheckBind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `uint[]`.
    pub visible_mask: Span,
    /// Binding 2, `vec4[]`.
    pub store_a: Span,
    /// Binding 3, `vec4[]`.
    pub store_b: Span,
    /// Binding 4, `vec4[]`.
    pub store_c: Span,
    /// Binding 5, `uint[]`.
    pub group_visible: Span,
}

impl Bindings for CheckBind {
    const LIST: &'static [Binding] = &[
        Binding::read_write("counters"),
        Binding::read("visible_mask"),
        Binding::read("store_a"),
        Binding::read("store_b"),
        Binding::read("store_c"),
        Binding::read("group_visible"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.counters,
            self.visible_mask,
            self.store_a,
            self.store_b,
            self.store_c,
            self.group_visible,
        ]
    }
}

/// What [`CLEAR`] binds.
#[derive(Clone, Copy, Debug)]
pub struct ClearBind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `vec4[]`.
    pub store_a: Span,
    /// Binding 2, `vec4[]`.
    pub store_b: Span,
    /// Binding 3, `vec4[]`.
    pub store_c: Span,
    /// Binding 4, `uint[]`.
    pub group_rows: Span,
}

impl Bindings for ClearBind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::write("store_a"),
        Binding::write("store_b"),
        Binding::write("store_c"),
        Binding::write("group_rows"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.counters, self.store_a, self.store_b, self.store_c, self.group_rows]
    }
}

/// What [`LOAD_SURFACE`] binds.
#[derive(Clone, Copy, Debug)]
pub struct LoadSurfaceBind {
    /// The first 10.
    pub base: LoadBind,
    /// Binding 10, `vec4[]`.
    pub store_d: Span,
    /// Binding 11, `vec4[]`.
    pub gradient_d: Span,
}

impl Bindings for LoadSurfaceBind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("visible_mask"),
        Binding::read("store_a"),
        Binding::read("store_b"),
        Binding::read("store_c"),
        Binding::read("band_mask"),
        Binding::read("group_in_band"),
        Binding::write("gradient_a"),
        Binding::write("gradient_b"),
        Binding::write("gradient_c"),
        Binding::read("store_d"),
        Binding::write("gradient_d"),
    ];

    fn views(&self) -> Vec<Span> {
        let mut views = self.base.views();
        views.extend([self.store_d, self.gradient_d]);
        views
    }
}

/// What [`SAVE_SURFACE`] binds.
#[derive(Clone, Copy, Debug)]
pub struct SaveSurfaceBind {
    /// The first 11.
    pub base: SaveBind,
    /// Binding 11, `vec4[]`.
    pub store_d: Span,
    /// Binding 12, `vec4[]`.
    pub gradient_d: Span,
}

impl Bindings for SaveSurfaceBind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("visible_mask"),
        Binding::write("store_a"),
        Binding::write("store_b"),
        Binding::write("store_c"),
        Binding::read("band_mask"),
        Binding::read("group_in_band"),
        Binding::read("gradient_a"),
        Binding::read("gradient_b"),
        Binding::read("gradient_c"),
        Binding::read("splat_color"),
        Binding::write("store_d"),
        Binding::read("gradient_d"),
    ];

    fn views(&self) -> Vec<Span> {
        let mut views = self.base.views();
        views.extend([self.store_d, self.gradient_d]);
        views
    }
}

/// What [`CHECK_SURFACE`] binds.
#[derive(Clone, Copy, Debug)]
pub struct CheckSurfaceBind {
    /// The first 6.
    pub base: CheckBind,
    /// Binding 6, `vec4[]`.
    pub store_d: Span,
}

impl Bindings for CheckSurfaceBind {
    const LIST: &'static [Binding] = &[
        Binding::read_write("counters"),
        Binding::read("visible_mask"),
        Binding::read("store_a"),
        Binding::read("store_b"),
        Binding::read("store_c"),
        Binding::read("group_visible"),
        Binding::read("store_d"),
    ];

    fn views(&self) -> Vec<Span> {
        let mut views = self.base.views();
        views.extend([self.store_d]);
        views
    }
}

/// What [`CLEAR_SURFACE`] binds.
#[derive(Clone, Copy, Debug)]
pub struct ClearSurfaceBind {
    /// The first 5.
    pub base: ClearBind,
    /// Binding 5, `vec4[]`.
    pub store_d: Span,
}

impl Bindings for ClearSurfaceBind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::write("store_a"),
        Binding::write("store_b"),
        Binding::write("store_c"),
        Binding::write("group_rows"),
        Binding::write("store_d"),
    ];

    fn views(&self) -> Vec<Span> {
        let mut views = self.base.views();
        views.extend([self.store_d]);
        views
    }
}

/// Push constants of [`LOAD`], [`SAVE`], [`CHECK`], [`CLEAR`], [`LOAD_SURFACE`], [`SAVE_SURFACE`], [`CHECK_SURFACE`]
/// and [`CLEAR_SURFACE`].
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

/// `gradient_store.load.spv`, made with `LOAD=1`.
pub static LOAD: Kernel<LoadBind, Push> = Kernel::new(
    "gradient_store.load",
    include_bytes!("../../../../shaders/spv/gradient_store.load.spv"),
);

/// `gradient_store.save.spv`, made with `SAVE=1`.
pub static SAVE: Kernel<SaveBind, Push> = Kernel::new(
    "gradient_store.save",
    include_bytes!("../../../../shaders/spv/gradient_store.save.spv"),
);

/// `gradient_store.check.spv`, made with `CHECK=1`.
pub static CHECK: Kernel<CheckBind, Push> = Kernel::new(
    "gradient_store.check",
    include_bytes!("../../../../shaders/spv/gradient_store.check.spv"),
);

/// `gradient_store.clear.spv`, made with `CLEAR=1`.
pub static CLEAR: Kernel<ClearBind, Push> = Kernel::new(
    "gradient_store.clear",
    include_bytes!("../../../../shaders/spv/gradient_store.clear.spv"),
);

/// `gradient_store.load_surface.spv`, made with `LOAD=1 SURFACE=1`.
pub static LOAD_SURFACE: Kernel<LoadSurfaceBind, Push> = Kernel::new(
    "gradient_store.load_surface",
    include_bytes!("../../../../shaders/spv/gradient_store.load_surface.spv"),
);

/// `gradient_store.save_surface.spv`, made with `SAVE=1 SURFACE=1`.
pub static SAVE_SURFACE: Kernel<SaveSurfaceBind, Push> = Kernel::new(
    "gradient_store.save_surface",
    include_bytes!("../../../../shaders/spv/gradient_store.save_surface.spv"),
);

/// `gradient_store.check_surface.spv`, made with `CHECK=1 SURFACE=1`.
pub static CHECK_SURFACE: Kernel<CheckSurfaceBind, Push> = Kernel::new(
    "gradient_store.check_surface",
    include_bytes!("../../../../shaders/spv/gradient_store.check_surface.spv"),
);

/// `gradient_store.clear_surface.spv`, made with `CLEAR=1 SURFACE=1`.
pub static CLEAR_SURFACE: Kernel<ClearSurfaceBind, Push> = Kernel::new(
    "gradient_store.clear_surface",
    include_bytes!("../../../../shaders/spv/gradient_store.clear_surface.spv"),
);
