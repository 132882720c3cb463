//! `shaders/density_terms.comp`: what SuGaR's terms are at each sample and want of it (Guedon and Lepetit 2024, sec.
//! 4.1). Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `uint[]`.
    pub owners: Span,
    /// Binding 3, `uint[]`; of this part's Gaussians.
    pub neighbors: Span,
    /// Binding 4, `vec4[]`.
    pub centers: Span,
    /// Binding 5, `vec4[]`.
    pub rotations: Span,
    /// Binding 6, `vec4[]`.
    pub inverses: Span,
    /// Binding 7, `vec4[]`; p; gradient by d.
    pub sample_place: Span,
    /// Binding 8, `vec4[]`; gradient by p; by a least deviation of a neighbour.
    pub sample_pull: Span,
    /// Binding 9, `vec4[]`; gradient by n_g; 1 / sum of weights.
    pub sample_normal: Span,
    /// Binding 10, `vec4[]`; gradient by the log of the own least deviation; terms; 1 where there is a sample.
    pub sample_value: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("owners"),
        Binding::read("neighbors"),
        Binding::read("centers"),
        Binding::read("rotations"),
        Binding::read("inverses"),
        Binding::write("sample_place"),
        Binding::write("sample_pull"),
        Binding::write("sample_normal"),
        Binding::write("sample_value"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.owners,
            self.neighbors,
            self.centers,
            self.rotations,
            self.inverses,
            self.sample_place,
            self.sample_pull,
            self.sample_normal,
            self.sample_value,
        ]
    }
}

/// What [`SDF`] binds.
#[derive(Clone, Copy, Debug)]
pub struct SdfBind {
    /// The first 11.
    pub base: Bind,
    /// Binding 11, `vec2[]`.
    pub surface_depth: Span,
    /// Binding 12, `vec4[]`.
    pub image: Span,
    /// Binding 13, `uint[]`.
    pub farthest: Span,
}

impl Bindings for SdfBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("owners"),
        Binding::read("neighbors"),
        Binding::read("centers"),
        Binding::read("rotations"),
        Binding::read("inverses"),
        Binding::write("sample_place"),
        Binding::write("sample_pull"),
        Binding::write("sample_normal"),
        Binding::write("sample_value"),
        Binding::read("surface_depth"),
        Binding::read("image"),
        Binding::read("farthest"),
    ];

    fn views(&self) -> Vec<Span> {
        let mut views = self.base.views();
        views.extend([self.surface_depth, self.image, self.farthest]);
        views
    }
}

/// Push constants of [`KERNEL`] and [`SDF`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0.
    pub samples: u32,
    /// Word 1; id of the part's first Gaussian.
    pub first: u32,
    /// Word 2; Gaussians of the part.
    pub count: u32,
    /// Word 3; neighbours of each.
    pub k: u32,
    /// Word 4.
    pub weight: f32,
    /// Word 5.
    pub normal_weight: f32,
    /// Word 6; of the scene, world units.
    pub extent: f32,
}

/// `density_terms.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "density_terms",
    include_bytes!("../../../../shaders/spv/density_terms.spv"),
);

/// `density_terms.sdf.spv`, made with `SDF=1`.
pub static SDF: Kernel<SdfBind, Push> = Kernel::new(
    "density_terms.sdf",
    include_bytes!("../../../../shaders/spv/density_terms.sdf.spv"),
);

/// And the next two.
pub const CHANNEL_SAMPLE: u32 = 13;
