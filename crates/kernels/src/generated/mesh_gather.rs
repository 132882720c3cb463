//! `shaders/mesh_gather.comp`: adds to points on a mesh the colours that a photo shows of them. Made by `cargo xtask
//! shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `MeshView`.
    pub view: Span,
    /// Binding 1, `vec4[]`; position; code of the normal.
    pub points: Span,
    /// Binding 2, `uint[]`; bits of inverse depths.
    pub depths: Span,
    /// Binding 3, `uint[]`; RGB, a byte each; the mask.
    pub photo: Span,
    /// Binding 4, `vec4[]`; colours by weights; weights.
    pub sums: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("view"),
        Binding::read("points"),
        Binding::read("depths"),
        Binding::read("photo"),
        Binding::read_write("sums"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![self.view, self.points, self.depths, self.photo, self.sums]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0; points.
    pub count: u32,
}

/// `mesh_gather.spv`.
pub static KERNEL: Kernel<Bind, Push> =
    Kernel::new("mesh_gather", include_bytes!("../../../../shaders/spv/mesh_gather.spv"));
