//! `shaders/gradient_check.comp`: stalls the step when a 2D gradient or the loss is not finite: nothing of such a step
//! may reach the model. Made by `cargo xtask shaders`.

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
        Binding::read_write("counters"),
        Binding::read("gradient_a"),
        Binding::read("gradient_b"),
        Binding::read("gradient_c"),
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
        Binding::read_write("counters"),
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

/// `gradient_check.spv`.
pub static KERNEL: Kernel<Bind> = Kernel::new(
    "gradient_check",
    include_bytes!("../../../../shaders/spv/gradient_check.spv"),
);

/// `gradient_check.surface.spv`, made with `SURFACE=1`.
pub static SURFACE: Kernel<SurfaceBind> = Kernel::new(
    "gradient_check.surface",
    include_bytes!("../../../../shaders/spv/gradient_check.surface.spv"),
);
