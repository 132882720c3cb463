//! `shaders/vertex_colors.comp`: adds the colours that a view shows of vertices: those it sees, by the cosine of the
//! angle at which it sees them over their squared depth. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `vec4[]`.
    pub image: Span,
    /// Binding 2, `vec4[]`.
    pub depth_map: Span,
    /// Binding 3, `float[]`; x, y, z.
    pub vertices: Span,
    /// Binding 4, `vec4[]`; color times weight; weight.
    pub color_sums: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("image"),
        Binding::read("depth_map"),
        Binding::read("vertices"),
        Binding::read_write("color_sums"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.uniforms,
            self.image,
            self.depth_map,
            self.vertices,
            self.color_sums,
        ]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0; lower corner of the box, or centre of the ball, world units.
    pub origin_x: f32,
    /// Word 1.
    pub origin_y: f32,
    /// Word 2.
    pub origin_z: f32,
    /// Word 3; side of a voxel, in contracted space of one in the ball, world units.
    pub voxel: f32,
    /// Word 4; radius of the ball, world units; 0 = bounded.
    pub radius: f32,
    /// Word 5; voxels.
    pub truncation: f32,
    /// Word 6; vertices.
    pub count: u32,
}

/// `vertex_colors.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "vertex_colors",
    include_bytes!("../../../../shaders/spv/vertex_colors.spv"),
);
