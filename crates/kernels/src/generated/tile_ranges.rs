//! `shaders/tile_ranges.comp`: first and one-past-last sorted intersection of every tile. Made by `cargo xtask
//! shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `uint[]`.
    pub tile_keys: Span,
    /// Binding 3, `uvec2[]`.
    pub tile_ranges: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("tile_keys"),
        Binding::read_write("tile_ranges"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.uniforms, self.counters, self.tile_keys, self.tile_ranges]
    }
}

/// `tile_ranges.spv`.
pub static KERNEL: Kernel<Bind> = Kernel::new("tile_ranges", include_bytes!("../../../../shaders/spv/tile_ranges.spv"));
