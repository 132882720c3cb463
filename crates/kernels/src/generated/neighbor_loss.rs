//! `shaders/neighbor_loss.comp`: consistency with a neighbouring view (Chen et al. 2024, sec. 3.3). Made by `cargo
//! xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `StepUniforms`.
    pub neighbor: Span,
    /// Binding 3, `vec4[]`.
    pub depth_map: Span,
    /// Binding 4, `vec2[]`.
    pub neighbor_map: Span,
    /// Binding 5, `vec2[]`; w, 0 = not consistent; w de/dz.
    pub pair_pixels: Span,
    /// Binding 6, `vec2[]`; sum; count.
    pub pair_sums: Span,
    /// Binding 7, `uint[]`.
    pub target: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("counters"),
        Binding::read("neighbor"),
        Binding::read("depth_map"),
        Binding::read("neighbor_map"),
        Binding::write("pair_pixels"),
        Binding::write("pair_sums"),
        Binding::read("target"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.counters,
            self.neighbor,
            self.depth_map,
            self.neighbor_map,
            self.pair_pixels,
            self.pair_sums,
            self.target,
        ]
    }
}

/// What [`REDUCE`] binds.
#[derive(Clone, Copy, Debug)]
pub struct ReduceBind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `Counters`.
    pub counters: Span,
    /// Binding 2, `vec2[]`.
    pub pair_sums: Span,
    /// Binding 3, `vec4[]`; weights over counts; means.
    pub pair_means: Span,
}

impl Bindings for ReduceBind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read_write("counters"),
        Binding::read("pair_sums"),
        Binding::write("pair_means"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.uniforms, self.counters, self.pair_sums, self.pair_means]
    }
}

/// Push constants of [`REDUCE`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0; weight of the geometric term.
    pub geometry: f32,
    /// Word 1; weight of the photometric term.
    pub photometric: f32,
}

/// Specialisation constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Spec {
    /// Constant 0; 1: photos carry masks.
    pub masked: u32,
}

/// `neighbor_loss.spv`.
pub static KERNEL: Kernel<Bind, (), Spec> = Kernel::new(
    "neighbor_loss",
    include_bytes!("../../../../shaders/spv/neighbor_loss.spv"),
);

/// `neighbor_loss.reduce.spv`, made with `REDUCE=1`.
pub static REDUCE: Kernel<ReduceBind, Push> = Kernel::new(
    "neighbor_loss.reduce",
    include_bytes!("../../../../shaders/spv/neighbor_loss.reduce.spv"),
);
