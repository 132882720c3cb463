//! Where the tiles of all visible Gaussians lie, when there are more of them than records: from it the host packs bands
//! whose visible Gaussians do have records.
//!
//! Runs per chunk after `cull` and projects again, because it must not need a record.

use super::counters::Args;
use super::generated::tile_survey;
use super::views::{Chunk, Shared};
use kiln_program::{Program, Span};

/// Planes of the survey: Gaussians that touch a tile, those whose first tile it is, those whose last.
pub const PLANES: u32 = 3;

/// Appends the clear and a pass per chunk. `tile_survey` has [`PLANES`] planes of `plane` words, one a tile.
pub fn record(program: &mut Program, shared: &Shared, chunks: &[Chunk], tile_survey: Span, plane: u32) {
    program.fill(tile_survey, 0);
    for chunk in chunks {
        let push = tile_survey::Push {
            stride: chunk.stride,
            first: chunk.first,
            plane,
        };
        program.pass(
            &tile_survey::KERNEL,
            tile_survey::Spec { lens: shared.lens },
            tile_survey::Bind {
                uniforms: shared.uniforms,
                counters: shared.counters,
                geometry: chunk.geometry,
                filter_3d: chunk.filter_3d,
                visible_mask: chunk.visible_mask,
                tile_survey,
            },
            push,
            shared.groups(Args::Chunk(chunk.index)),
        );
    }
}
