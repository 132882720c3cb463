//! `shaders/tile_order.comp`: orders the band's tiles by the number of their splats, most first, so that no tile that
//! takes long starts last. Made by `cargo xtask shaders`.

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
    pub tile_order: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("tile_ranges"),
        Binding::write("tile_order"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.uniforms, self.counters, self.tile_ranges, self.tile_order]
    }
}

/// `tile_order.spv`.
pub static KERNEL: Kernel<Bind> = Kernel::new("tile_order", include_bytes!("../../../../shaders/spv/tile_order.spv"));
