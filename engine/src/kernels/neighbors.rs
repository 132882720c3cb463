//! The nearest neighbours of every Gaussian, exactly: a tree of boxes over the centres in Morton order, and a search in it.
//!
//! | pass | over | does |
//! |---|---|---|
//! | `morton_*`, `sort_*` | all | ids by place, places by id, as for a re-sort |
//! | `neighbor_take` | chunk | centres to their places |
//! | `neighbor_boxes` | 32 centres, then 32 boxes | boxes, with the lowest id in each |
//! | `neighbor_search` | part | ids of the K nearest, itself among them |
//!
//! The model stays where it is. Centres that are not finite are at no distance from each other and infinitely far from all
//! else. A stalled run changes nothing.

use super::counters::Args;
use super::densify::window;
use super::generated::common::BOX_WIDTH;
use super::generated::{neighbor_boxes, neighbor_search, neighbor_take};
use super::morton::{Frame, record_places};
use super::radix_sort::SortBuffers;
use super::views::{Chunk, Shared, Variants};
use crate::program::{Groups, Program, Span};

/// Most neighbours of each.
pub const MOST_NEIGHBORS: u32 = 32;
/// Most Gaussians: the levels of boxes that the search knows, and a binding of 128 MiB with a word each.
pub const MOST_GAUSSIANS: u32 = 1 << 25;
/// What stands for no neighbour where there are fewer Gaussians than neighbours wanted.
pub const NONE: u32 = u32::MAX;
/// Bytes of a box.
const BOX_BYTES: u64 = 32;
/// Boxes between which levels begin, so that each may be bound.
const LEVEL_ALIGNMENT: u32 = 8;
const LEVELS: usize = 4;

/// What a search needs besides the model.
#[derive(Clone, Copy, Debug)]
pub struct Workspace {
    /// A word a Gaussian each.
    pub sort: SortBuffers,
    /// x, y and z in Morton order, a word a Gaussian each.
    pub centers: [Span; 3],
    /// [`box_bytes`] bytes.
    pub boxes: Span,
    /// Gaussians there is room for, at most [`MOST_GAUSSIANS`].
    pub capacity: u32,
}

/// Room for the neighbours of some consecutive Gaussians.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Id of the first, a multiple of 64.
    pub first: u32,
    /// How many there can be.
    pub count: u32,
    /// `k` ids each, the nearest first; [`NONE`] behind the last of fewer.
    pub neighbors: Span,
}

/// What a search finds.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// Room for all Gaussians, in order.
    pub parts: &'a [Part],
    /// Neighbours of each, 1 to [`MOST_NEIGHBORS`].
    pub k: u32,
}

/// Boxes of each level over so many centres, from the lowest up to the last that has more than one.
fn levels(capacity: u32) -> Vec<u32> {
    let next = |boxes: &u32| Some(boxes.div_ceil(BOX_WIDTH));
    let lowest = capacity.div_ceil(BOX_WIDTH).max(1);
    let above = std::iter::successors(Some(lowest), next).skip(1);
    let above = above.take_while(|&boxes| boxes > 1);
    std::iter::once(lowest).chain(above).collect()
}

/// First box of each level.
fn level_starts(levels: &[u32]) -> Vec<u32> {
    let starts = levels.iter().scan(0, |start, boxes: &u32| {
        let first = *start;
        *start += boxes.next_multiple_of(LEVEL_ALIGNMENT);
        Some(first)
    });
    starts.collect()
}

/// Bytes of the boxes over so many centres.
#[must_use]
pub fn box_bytes(capacity: u32) -> u64 {
    let levels = levels(capacity).into_iter();
    let boxes = levels.map(|boxes| u64::from(boxes.next_multiple_of(LEVEL_ALIGNMENT)));
    boxes.sum::<u64>() * BOX_BYTES
}

