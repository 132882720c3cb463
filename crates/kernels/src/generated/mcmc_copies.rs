//! `shaders/mcmc_copies.comp`: how often each Gaussian is copied, and where to. Made by `cargo xtask shaders`.

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
    pub copies: Span,
    /// Binding 4, `uint[]`.
    pub from: Span,
    /// Binding 5, `uint[]`.
    pub to: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("control"),
        Binding::read("keys"),
        Binding::read("group_counts"),
        Binding::write("copies"),
        Binding::write("from"),
        Binding::write("to"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.control,
            self.keys,
            self.group_counts,
            self.copies,
            self.from,
            self.to,
        ]
    }
}

/// `mcmc_copies.spv`.
pub static KERNEL: Kernel<Bind> = Kernel::new("mcmc_copies", include_bytes!("../../../../shaders/spv/mcmc_copies.spv"));
