//! Sorts the model by place, so that groups of 256 Gaussians are near each other: a re-sort along a Morton curve.
//!
//! | pass | over | does |
//! |---|---|---|
//! | `morton_begin` | one group | group counts |
//! | `morton_keys` | chunk | codes of the centres |
//! | `sort_*` | all | ids by code, those of equal codes in the order they had |
//! | `morton_places` | all | where each Gaussian goes |
//! | `reorder.take` | chunk | a few planes to their places in staging rows |
//! | `reorder.put` | chunk | rows to planes; these two again until all planes have moved |
//!
//! A binding reaches one chunk only. Taking from the chunk that a Gaussian is in, and putting into the chunk that a place is
//! in, each pass needs one of them, whatever number there is. Statistics do not move: re-sorts follow events that cleared
//! them for everyone. No two Gaussians share a word, so in every storage mode the bits of each stay what they were.

use super::counters::{Args, WORD_GAUSSIANS};
use super::densify::window;
use super::generated::{morton_begin, morton_keys, morton_places, reorder};
use super::move_rows::{Planes, rounds};
use super::radix_sort::{self, SortBuffers, SortJob, sort_block};
use super::views::{Chunk, Shared, Variants};
use kiln_gaussians::layout::StatePlanes;
use kiln_gaussians::morton::CODE_BITS;
pub use kiln_gaussians::morton::Frame;
use kiln_program::{Groups, Program, Span};

/// Slot of the indirect table that the sort's groups are counted in; a step's tile sort writes its own there.
pub const SORT_ARGS: Args = Args::IntersectionSort;
/// Planes that move at a time: 16 bytes a Gaussian.
pub const ROWS: u32 = 4;

/// What a re-sort needs besides the model.
#[derive(Clone, Copy, Debug)]
pub struct Workspace {
    /// Codes and ids, a word a Gaussian each. Places take the room of the codes once they are sorted.
    pub sort: SortBuffers,
    /// Rows of one plane each.
    pub staging: Span,
    /// Gaussians a row has room for: the capacity, a multiple of 64, so that every row starts where a binding may.
    pub row: u32,
    /// Rows there are, 1 to [`ROWS`].
    pub rows: u32,
}

/// Appends a whole re-sort. The group counts of chunks must be those of the Gaussians there are, or zero.
pub fn record(
    program: &mut Program,
    shared: &Shared,
    chunks: &[Chunk],
    w: &Workspace,
    frame: &Frame,
    variants: &Variants,
) {
    let (_, places) = record_places(program, shared, chunks, &w.sort, w.row, frame, variants);
    move_all(program, shared, chunks, w, places);
}

/// Appends what finds the order of the Gaussians along the curve, of at most `capacity`: ids by place, and places by id.
pub(super) fn record_places(
    program: &mut Program,
    shared: &Shared,
    chunks: &[Chunk],
    sort: &SortBuffers,
    capacity: u32,
    frame: &Frame,
    variants: &Variants,
) -> (Span, Span) {
    let block = sort_block(SORT_ARGS, variants);
    program.pass(
        &morton_begin::KERNEL,
        (),
        morton_begin::Bind {
            counters: shared.counters,
            args: shared.args,
        },
        morton_begin::Push { sort_block: block },
        Groups::Direct([1, 1, 1]),
    );
    let [center_x, center_y, center_z] = frame.center;
    for chunk in chunks {
        let push = morton_keys::Push {
            stride: chunk.stride,
            first: chunk.first,
            center_x,
            center_y,
            center_z,
            inverse_extent: frame.inverse_extent,
        };
        program.pass(
            &morton_keys::KERNEL,
            (),
            morton_keys::Bind {
                counters: shared.counters,
                geometry: chunk.geometry,
                keys: window(sort.keys[0], chunk),
            },
            push,
            shared.groups(Args::Chunk(chunk.index)),
        );
    }
    let job = SortJob {
        counter: WORD_GAUSSIANS,
        args: SORT_ARGS,
        capacity,
        key_bits: CODE_BITS,
        index_payload: true,
    };
    let sorted = radix_sort::record(program, shared, sort, &job, variants);
    let (order, places) = (sort.values[sorted], sort.keys[1 - sorted]);
    program.pass(
        &morton_places::KERNEL,
        (),
        morton_places::Bind {
            counters: shared.counters,
            order,
            places,
        },
        (),
        shared.groups(Args::Gaussians),
    );
    (order, places)
}

/// Every attribute that follows a Gaussian, with its number of planes.
fn attributes(planes: StatePlanes) -> [Planes; 7] {
    [
        (|c| c.geometry, planes.geometry),
        (|c| c.sh, planes.sh),
        (|c| c.filter_3d, 1),
        (|c| c.geometry_m, planes.geometry_m),
        (|c| c.geometry_v, planes.geometry_v),
        (|c| c.sh_m, planes.sh_m),
        (|c| c.sh_v, planes.sh_v),
    ]
}

fn move_all(program: &mut Program, shared: &Shared, chunks: &[Chunk], w: &Workspace, places: Span) {
    let Some(first) = chunks.first() else { return };
    let attributes = attributes(first.planes);
    let planes = attributes.map(|(_, planes)| planes);
    let row_bytes = 4 * u64::from(w.row);
    for round in rounds(&planes, w.rows) {
        for put in [false, true] {
            for chunk in chunks {
                for piece in &round {
                    let Some((pick, _)) = attributes.get(piece.attribute) else {
                        continue;
                    };
                    let first_byte = u64::from(piece.row) * row_bytes;
                    let staging = w.staging.slice(first_byte, u64::from(piece.planes) * row_bytes);
                    let push = reorder::Push {
                        stride: chunk.stride,
                        first: chunk.first,
                        first_plane: piece.first_plane,
                        planes: piece.planes,
                        row: w.row,
                    };
                    let groups = shared.groups(Args::Chunk(chunk.index));
                    if put {
                        program.pass(
                            &reorder::PUT,
                            (),
                            reorder::PutBind {
                                counters: shared.counters,
                                staging,
                                values: pick(chunk),
                            },
                            push,
                            groups,
                        );
                    } else {
                        program.pass(
                            &reorder::TAKE,
                            (),
                            reorder::TakeBind {
                                counters: shared.counters,
                                places: window(places, chunk),
                                values: pick(chunk),
                                staging,
                            },
                            push,
                            groups,
                        );
                    }
                }
            }
        }
    }
}
