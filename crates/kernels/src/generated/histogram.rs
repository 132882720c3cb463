//! `shaders/histogram.comp`: counts all Gaussians into 64 bins by opacity, scale (each axis), length of the quaternion
//! and distance from the origin. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `Counters`.
    pub counters: Span,
    /// Binding 1, `float[]`.
    pub geometry: Span,
    /// Binding 2, `uint[]`.
    pub histogram: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("counters"),
        Binding::read("geometry"),
        Binding::read_write("histogram"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.counters, self.geometry, self.histogram]
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

/// `histogram.spv`.
pub static KERNEL: Kernel<Bind, Push> =
    Kernel::new("histogram", include_bytes!("../../../../shaders/spv/histogram.spv"));

/// 2 bins an octave from 2^-20.
pub const SCALE_SHIFT: u32 = 22;
/// 8 bins an octave from 2^-4.
pub const ROTATION_SHIFT: u32 = 20;
/// 4 bins an octave from 2^-6.
pub const DISTANCE_SHIFT: u32 = 21;
