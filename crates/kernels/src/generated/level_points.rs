//! `shaders/level_points.comp`: where the rays of candidate pixels meet a level of the density of Gaussians, and the
//! outward normal there (SuGaR, Guedon and Lepetit 2024, sec. 4.2). Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `uint[]`.
    pub hits: Span,
    /// Binding 3, `uint[]`; of this part's Gaussians.
    pub neighbors: Span,
    /// Binding 4, `vec4[]`.
    pub centers: Span,
    /// Binding 5, `vec4[]`.
    pub rotations: Span,
    /// Binding 6, `vec4[]`.
    pub inverses: Span,
    /// Binding 7, `float[]`; place, normal; normal 0 = none.
    pub points: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("hits"),
        Binding::read("neighbors"),
        Binding::read("centers"),
        Binding::read("rotations"),
        Binding::read("inverses"),
        Binding::write("points"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.hits,
            self.neighbors,
            self.centers,
            self.rotations,
            self.inverses,
            self.points,
        ]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub candidates: u32,
    /// Word 1; of this batch.
    pub first_candidate: u32,
    /// Word 2; candidates that there is room for.
    pub batch: u32,
    /// Word 3; id of the part's first Gaussian.
    pub first: u32,
    /// Word 4; Gaussians of the part.
    pub count: u32,
    /// Word 5.
    pub level: f32,
    /// Word 6; depths beyond it are none, world units.
    pub far: f32,
}

/// `level_points.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "level_points",
    include_bytes!("../../../../shaders/spv/level_points.spv"),
);

/// Neighbours that make the density.
pub const NEAR: u32 = 16;
