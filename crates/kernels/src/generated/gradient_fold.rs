//! `shaders/gradient_fold.comp`: adds each splat's partial gradients to its record in the order its tiles were emitted:
//! same bytes whatever the scheduling, and whatever bands the tiles came in. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `uint[]`.
    pub emission_start: Span,
    /// Binding 2, `uint[]`.
    pub tile_counts: Span,
    /// Binding 3, `vec4[]`.
    pub partial_a: Span,
    /// Binding 4, `vec4[]`.
    pub partial_b: Span,
    /// Binding 5, `vec4[]`.
    pub partial_c: Span,
    /// Binding 6, `vec4[]`.
    pub gradient_a: Span,
    /// Binding 7, `vec4[]`.
    pub gradient_b: Span,
    /// Binding 8, `vec4[]`.
    pub gradient_c: Span,
    /// Binding 9, `uint[]`.
    pub owners: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("emission_start"),
        Binding::read("tile_counts"),
        Binding::read("partial_a"),
        Binding::read("partial_b"),
        Binding::read("partial_c"),
        Binding::read_write("gradient_a"),
        Binding::read_write("gradient_b"),
        Binding::read_write("gradient_c"),
        Binding::read("owners"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.counters,
            self.emission_start,
            self.tile_counts,
            self.partial_a,
            self.partial_b,
            self.partial_c,
            self.gradient_a,
            self.gradient_b,
            self.gradient_c,
            self.owners,
        ]
    }
}

/// What [`SURFACE`] binds.
#[derive(Clone, Copy, Debug)]
pub struct SurfaceBind {
    /// The first 10.
    pub base: Bind,
    /// Binding 10, `vec4[]`.
    pub partial_d: Span,
    /// Binding 11, `vec4[]`.
    pub gradient_d: Span,
}

impl Bindings for SurfaceBind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("emission_start"),
        Binding::read("tile_counts"),
        Binding::read("partial_a"),
        Binding::read("partial_b"),
        Binding::read("partial_c"),
        Binding::read_write("gradient_a"),
        Binding::read_write("gradient_b"),
        Binding::read_write("gradient_c"),
        Binding::read("owners"),
        Binding::read("partial_d"),
        Binding::read_write("gradient_d"),
    ];

    fn views(&self) -> Vec<Span> {
        let mut views = self.base.views();
        views.extend([self.partial_d, self.gradient_d]);
        views
    }
}

/// `gradient_fold.spv`.
pub static KERNEL: Kernel<Bind> = Kernel::new(
    "gradient_fold",
    include_bytes!("../../../../shaders/spv/gradient_fold.spv"),
);

/// `gradient_fold.surface.spv`, made with `SURFACE=1`.
pub static SURFACE: Kernel<SurfaceBind> = Kernel::new(
    "gradient_fold.surface",
    include_bytes!("../../../../shaders/spv/gradient_fold.surface.spv"),
);
