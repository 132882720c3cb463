//! `shaders/densify_births.comp`: lists the parents in id order: entry k is the Gaussian that is copied to slot count +
//! k, and whether it is split. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `DensifyControl`.
    pub control: Span,
    /// Binding 1, `uint[]`.
    pub gradients: Span,
    /// Binding 2, `uint[]`.
    pub keys: Span,
    /// Binding 3, `uvec2[]`.
    pub group_counts: Span,
    /// Binding 4, `uint[]`.
    pub from: Span,
    /// Binding 5, `uint[]`.
    pub to: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read_write("control"),
        Binding::read("gradients"),
        Binding::read("keys"),
        Binding::read("group_counts"),
        Binding::write("from"),
        Binding::write("to"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.control,
            self.gradients,
            self.keys,
            self.group_counts,
            self.from,
            self.to,
        ]
    }
}

/// `densify_births.spv`.
pub static KERNEL: Kernel<Bind> = Kernel::new(
    "densify_births",
    include_bytes!("../../../../shaders/spv/densify_births.spv"),
);
