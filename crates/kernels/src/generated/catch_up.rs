//! `shaders/catch_up.comp`: gives the spherical harmonics of every Gaussian of a chunk the optimiser steps that they
//! missed out of view, before others than `project` and `update` read them. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms, vec4[]`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `float[]`.
    pub sh: Span,
    /// Binding 3, `float[]`.
    pub sh_m: Span,
    /// Binding 4, `float[]`.
    pub sh_v: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read_write("sh"),
        Binding::read_write("sh_m"),
        Binding::read_write("sh_v"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.uniforms, self.counters, self.sh, self.sh_m, self.sh_v]
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
    pub sh_coefficients: u32,
    /// Word 3.
    pub seen_plane: u32,
}

/// `catch_up.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new("catch_up", include_bytes!("../../../../shaders/spv/catch_up.spv"));
