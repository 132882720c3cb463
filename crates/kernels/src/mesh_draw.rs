//! Drawing of triangles into samples, by two passes over them: the nearest depth of each sample, then the lowest triangle
//! that has it. Pictures are exact functions of the mesh.

use super::generated::{common, mesh_draw};
use kiln_program::{Groups, Program, Span, fold_groups};
use kiln_scene::Camera;

pub use common::MeshView;

/// Groups that walk a list of large triangles, and groups over the rows of each.
const LARGE_GROUPS: [u32; 3] = [512, 8, 1];

/// What a sample holds that shows nothing, of inverse depths and of triangles.
pub const NOTHING: [u32; 2] = [0, u32::MAX];

/// Share of its size by which a depth may be off when a photo is asked whether it sees a point.
const SLACK: f32 = 1e-3;

/// A part of a mesh that one binding of each kind reaches.
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    /// Position bits and colour, 16 bytes a vertex.
    pub vertices: Span,
    /// Three vertices of the chunk, 12 bytes a triangle.
    pub triangles: Span,
    /// Texture coordinates of three corners, 24 bytes a triangle; any tensor where there are none.
    pub uvs: Span,
    /// Number of its first triangle.
    pub first: u32,
    /// Triangles.
    pub count: u32,
}

/// Samples of a strip, and what drawing them takes.
#[derive(Clone, Copy, Debug)]
pub struct Samples {
    /// The [`MeshView`].
    pub view: Span,
    /// Bits of inverse depths, a word a sample; larger is nearer.
    pub depths: Span,
    /// Triangles, a word a sample.
    pub ids: Span,
    /// Their number and the large triangles of a chunk, a word each.
    pub large: Span,
}

impl MeshView {
    /// Rows `first_row..first_row + rows` of a camera's picture with `samples` times `samples` samples a pixel, over
    /// `background`.
    #[must_use]
    pub fn strip(camera: &Camera, samples: u32, [first_row, rows]: [u32; 2], background: [f32; 3]) -> Self {
        let (r, t) = (&camera.rotation, &camera.translation);
        let row = |i: usize| [r[i][0], r[i][1], r[i][2], t[i]];
        let [red, green, blue] = background;
        let step = |focal: f32| 1.0 / (focal * samples as f32);
        Self {
            row0: row(0),
            row1: row(1),
            row2: row(2),
            rays: [
                step(camera.fx),
                step(camera.fy),
                -camera.cx / camera.fx,
                -camera.cy / camera.fy,
            ],
            background: [red, green, blue, SLACK],
            width: camera.width_px,
            height: camera.height_px,
            samples,
            first_row,
            rows,
            texture_side: 0,
            masked: 0,
            reserved: 0,
        }
    }
}

/// Appends what finds the nearest inverse depth of every sample.
pub fn record_depths(program: &mut Program, chunks: &[Chunk], samples: &Samples) {
    program.fill(samples.depths, NOTHING[0]);
    record(program, chunks, samples, false);
}

/// Appends what finds the triangle of every sample, after [`record_depths`].
pub fn record_triangles(program: &mut Program, chunks: &[Chunk], samples: &Samples) {
    program.fill(samples.ids, NOTHING[1]);
    record(program, chunks, samples, true);
}

fn record(program: &mut Program, chunks: &[Chunk], samples: &Samples, naming: bool) {
    for chunk in chunks.iter().filter(|chunk| chunk.count > 0) {
        let push = mesh_draw::Push {
            first: chunk.first,
            count: chunk.count,
            naming: u32::from(naming),
        };
        let Samples {
            view,
            depths,
            ids,
            large,
        } = *samples;
        let Chunk {
            vertices, triangles, ..
        } = *chunk;
        program.fill(large.slice(0, 4), 0);
        program.pass(
            &mesh_draw::KERNEL,
            (),
            mesh_draw::Bind {
                view,
                vertices,
                triangles,
                large,
                depths,
                ids,
            },
            push,
            Groups::Direct(fold_groups(chunk.count.div_ceil(64))),
        );
        program.pass(
            &mesh_draw::LARGE,
            (),
            mesh_draw::LargeBind {
                view,
                vertices,
                triangles,
                large,
                depths,
                ids,
            },
            push,
            Groups::Direct(LARGE_GROUPS),
        );
    }
}
