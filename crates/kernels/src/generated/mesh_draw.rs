//! `shaders/mesh_draw.comp`: draws triangles into samples: first the largest inverse depth of each, then the lowest
//! triangle that has it. Made by `cargo xtask shaders`.

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
    /// Binding 3, `uint[]`; their number, then they.
    pub large: Span,
    /// Binding 4, `uint[]`; bits of inverse depths.
    pub depths: Span,
    /// Binding 5, `uint[]`.
    pub ids: Span,
}

impl Bindings for Bind {
    const LIST: &'static [Binding] = &[
        Binding::read("view"),
        Binding::read("vertices"),
        Binding::read("triangles"),
        Binding::read_write("large"),
        Binding::read_write("depths"),
        Binding::read_write("ids"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.view,
            self.vertices,
            self.triangles,
            self.large,
            self.depths,
            self.ids,
        ]
    }
}

/// What [`LARGE`] binds.
#[derive(Clone, Copy, Debug)]
pub struct LargeBind {
    /// Binding 0, `MeshView`.
    pub view: Span,
    /// Binding 1, `uvec4[]`; position bits, colour.
    pub vertices: Span,
    /// Binding 2, `uint[]`; three vertices each.
    pub triangles: Span,
    /// Binding 3, `uint[]`; their number, then they.
    pub large: Span,
    /// Binding 4, `uint[]`; bits of inverse depths.
    pub depths: Span,
    /// Binding 5, `uint[]`.
    pub ids: Span,
}

impl Bindings for LargeBind {
    const LIST: &'static [Binding] = &[
        Binding::read("view"),
        Binding::read("vertices"),
        Binding::read("triangles"),
        Binding::read("large"),
        Binding::read_write("depths"),
        Binding::read_write("ids"),
    ];

    fn views(&self) -> Vec<Span> {
        vec![
            self.view,
            self.vertices,
            self.triangles,
            self.large,
            self.depths,
            self.ids,
        ]
    }
}

/// Push constants of [`KERNEL`] and [`LARGE`].
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Push {
    /// Word 0; number of the first triangle of the chunk.
    pub first: u32,
    /// Word 1; triangles of the chunk.
    pub count: u32,
    /// Word 2; 0: depths; 1: triangles.
    pub naming: u32,
}

/// `mesh_draw.spv`.
pub static KERNEL: Kernel<Bind, Push> =
    Kernel::new("mesh_draw", include_bytes!("../../../../shaders/spv/mesh_draw.spv"));

/// `mesh_draw.large.spv`, made with `LARGE=1`.
pub static LARGE: Kernel<LargeBind, Push> = Kernel::new(
    "mesh_draw.large",
    include_bytes!("../../../../shaders/spv/mesh_draw.large.spv"),
);