/// Appends the whole search. The group counts of chunks must be those of the
/// Gaussians there are, or zero.
pub fn record(
    program: &mut Program,
    shared: &Shared,
    chunks: &[Chunk],
    w: &Workspace,
    found: &Found<'_>,
    frame: &Frame,
    variants: &Variants,
) {
    let (order, places) = record_places(program, shared, chunks, &w.sort, w.capacity, frame, variants);
    let [centers_x, centers_y, centers_z] = w.centers;
    for chunk in chunks {
        program.pass(
            &neighbor_take::KERNEL,
            (),
            neighbor_take::Bind {
                counters: shared.counters,
                places: window(places, chunk),
                geometry: chunk.geometry,
                centers_x,
                centers_y,
                centers_z,
            },
            neighbor_take::Push {
                stride: chunk.stride,
                first: chunk.first,
            },
            shared.groups(Args::Chunk(chunk.index)),
        );
    }
    record_boxes(program, shared, order, w);
    record_search(program, shared, (order, places), w, found);
}

/// Appends the boxes over centres at their places, level by level.
fn record_boxes(program: &mut Program, shared: &Shared, order: Span, w: &Workspace) {
    let [centers_x, centers_y, centers_z] = w.centers;
    let levels = levels(w.capacity);
    let starts = level_starts(&levels);
    let slice = |level: usize| {
        let bytes = |boxes: u32| u64::from(boxes) * BOX_BYTES;
        w.boxes.slice(bytes(starts[level]), bytes(levels[level]))
    };
    for (level, &boxes) in levels.iter().enumerate() {
        let push = neighbor_boxes::Push { level: level as u32 };
        let groups = Groups::cover(boxes, 64);
        match level.checked_sub(1) {
            None => program.pass(
                &neighbor_boxes::KERNEL,
                (),
                neighbor_boxes::Bind {
                    counters: shared.counters,
                    centers_x,
                    centers_y,
                    centers_z,
                    order,
                    boxes: slice(level),
                },
                push,
                groups,
            ),
            Some(below) => program.pass(
                &neighbor_boxes::UPPER,
                (),
                neighbor_boxes::UpperBind {
                    counters: shared.counters,
                    lower: slice(below),
                    boxes: slice(level),
                },
                push,
                groups,
            ),
        }
    }
}

/// Appends the search in the boxes.
fn record_search(
    program: &mut Program,
    shared: &Shared,
    (order, places): (Span, Span),
    w: &Workspace,
    found: &Found<'_>,
) {
    let [centers_x, centers_y, centers_z] = w.centers;
    let levels = levels(w.capacity);
    let [level_0, level_1, level_2, level_3] = first_boxes(&level_starts(&levels));
    for part in found.parts {
        program.pass(
            &neighbor_search::KERNEL,
            neighbor_search::Spec { k: found.k },
            neighbor_search::Bind {
                counters: shared.counters,
                centers_x,
                centers_y,
                centers_z,
                order,
                places: places.slice(4 * u64::from(part.first), 4 * u64::from(part.count)),
                boxes: w.boxes,
                neighbors: part.neighbors,
            },
            neighbor_search::Push {
                first: part.first,
                count: part.count,
                level_0,
                level_1,
                level_2,
                level_3,
                levels: levels.len() as u32,
            },
            Groups::cover(part.count, 64),
        );
    }
}

/// The same with 0 for levels that there are not.
fn first_boxes(starts: &[u32]) -> [u32; LEVELS] {
    std::array::from_fn(|level| starts.get(level).copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_end_where_one_parent_has_all() {
        for (capacity, wanted) in [
            (0, vec![1]),
            (1, vec![1]),
            (32, vec![1]),
            (33, vec![2]),
            (1024, vec![32]),
            (1025, vec![33, 2]),
            (6_000_000, vec![187_500, 5860, 184, 6]),
            (MOST_GAUSSIANS, vec![1 << 20, 1 << 15, 1 << 10, 32]),
        ] {
            assert_eq!(levels(capacity), wanted, "{capacity}");
            assert!(wanted.len() <= LEVELS);
            assert!(level_starts(&wanted).iter().all(|start| start % LEVEL_ALIGNMENT == 0));
        }
        // A byte a Gaussian, and little more.
        assert!(box_bytes(6_000_000) < 6_400_000 && box_bytes(1) == 256);
    }
}
