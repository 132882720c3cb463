//! `shaders/neighbor_gather.comp`: what consistency with a neighbouring view wants of each pixel's blended plane (N,
//! D): of its depth z = D / (-N . r), from `neighbor_loss`, and of the homography of its patch, from
//! `neighbor_patches`. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `vec4[]`.
    pub surface_plane: Span,
    /// Binding 3, `vec2[]`.
    pub pair_pixels: Span,
    /// Binding 4, `vec4[]`.
    pub pair_patches: Span,
    /// Binding 5, `vec4[]`.
    pub pair_means: Span,
    /// Binding 6, `vec4[]`; by N; by D.
    pub surface_gradient: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("surface_plane"),
        Binding::read("pair_pixels"),
        Binding::read("pair_patches"),
        Binding::read("pair_means"),
        Binding::read_write("surface_gradient"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.surface_plane,
            self.pair_pixels,
            self.pair_patches,
            self.pair_means,
            self.surface_gradient,
        ]
    }
}

/// `neighbor_gather.spv`.
pub static KERNEL: Kernel<Bind> = Kernel::new(
    "neighbor_gather",
    include_bytes!("../../../../shaders/spv/neighbor_gather.spv"),
);
