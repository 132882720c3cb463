//! `shaders/density_rows.comp`: gaussians of a chunk as the density reads them, at their ids: centre and opacity,
//! rotation, inverse standard deviations. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `float[]`.
    pub geometry: Span,
    /// Binding 2, `float[]`.
    pub filter_3d: Span,
    /// Binding 3, `vec4[]`; centre; opacity.
    pub centers: Span,
    /// Binding 4, `vec4[]`; (w, x, y, z) of length 1.
    pub rotations: Span,
    /// Binding 5, `vec4[]`; 1 / deviations; 0.
    pub inverses: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("geometry"),
        Binding::read("filter_3d"),
        Binding::write("centers"),
        Binding::write("rotations"),
        Binding::write("inverses"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.counters,
            self.geometry,
            self.filter_3d,
            self.centers,
            self.rotations,
            self.inverses,
        ]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub stride: u32,
    /// Word 1.
    pub first: u32,
}

/// `density_rows.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "density_rows",
    include_bytes!("../../../../shaders/spv/density_rows.spv"),
);
