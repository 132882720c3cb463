//! Where the tiles of all visible Gaussians lie, when there are more of them than records: from it the host packs bands
//! whose visible Gaussians do have records.
//!
//! Runs per chunk after `cull` and projects again, because it must not need a record.

use super::counters::Args;
use super::views::{Chunk, Shared};
use crate::program::{Program, Shader, View};
use crate::shader;

/// The shader.
pub static SHADER: Shader =
    shader!("survey", r uniforms, r counters, r geometry, r filter_3d, r visible_mask, rw tile_survey);

/// Planes of the survey: Gaussians that touch a tile, those whose first tile it is, those whose last.
pub const PLANES: u32 = 3;

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Push {
    stride: u32,
    first: u32,
    plane: u32,
}

/// Appends the clear and a pass per chunk. `tile_survey` has [`PLANES`] planes of `plane` words, one a tile.
pub fn record(program: &mut Program, shared: &Shared, chunks: &[Chunk], tile_survey: View, plane: u32) {
    program.fill(tile_survey, 0);
    for chunk in chunks {
        let views = [
            shared.uniforms,
            shared.counters,
            chunk.geometry,
            chunk.filter_3d,
            chunk.visible_mask,
            tile_survey,
        ];
        let push = Push {
            stride: chunk.stride,
            first: chunk.first,
            plane,
        };
        program.pass(&SHADER, &[], &views, &push, shared.groups(Args::Chunk(chunk.index)));
    }
}
