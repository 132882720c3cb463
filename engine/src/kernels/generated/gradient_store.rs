//! `shaders/gradient_store.comp`: 2D gradients of all visible Gaussians of a chunk, kept while bands of tiles take
//! turns with the records. Made by `cargo xtask shaders`.

use crate::program::{Binding, Bindings, Kernel, Span};

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

/// Push constants of [`LOAD`], [`SAVE`], [`CHECK`] and [`CLEAR`].
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
