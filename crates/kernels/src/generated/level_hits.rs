//! `shaders/level_hits.comp`: which Gaussian a candidate pixel shows: the one at which half the light is blocked. Made
//! by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
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
    /// Binding 7, `uint[]`.
    pub record_ids: Span,
    /// Binding 8, `uint[]`.
    pub hits: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("tile_ranges"),
        Binding::read("payloads"),
        Binding::read("owners"),
        Binding::read("splat_position"),
        Binding::read("splat_conic"),
        Binding::read("record_ids"),
        Binding::write("hits"),
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
            self.record_ids,
            self.hits,
        ]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub candidates: u32,
}

/// Specialisation constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Spec {
    /// Constant 0.
    pub owners: u32,
    /// Constant 1; several splats a turn, see `common/turns.glsl`.
    pub unrolled: u32,
}

/// `level_hits.spv`.
pub static KERNEL: Kernel<Bind, Push, Spec> =
    Kernel::new("level_hits", include_bytes!("../../../../shaders/spv/level_hits.spv"));
