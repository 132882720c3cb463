//! `shaders/morton_places.comp`: turns the sorted list of ids around: where each Gaussian goes. Made by `cargo xtask
//! shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `uint[]`.
    pub order: Span,
    /// Binding 2, `uint[]`.
    pub places: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("order"),
        Binding::write("places"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.counters, self.order, self.places]
    }
}

/// `morton_places.spv`.
pub static KERNEL: Kernel<Bind> = Kernel::new(
    "morton_places",
    include_bytes!("../../../../shaders/spv/morton_places.spv"),
);
