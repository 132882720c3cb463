//! Copies Gaussians between slots of any chunks, plane by plane through staging rows.
//!
//! A binding reaches one chunk only, and source and target may lie in different ones. So a round gathers a few planes of
//! all listed Gaussians into rows, chunk by chunk, and then scatters the rows, chunk by chunk. The list lives on the
//! device; its length is the control block's.

use super::counters::Args;
use super::generated::move_rows;
use super::views::{Chunk, Shared};
use kiln_program::{Program, Span};

/// An attribute of a chunk and its number of planes.
pub type Planes = (fn(&Chunk) -> Span, u32);

/// The list of copies and the rows they go through.
#[derive(Clone, Copy, Debug)]
pub struct Relocation {
    /// Ids to copy from, [`Relocation::row`] words.
    pub from: Span,
    /// Ids to copy to, as many.
    pub to: Span,
    /// Rows of one plane each.
    pub staging: Span,
    /// Most entries of the list, a multiple of 64: every row then starts where a binding may.
    pub row: u32,
    /// Rows there are, at least 1.
    pub rows: u32,
}

/// Consecutive planes of one attribute and the staging row of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) attribute: usize,
    pub(super) first_plane: u32,
    pub(super) planes: u32,
    pub(super) row: u32,
}

/// Packs the planes of attributes into rounds of at most `rows` planes.
pub(super) fn rounds(planes: &[u32], rows: u32) -> Vec<Vec<Piece>> {
    let rows = rows.max(1);
    let mut rounds: Vec<Vec<Piece>> = Vec::new();
    let mut used = rows;
    for (attribute, &count) in planes.iter().enumerate() {
        let mut first_plane = 0;
        while first_plane < count {
            if used == rows {
                rounds.push(Vec::new());
                used = 0;
            }
            let planes = (count - first_plane).min(rows - used);
            if let Some(round) = rounds.last_mut() {
                round.push(Piece {
                    attribute,
                    first_plane,
                    planes,
                    row: used,
                });
            }
            used += planes;
            first_plane += planes;
        }
    }
    rounds
}

/// Appends the copy of all planes of `attributes` for every list entry. Targets must not be sources of later entries.
pub fn record(
    program: &mut Program,
    shared: &Shared,
    chunks: &[Chunk],
    control: Span,
    list: &Relocation,
    attributes: &[Planes],
) {
    for (pick, planes) in attributes {
        let has = |chunk: &Chunk| pick(chunk).bytes >= 4 * u64::from(chunk.stride) * u64::from(*planes);
        debug_assert!(chunks.iter().all(has), "an attribute has fewer than {planes} planes");
    }
    let planes: Vec<u32> = attributes.iter().map(|(_, planes)| *planes).collect();
    let row_bytes = 4 * u64::from(list.row);
    for round in rounds(&planes, list.rows) {
        for scatter in [false, true] {
            for chunk in chunks {
                for piece in &round {
                    let Some((pick, _)) = attributes.get(piece.attribute) else {
                        continue;
                    };
                    let staging = list
                        .staging
                        .slice(u64::from(piece.row) * row_bytes, u64::from(piece.planes) * row_bytes);
                    let push = move_rows::Push {
                        stride: chunk.stride,
                        first: chunk.first,
                        first_plane: piece.first_plane,
                        planes: piece.planes,
                        row: list.row,
                    };
                    let groups = shared.groups(Args::Moves);
                    if scatter {
                        program.pass(
                            &move_rows::SCATTER,
                            (),
                            move_rows::ScatterBind {
                                control,
                                ids: list.to,
                                staging,
                                values: pick(chunk),
                            },
                            push,
                            groups,
                        );
                    } else {
                        program.pass(
                            &move_rows::GATHER,
                            (),
                            move_rows::GatherBind {
                                control,
                                ids: list.from,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_cover_every_plane_once_within_the_rows() {
        for rows in [1, 2, 5, 11, 12, 60, 200] {
            let planes = [11, 48, 1, 11];
            let all = rounds(&planes, rows);
            let mut seen: Vec<Vec<u32>> = vec![Vec::new(); planes.len()];
            for round in &all {
                let mut next = 0;
                for piece in round {
                    assert_eq!(piece.row, next);
                    next += piece.planes;
                    seen[piece.attribute].extend(piece.first_plane..piece.first_plane + piece.planes);
                }
                assert!(next <= rows);
            }
            assert_eq!(all.len(), 71_usize.div_ceil(rows as usize));
            for (seen, count) in seen.iter().zip(planes) {
                assert_eq!(*seen, (0..count).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn nothing_to_copy_takes_no_round() {
        assert!(rounds(&[], 4).is_empty());
        assert_eq!(rounds(&[1], 0).len(), 1);
    }
}
