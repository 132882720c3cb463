//! `shaders/fusion_touch.comp`: marks the bricks near the surface that a view sees: those that the pixels' rays pass
//! within the truncation before and behind their depths, and two voxels around. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `StepUniforms`.
    pub uniforms: Span,
    /// Binding 1, `vec4[]`.
    pub depth_map: Span,
    /// Binding 2, `uint[]`.
    pub brick_bits: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("uniforms"),
        Binding::read("depth_map"),
        Binding::read_write("brick_bits"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.uniforms, self.depth_map, self.brick_bits]
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
    /// Word 6; bricks of the space along x, y and z.
    pub bricks_x: u32,
    /// Word 7.
    pub bricks_y: u32,
    /// Word 8.
    pub bricks_z: u32,
}

/// `fusion_touch.spv`.
pub static KERNEL: Kernel<Bind, Push> = Kernel::new(
    "fusion_touch",
    include_bytes!("../../../../shaders/spv/fusion_touch.spv"),
);
