//! `shaders/triangle_band.comp`: plain variant: tiles of each drawn triangle's box inside the band. Made by `cargo
//! xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `uvec4[]`.
    pub record: Span,
    /// Binding 3, `uint[]`.
    pub tile_counts: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("record"),
        Binding::write("tile_counts"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.uniforms, self.counters, self.record, self.tile_counts]
    }
}

/// What [`HISTOGRAM`] binds.
#[derive(Clone, Copy, Debug)]
pub struct HistogramBind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `uvec4[]`.
    pub record: Span,
    /// Binding 3, `uint[]`.
    pub tile_histogram: Span,
}

impl Bindings for HistogramBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("record"),
        Binding::read_write("tile_histogram"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.uniforms, self.counters, self.record, self.tile_histogram]
    }
}

/// `triangle_band.spv`.
pub static KERNEL: Kernel<Bind> = Kernel::new(
    "triangle_band",
    include_bytes!("../../../../shaders/spv/triangle_band.spv"),
);

/// `triangle_band.histogram.spv`, made with `HISTOGRAM=1`.
pub static HISTOGRAM: Kernel<HistogramBind> = Kernel::new(
    "triangle_band.histogram",
    include_bytes!("../../../../shaders/spv/triangle_band.histogram.spv"),
);
