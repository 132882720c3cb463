//! `shaders/density_sum.comp`: sums of the density's terms over samples, in a fixed order. Made by `cargo xtask
//! shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `vec4[]`.
    pub sums: Span,
    /// Binding 3, `vec4[]`.
    pub sample_value: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::write("sums"),
        Binding::read("sample_value"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.uniforms, self.counters, self.sums, self.sample_value]
    }
}

/// What [`TOTAL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct TotalBind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `vec4[]`.
    pub sums: Span,
}

impl Bindings for TotalBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read_write("counters"),
        Binding::read("sums"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.uniforms, self.counters, self.sums]
    }
}

/// Push constants of [`KERNEL`] and [`TOTAL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0; samples, or groups of them.
    pub count: u32,
    /// Word 1.
    pub weight: f32,
    /// Word 2.
    pub normal_weight: f32,
}

/// `density_sum.spv`.
pub static KERNEL: Kernel<Bind, Push> =
    Kernel::new("density_sum", include_bytes!("../../../../shaders/spv/density_sum.spv"));

/// `density_sum.total.spv`, made with `TOTAL=1`.
pub static TOTAL: Kernel<TotalBind, Push> = Kernel::new(
    "density_sum.total",
    include_bytes!("../../../../shaders/spv/density_sum.total.spv"),
);
