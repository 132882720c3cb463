//! `shaders/triangle_fold.comp`: adds each triangle's partial gradients to its record in the order its tiles were
//! emitted: same bytes whatever the scheduling, and whatever bands the tiles came in. Made by `cargo xtask shaders`.

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
    /// Binding 3, `uint[]`.
    pub owners: Span,
    /// Binding 4, `vec4[]`.
    pub partial_a: Span,
    /// Binding 5, `vec4[]`.
    pub partial_b: Span,
    /// Binding 6, `vec4[]`.
    pub partial_c: Span,
    /// Binding 7, `vec4[]`.
    pub partial_d: Span,
    /// Binding 8, `vec4[]`.
    pub partial_e: Span,
    /// Binding 9, `vec4[]`.
    pub gradient_a: Span,
    /// Binding 10, `vec4[]`.
    pub gradient_b: Span,
    /// Binding 11, `vec4[]`.
    pub gradient_c: Span,
    /// Binding 12, `vec4[]`.
    pub gradient_d: Span,
    /// Binding 13, `vec4[]`.
    pub gradient_e: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("emission_start"),
        Binding::read("tile_counts"),
        Binding::read("owners"),
        Binding::read("partial_a"),
        Binding::read("partial_b"),
        Binding::read("partial_c"),
        Binding::read("partial_d"),
        Binding::read("partial_e"),
        Binding::read_write("gradient_a"),
        Binding::read_write("gradient_b"),
        Binding::read_write("gradient_c"),
        Binding::read_write("gradient_d"),
        Binding::read_write("gradient_e"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.counters,
            self.emission_start,
            self.tile_counts,
            self.owners,
            self.partial_a,
            self.partial_b,
            self.partial_c,
            self.partial_d,
            self.partial_e,
            self.gradient_a,
            self.gradient_b,
            self.gradient_c,
            self.gradient_d,
            self.gradient_e,
        ]
    }
}

/// What [`EXACT`] binds.
#[derive(Clone, Copy, Debug)]
pub struct ExactBind {
    /// The first 14.
    pub base: Bind,
    /// Binding 14, `vec4[]`.
    pub partial_f: Span,
    /// Binding 15, `vec4[]`.
    pub gradient_f: Span,
}

impl Bindings for ExactBind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("emission_start"),
        Binding::read("tile_counts"),
        Binding::read("owners"),
        Binding::read("partial_a"),
        Binding::read("partial_b"),
        Binding::read("partial_c"),
        Binding::read("partial_d"),
        Binding::read("partial_e"),
        Binding::read_write("gradient_a"),
        Binding::read_write("gradient_b"),
        Binding::read_write("gradient_c"),
        Binding::read_write("gradient_d"),
        Binding::read_write("gradient_e"),
        Binding::read("partial_f"),
        Binding::read_write("gradient_f"),
    ];

    fn views(&self) -> Vec<Span> {
        let mut views = self.base.views();
        views.extend([self.partial_f, self.gradient_f]);
        views
    }
}

/// `triangle_fold.spv`.
pub static KERNEL: Kernel<Bind> = Kernel::new(
    "triangle_fold",
    include_bytes!("../../../../shaders/spv/triangle_fold.spv"),
);

/// `triangle_fold.exact.spv`, made with `EXACT=1`.
pub static EXACT: Kernel<ExactBind> = Kernel::new(
    "triangle_fold.exact",
    include_bytes!("../../../../shaders/spv/triangle_fold.exact.spv"),
);
