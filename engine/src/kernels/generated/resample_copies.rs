//! `shaders/resample_copies.comp`: how often each Gaussian is copied, and where to. Made by `cargo xtask shaders`.

use crate::program::{Binding, Bindings, Kernel, View};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `DensifyControl`.
    pub control: View,
    /// Binding 1, `uint[]`.
    pub keys: View,
    /// Binding 2, `uvec2[]`.
    pub group_counts: View,
    /// Binding 3, `uint[]`.
    pub copies: View,
    /// Binding 4, `uint[]`.
    pub from: View,
    /// Binding 5, `uint[]`.
    pub to: View,
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

    fn views(&self) -> Vec<View> {
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

/// `resample_copies.spv`.
pub static KERNEL: Kernel<Bind> = Kernel::new(
    "resample_copies",
    include_bytes!("../../../../shaders/spv/resample_copies.spv"),
);
