//! `shaders/opacity_reset.comp`: lowers every effective opacity to at most `ceiling` and zeroes the opacity moments.
//! Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `float[]`.
    pub geometry: Span,
    /// Binding 2, `uint[]`.
    pub geometry_m: Span,
    /// Binding 3, `uint[]`.
    pub geometry_v: Span,
    /// Binding 4, `float[]`.
    pub filter_3d: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read_write("geometry"),
        Binding::write("geometry_m"),
        Binding::write("geometry_v"),
        Binding::read("filter_3d"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.counters,
            self.geometry,
            self.geometry_m,
            self.geometry_v,
            self.filter_3d,
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
    /// Word 2.
    pub ceiling: f32,
    /// Word 3; that has nothing but the opacity's moments.
    pub moment_plane: u32,
}

/// `opacity_reset.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "opacity_reset",
    include_bytes!("../../../../shaders/spv/opacity_reset.spv"),
);
