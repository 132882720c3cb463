//! `shaders/plane_gather.comp`: what `plane_loss` wants of each pixel's blended plane (N, D): of N directly, and of the
//! depth z = D / (-N . r) through the normals of the depth map. Made by `cargo xtask shaders`.

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
    /// Binding 3, `vec4[]`.
    pub depth_map: Span,
    /// Binding 4, `vec4[]`.
    pub normal_gradient: Span,
    /// Binding 5, `vec4[]`; by N; by D.
    pub surface_gradient: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("surface_plane"),
        Binding::read("depth_map"),
        Binding::read("normal_gradient"),
        Binding::write("surface_gradient"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.surface_plane,
            self.depth_map,
            self.normal_gradient,
            self.surface_gradient,
        ]
    }
}

/// What [`PLAIN`] binds.
#[derive(Clone, Copy, Debug)]
pub struct PlainBind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `vec4[]`; by N; by z.
    pub surface_gradient: Span,
    /// Binding 3, `vec4[]`.
    pub depth_map: Span,
    /// Binding 4, `vec4[]`.
    pub normal_gradient: Span,
}

impl Bindings for PlainBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read_write("surface_gradient"),
        Binding::read("depth_map"),
        Binding::read("normal_gradient"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.surface_gradient,
            self.depth_map,
            self.normal_gradient,
        ]
    }
}

/// `plane_gather.spv`.
pub static KERNEL: Kernel<Bind> = Kernel::new(
    "plane_gather",
    include_bytes!("../../../../shaders/spv/plane_gather.spv"),
);

/// `plane_gather.plain.spv`, made with `PLAIN=1`.
pub static PLAIN: Kernel<PlainBind> = Kernel::new(
    "plane_gather.plain",
    include_bytes!("../../../../shaders/spv/plane_gather.plain.spv"),
);
