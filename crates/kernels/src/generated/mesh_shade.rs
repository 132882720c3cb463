//! `shaders/mesh_shade.comp`: colours the pixels of a strip from the triangles that its samples show: the mean over a
//! pixel's samples. Made by `cargo xtask shaders`.

use kiln_program::{Binding, Bindings, Kernel, Span};

/// What [`KERNEL`] binds.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// Binding 0, `MeshView`.
    pub view: Span,
    /// Binding 1, `uvec4[]`; position bits, colour.
    pub vertices: Span,
    /// Binding 2, `uint[]`; three vertices each.
    pub triangles: Span,
    /// Binding 3, `vec2[]`; three each.
    pub uvs: Span,
    /// Binding 4, `uint[]`; RGBA, a byte each.
    pub texels: Span,
    /// Binding 5, `uint[]`.
    pub ids: Span,
    /// Binding 6, `vec4[]`.
    pub image: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("view"),
        Binding::read("vertices"),
        Binding::read("triangles"),
        Binding::read("uvs"),
        Binding::read("texels"),
        Binding::read("ids"),
        Binding::read_write("image"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.view,
            self.vertices,
            self.triangles,
            self.uvs,
            self.texels,
            self.ids,
            self.image,
        ]
    }
}

/// Push constants of [`KERNEL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0; number of the first triangle of the chunk.
    pub first: u32,
    /// Word 1; triangles of the chunk.
    pub count: u32,
    /// Word 2; one of `LOOK_*`.
    pub look: u32,
    /// Word 3; 1: the first chunk, nothing is in the picture yet.
    pub is_first: u32,
    /// Word 4; 1: the last one, the background follows.
    pub is_last: u32,
}

/// `mesh_shade.spv`.
pub static KERNEL: Kernel<Bind, Push> =
    Kernel::new("mesh_shade", include_bytes!("../../../../shaders/spv/mesh_shade.spv"));

/// Colours of the vertices.
pub const LOOK_COLORS: u32 = 0;
/// The texture.
pub const LOOK_TEXTURE: u32 = 1;
/// Grey, lit from the camera: for meshes without colours.
pub const LOOK_PLAIN: u32 = 2;
