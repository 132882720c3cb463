//! `shaders/splat_clear.comp`: zeroes the 2D gradient records of the visible splats before atomics add to them. Made by
//! `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `vec4[]`.
    pub gradient_a: Span,
    /// Binding 2, `vec4[]`.
    pub gradient_b: Span,
    /// Binding 3, `vec4[]`.
    pub gradient_c: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::write("gradient_a"),
        Binding::write("gradient_b"),
        Binding::write("gradient_c"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.counters, self.gradient_a, self.gradient_b, self.gradient_c]
    }
}

/// What [`SURFACE`] binds.
#[derive(Clone, Copy, Debug)]
pub struct SurfaceBind {
    /// The first 4.
    pub base: Bind,
    /// Binding 4, `vec4[]`.
    pub gradient_d: Span,
}

impl Bindings for SurfaceBind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::write("gradient_a"),
        Binding::write("gradient_b"),
        Binding::write("gradient_c"),
        Binding::write("gradient_d"),
    ];

    fn views(&self) -> Vec<Span> {
        let mut views = self.base.views();
        views.extend([self.gradient_d]);
        views
    }
}

/// `splat_clear.spv`.
pub static KERNEL: Kernel<Bind> = Kernel::new("splat_clear", include_bytes!("../../../../shaders/spv/splat_clear.spv"));

/// `splat_clear.surface.spv`, made with `SURFACE=1`.
pub static SURFACE: Kernel<SurfaceBind> = Kernel::new(
    "splat_clear.surface",
    include_bytes!("../../../../shaders/spv/splat_clear.surface.spv"),
);
