//! `shaders/band_count.comp`: plain variant: tiles each visible splat touches inside the band. Made by `cargo xtask
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
    pub splat_position: Span,
    /// Binding 3, `vec4[]`.
    pub splat_conic: Span,
    /// Binding 4, `uint[]`.
    pub tile_counts: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("splat_position"),
        Binding::read("splat_conic"),
        Binding::write("tile_counts"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.splat_position,
            self.splat_conic,
            self.tile_counts,
        ]
    }
}

/// What [`HISTOGRAM`] binds.
#[derive(Clone, Copy, Debug)]
pub struct HistogramBind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `vec4[]`.
    pub splat_position: Span,
    /// Binding 3, `vec4[]`.
    pub splat_conic: Span,
    /// Binding 4, `uint[]`.
    pub tile_histogram: Span,
}

impl Bindings for HistogramBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("splat_position"),
        Binding::read("splat_conic"),
        Binding::read_write("tile_histogram"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.splat_position,
            self.splat_conic,
            self.tile_histogram,
        ]
    }
}

/// `band_count.spv`.
pub static KERNEL: Kernel<Bind> = Kernel::new("band_count", include_bytes!("../../../../shaders/spv/band_count.spv"));

/// `band_count.histogram.spv`, made with `HISTOGRAM=1`.
pub static HISTOGRAM: Kernel<HistogramBind> = Kernel::new(
    "band_count.histogram",
    include_bytes!("../../../../shaders/spv/band_count.histogram.spv"),
);
