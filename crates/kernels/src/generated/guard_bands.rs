//! `shaders/guard_bands.comp`: looks at bands of memory that no pass may write: how many words of each are no longer
//! the pattern, which is the first of them, and what it is now. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `uvec2[]`.
    pub bands: Span,
    /// Binding 1, `uint[]`.
    pub words: Span,
    /// Binding 2, `uvec4[]`.
    pub reports: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("bands"),
        Binding::read("words"),
        Binding::write("reports"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.bands, self.words, self.reports]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub pattern: u32,
    /// Word 1; bands.
    pub count: u32,
}

/// `guard_bands.spv`.
pub static KERNEL: Kernel<Bind, Push> =
    Kernel::new("guard_bands", include_bytes!("../../../../shaders/spv/guard_bands.spv"));
