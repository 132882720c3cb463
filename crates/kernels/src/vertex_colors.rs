//! Colours of a mesh's vertices from renders: the mean over the views that see them.

use super::fusion::Voxels;
use super::generated::vertex_colors;
use kiln_program::{Groups, Program, Span};

/// Vertices with what views say of them.
#[derive(Clone, Copy, Debug)]
pub struct Vertices {
    /// x, y, z of each, world units.
    pub positions: Span,
    /// Sums of colours by weight, and of weights; 16 bytes each.
    pub sums: Span,
    /// How many.
    pub count: u32,
}

/// Appends what adds a view's colours. `voxels` says how far from the view's depth a vertex may be to be seen.
pub fn record(
    program: &mut Program,
    uniforms: Span,
    image: Span,
    depth_map: Span,
    vertices: &Vertices,
    voxels: &Voxels,
) {
    let [origin_x, origin_y, origin_z] = voxels.origin;
    program.pass(
        &vertex_colors::KERNEL,
        (),
        vertex_colors::Bind {
            uniforms,
            image,
            depth_map,
            vertices: vertices.positions,
            color_sums: vertices.sums,
        },
        vertex_colors::Push {
            origin_x,
            origin_y,
            origin_z,
            voxel: voxels.voxel,
            radius: voxels.radius,
            truncation: voxels.truncation,
            count: vertices.count,
        },
        Groups::cover(vertices.count, 256),
    );
}
