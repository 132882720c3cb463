//! `shaders/emit.comp`: writes one (tile, splat) pair per intersection, splats in depth order and each splat's tiles
//! row by row. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `uint[]`.
    pub depth_order: Span,
    /// Binding 3, `uint[]`.
    pub tile_counts: Span,
    /// Binding 4, `uint[]`.
    pub group_tiles: Span,
    /// Binding 5, `uint[]`.
    pub tiles_before: Span,
    /// Binding 6, `vec4[]`.
    pub splat_position: Span,
    /// Binding 7, `vec4[]`.
    pub splat_conic: Span,
    /// Binding 8, `uint[]`.
    pub tile_keys: Span,
    /// Binding 9, `uint[]`.
    pub payloads: Span,
    /// Binding 10, `uint[]`.
    pub owners: Span,
    /// Binding 11, `uint[]`.
    pub emission_start: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("depth_order"),
        Binding::read("tile_counts"),
        Binding::read("group_tiles"),
        Binding::read("tiles_before"),
        Binding::read("splat_position"),
        Binding::read("splat_conic"),
        Binding::write("tile_keys"),
        Binding::write("payloads"),
        Binding::write("owners"),
        Binding::write("emission_start"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.depth_order,
            self.tile_counts,
            self.group_tiles,
            self.tiles_before,
            self.splat_position,
            self.splat_conic,
            self.tile_keys,
            self.payloads,
            self.owners,
            self.emission_start,
        ]
    }
}

/// Specialisation constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Spec {
    /// Constant 0; 1: payload is the emission index and `owners` names the splat.
    pub owners: u32,
}

/// `emit.spv`.
pub static KERNEL: Kernel<Bind, (), Spec> = Kernel::new("emit", include_bytes!("../../../../shaders/spv/emit.spv"));

/// Of a group, and threads.
pub const SPLATS: u32 = 64;
/// Tiles from which on a splat's rows are shared out.
pub const LARGE: u32 = 16;
