//! Whose neighbour each Gaussian is: the lists of [`super::neighbors`] turned round, in the order of ids.
//!
//! | pass | over | does |
//! |---|---|---|
//! | `neighbor_count` | neighbours | how long each list is |
//! | `neighbor_starts.clear`, `.blocks`, `.before`, plain | 2048 Gaussians; one group for `.before` | where each starts |
//! | `neighbor_count.fill` | neighbours | ids, in any order |
//! | `neighbor_rows` | chunk | the lists sorted, so that every run has the same bytes |

use super::counters::Args;
use super::generated::{neighbor_count, neighbor_rows, neighbor_starts};
use super::neighbors::Part;
use super::views::{Chunk, Shared};
use crate::program::{Groups, Program, Span};

/// Gaussians in a block of the prefix sum.
const BLOCK: u32 = 2048;

/// The lists, and what making them needs.
#[derive(Clone, Copy, Debug)]
pub struct NeighborOf {
    /// Where the list of each Gaussian starts, a word each and one more.
    pub starts: Span,
    /// The lists, `k` words a Gaussian in all.
    pub ids: Span,
    /// In passing: as many words as `starts`.
    pub cursors: Span,
    /// In passing: [`block_bytes`] bytes.
    pub block_sums: Span,
    /// Gaussians there is room for.
    pub capacity: u32,
}

/// Bytes of the sums of blocks.
#[must_use]
pub fn block_bytes(capacity: u32) -> u64 {
    4 * u64::from((capacity + 1).div_ceil(BLOCK))
}

/// Appends what makes the lists of `parts` with `k` neighbours each.
pub fn record(program: &mut Program, shared: &Shared, chunks: &[Chunk], parts: &[Part], k: u32, of: &NeighborOf) {
    let words = of.capacity + 1;
    let counters = shared.counters;
    let push = |part: &Part| neighbor_count::Push {
        first: part.first,
        count: part.count,
        k,
    };
    // No fill: a stalled run keeps its lists for the step that is done again.
    let bind = neighbor_starts::ClearBind {
        counters,
        starts: of.starts,
    };
    program.pass(
        &neighbor_starts::CLEAR,
        (),
        bind,
        neighbor_starts::Push { count: words },
        Groups::cover(words, BLOCK),
    );
    for part in parts {
        let bind = neighbor_count::Bind {
            counters,
            neighbors: part.neighbors,
            cursors: of.starts,
        };
        let groups = Groups::cover(part.count * k, 256);
        program.pass(&neighbor_count::KERNEL, (), bind, push(part), groups);
    }
    record_starts(program, shared, of);
    for part in parts {
        let bind = neighbor_count::FillBind {
            base: neighbor_count::Bind {
                counters,
                neighbors: part.neighbors,
                cursors: of.cursors,
            },
            neighbor_of: of.ids,
        };
        let groups = Groups::cover(part.count * k, 256);
        program.pass(&neighbor_count::FILL, (), bind, push(part), groups);
    }
    for chunk in chunks {
        let bind = neighbor_rows::Bind {
            counters,
            starts: of.starts,
            neighbor_of: of.ids,
        };
        let push = neighbor_rows::Push {
            stride: chunk.stride,
            first: chunk.first,
        };
        program.pass(
            &neighbor_rows::KERNEL,
            (),
            bind,
            push,
            shared.groups(Args::Chunk(chunk.index)),
        );
    }
}

/// Appends where each list starts, of how long each is.
fn record_starts(program: &mut Program, shared: &Shared, of: &NeighborOf) {
    let (words, counters) = (of.capacity + 1, shared.counters);
    let blocks = || Groups::cover(words, BLOCK);
    let bind = neighbor_starts::BlocksBind {
        counters,
        block_sums: of.block_sums,
        starts: of.starts,
    };
    program.pass(
        &neighbor_starts::BLOCKS,
        (),
        bind,
        neighbor_starts::Push { count: words },
        blocks(),
    );
    let bind = neighbor_starts::BeforeBind {
        counters,
        block_sums: of.block_sums,
    };
    let count = words.div_ceil(BLOCK);
    program.pass(
        &neighbor_starts::BEFORE,
        (),
        bind,
        neighbor_starts::Push { count },
        Groups::cover(1, 1),
    );
    let bind = neighbor_starts::Bind {
        counters,
        block_sums: of.block_sums,
        starts: of.starts,
        cursors: of.cursors,
    };
    program.pass(
        &neighbor_starts::KERNEL,
        (),
        bind,
        neighbor_starts::Push { count: words },
        blocks(),
    );
}
