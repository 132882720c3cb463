//! Colours of pixels from the triangles that their samples show: a box filter over each pixel.

use super::generated::mesh_shade;
use super::mesh_draw::{Chunk, Samples};
use kiln_program::{Groups, Program, Span, fold_groups};

/// What a surface looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Look {
    /// Colours of the vertices.
    Colors = mesh_shade::LOOK_COLORS,
    /// The texture.
    Texture = mesh_shade::LOOK_TEXTURE,
    /// Grey, lit from the camera: for meshes without colours.
    Plain = mesh_shade::LOOK_PLAIN,
}

/// Appends the passes that write a strip's rows of `image`, RGB and the share left free, for pictures whose strips have at
/// most `pixels` pixels. `texels` is the texture, RGBA of a byte each; any tensor where there is none.
pub fn record(
    program: &mut Program,
    chunks: &[Chunk],
    samples: &Samples,
    texels: Span,
    image: Span,
    look: Look,
    pixels: u32,
) {
    for (at, chunk) in chunks.iter().enumerate() {
        program.pass(
            &mesh_shade::KERNEL,
            (),
            mesh_shade::Bind {
                view: samples.view,
                vertices: chunk.vertices,
                triangles: chunk.triangles,
                uvs: chunk.uvs,
                texels,
                ids: samples.ids,
                image,
            },
            mesh_shade::Push {
                first: chunk.first,
                count: chunk.count,
                look: look as u32,
                is_first: u32::from(at == 0),
                is_last: u32::from(at + 1 == chunks.len()),
            },
            Groups::Direct(fold_groups(pixels.div_ceil(64).max(1))),
        );
    }
}
