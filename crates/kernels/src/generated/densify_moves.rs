//! `shaders/densify_moves.comp`: lists the moves that close the holes: the j-th dead slot below the live count receives
//! the j-th live slot at or above it. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `DensifyControl`.
    pub control: Span,
    /// Binding 1, `uint[]`.
    pub keys: Span,
    /// Binding 2, `uvec2[]`.
    pub group_counts: Span,
    /// Binding 3, `uint[]`.
    pub from: Span,
    /// Binding 4, `uint[]`.
    pub to: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read_write("control"),
        Binding::read("keys"),
        Binding::read("group_counts"),
        Binding::write("from"),
        Binding::write("to"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.control, self.keys, self.group_counts, self.from, self.to]
    }
}

/// `densify_moves.spv`.
pub static KERNEL: Kernel<Bind> = Kernel::new(
    "densify_moves",
    include_bytes!("../../../../shaders/spv/densify_moves.spv"),
);
