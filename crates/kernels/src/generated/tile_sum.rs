//! `shaders/tile_sum.comp`: tiles touched by each run of 256 splats in depth order, and by the splats of the run before
//! each. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `uint[]`.
    pub depth_order: Span,
    /// Binding 2, `uint[]`.
    pub tile_counts: Span,
    /// Binding 3, `uint[]`.
    pub group_tiles: Span,
    /// Binding 4, `uint[]`.
    pub tiles_before: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("depth_order"),
        Binding::read("tile_counts"),
        Binding::write("group_tiles"),
        Binding::write("tiles_before"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.counters,
            self.depth_order,
            self.tile_counts,
            self.group_tiles,
            self.tiles_before,
        ]
    }
}

/// `tile_sum.spv`.
pub static KERNEL: Kernel<Bind> = Kernel::new("tile_sum", include_bytes!("../../../../shaders/spv/tile_sum.spv"));
