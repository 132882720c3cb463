//! `shaders/triangle_emit.comp`: writes one (tile, triangle) pair for every tile of a triangle's box in the band,
//! triangles in depth order, tiles row by row; a tile that the triangle itself does not reach gets the key behind all
//! tiles. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms, TriangleUniforms`.
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
    /// Binding 6, `uvec4[]`.
    pub record: Span,
    /// Binding 7, `uvec4[]`.
    pub record_corners: Span,
    /// Binding 8, `vec4[]`.
    pub vertex_screen: Span,
    /// Binding 9, `uint[]`.
    pub tile_keys: Span,
    /// Binding 10, `uint[]`.
    pub payloads: Span,
    /// Binding 11, `uint[]`.
    pub owners: Span,
    /// Binding 12, `uint[]`.
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
        Binding::read("record"),
        Binding::read("record_corners"),
        Binding::read("vertex_screen"),
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
            self.record,
            self.record_corners,
            self.vertex_screen,
            self.tile_keys,
            self.payloads,
            self.owners,
            self.emission_start,
        ]
    }
}

/// `triangle_emit.spv`.
pub static KERNEL: Kernel<Bind> = Kernel::new(
    "triangle_emit",
    include_bytes!("../../../../shaders/spv/triangle_emit.spv"),
);

/// Of a group, and threads.
pub const TRIANGLES: u32 = 64;
