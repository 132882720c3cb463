//! Gaussians on triangles: their centres and rotations from the vertices, and what pulls at them back to the vertices.
//!
//! | pass | a thread | |
//! |---|---|---|
//! | `unbind_triangles` | a triangle of a chunk | forces and torques of its Gaussians, and the term of normals, to its three corners |
//! | `unbind_vertices` | a vertex | gathers over its corners, Adam |
//! | `bind` | a Gaussian of a chunk | centre and rotation of the vertices as they are then |
//!
//! Forces and torques are what `bound` variants of [`super::update`] leave. Chunks hold whole triangles.

use super::counters::Args;
use super::generated::{bind, unbind_triangles, unbind_vertices};
use super::views::{Chunk, Shared};
use kiln_gaussians::bound::Binding;
use kiln_program::{Groups, Program, Span};

/// The mesh that Gaussians are bound to.
#[derive(Clone, Copy, Debug)]
pub struct MeshIo {
    /// Sizes.
    pub binding: Binding,
    /// Positions of the vertices, 12 bytes each.
    pub vertices: Span,
    /// Their first moments.
    pub vertices_m: Span,
    /// Their second moments.
    pub vertices_v: Span,
    /// Vertices of the triangles, 12 bytes each.
    pub triangles: Span,
    /// [`Adjacency::across`](kiln_mesh::adjacency::Adjacency::across), 12 bytes a triangle.
    pub across: Span,
    /// [`Adjacency::first_corner`](kiln_mesh::adjacency::Adjacency::first_corner), a word a vertex and one more.
    pub first_corner: Span,
    /// [`Adjacency::corners`](kiln_mesh::adjacency::Adjacency::corners), 12 bytes a triangle.
    pub corners: Span,
    /// Gradients by the first, second and third corner of each triangle, 12 bytes a triangle.
    pub gradients: [Span; 3],
}

/// Appends what brings the pulls at all Gaussians to the vertices, moves these, and binds the Gaussians to them again.
pub fn record(program: &mut Program, shared: &Shared, chunks: &[Chunk], mesh: &MeshIo) {
    let [gradient_a, gradient_b, gradient_c] = mesh.gradients;
    let Binding {
        per_triangle,
        triangles,
        vertices,
        ..
    } = mesh.binding;
    for chunk in chunks {
        let first_triangle = chunk.first / per_triangle;
        let count = (chunk.stride / per_triangle).min(triangles.saturating_sub(first_triangle));
        let bind = unbind_triangles::Bind {
            counters: shared.counters,
            vertices: mesh.vertices,
            triangles: mesh.triangles,
            across: mesh.across,
            pulls: chunk.statistics,
            gradient_a,
            gradient_b,
            gradient_c,
        };
        let push = unbind_triangles::Push {
            stride: chunk.stride,
            first_triangle,
            count,
            per_triangle,
            flatness: mesh.binding.flatness(),
        };
        program.pass(&unbind_triangles::KERNEL, (), bind, push, Groups::cover(count, 256));
    }
    let bind = unbind_vertices::Bind {
        uniforms: shared.uniforms,
        counters: shared.counters,
        first_corner: mesh.first_corner,
        corners: mesh.corners,
        gradient_a,
        gradient_b,
        gradient_c,
        vertices: mesh.vertices,
        vertices_m: mesh.vertices_m,
        vertices_v: mesh.vertices_v,
    };
    let push = unbind_vertices::Push { count: vertices };
    program.pass(&unbind_vertices::KERNEL, (), bind, push, Groups::cover(vertices, 256));
    record_bind(program, shared, chunks, mesh);
}

/// Appends one pass per chunk that puts Gaussians where the vertices are.
fn record_bind(program: &mut Program, shared: &Shared, chunks: &[Chunk], mesh: &MeshIo) {
    for chunk in chunks {
        let bind = bind::Bind {
            counters: shared.counters,
            vertices: mesh.vertices,
            triangles: mesh.triangles,
            geometry: chunk.geometry,
        };
        let push = bind::Push {
            stride: chunk.stride,
            first: chunk.first,
            per_triangle: mesh.binding.per_triangle,
        };
        program.pass(&bind::KERNEL, (), bind, push, shared.groups(Args::Chunk(chunk.index)));
    }
}
