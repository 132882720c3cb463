//! `shaders/densify_children.comp`: turns the copies of split parents, and the parents themselves, into children:
//! samples of the parent, centre = mean + R (s * normal), log scale = ln s - ln divisor. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `DensifyControl`.
    pub control: Span,
    /// Binding 2, `uint[]`.
    pub from: Span,
    /// Binding 3, `uint[]`.
    pub to: Span,
    /// Binding 4, `float[]`.
    pub geometry: Span,
    /// Binding 5, `uint[]`.
    pub geometry_m: Span,
    /// Binding 6, `uint[]`.
    pub geometry_v: Span,
    /// Binding 7, `uint[]`.
    pub sh_m: Span,
    /// Binding 8, `uint[]`.
    pub sh_v: Span,
    /// Binding 9, `float[]`.
    pub statistics: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("control"),
        Binding::read("from"),
        Binding::read("to"),
        Binding::read_write("geometry"),
        Binding::write("geometry_m"),
        Binding::write("geometry_v"),
        Binding::write("sh_m"),
        Binding::write("sh_v"),
        Binding::write("statistics"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.control,
            self.from,
            self.to,
            self.geometry,
            self.geometry_m,
            self.geometry_v,
            self.sh_m,
            self.sh_v,
            self.statistics,
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
    pub log_divisor: f32,
    /// Word 3.
    pub geometry_m_planes: u32,
    /// Word 4.
    pub geometry_v_planes: u32,
    /// Word 5.
    pub sh_m_planes: u32,
    /// Word 6.
    pub sh_v_planes: u32,
}

/// `densify_children.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "densify_children",
    include_bytes!("../../../../shaders/spv/densify_children.spv"),
);
