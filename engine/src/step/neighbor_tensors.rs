//! Tensors of the search for nearest neighbours.

use super::Capacities;
use kiln_kernels::morton::SORT_ARGS;
use kiln_kernels::neighbors::{MOST_GAUSSIANS, MOST_NEIGHBORS, Part, Workspace, box_bytes};
use kiln_kernels::radix_sort::{SortBuffers, histogram_bytes};
use kiln_kernels::views::Variants;
use kiln_program::{Class, Tag, TensorTable};

/// Gaussians whose neighbours are bound together: 64 MiB of the most neighbours.
const PART: u32 = 1 << 19;

/// Why there is no search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NeighborsRefused {
    /// No neighbours, or more than the search keeps.
    #[error("{0} neighbours of each Gaussian are set: the number has to be 1 to {MOST_NEIGHBORS}")]
    Neighbors(u32),
    /// More Gaussians than one binding holds a word of.
    #[error("neighbours of {0} Gaussians are needed, and at most {MOST_GAUSSIANS} fit: lower `memory.max_gaussians`")]
    Gaussians(u32),
}

/// Tensors of a search: in passing at most 22 bytes a Gaussian of capacity, and `4 k` that stay.
#[derive(Clone, Debug)]
pub struct NeighborTensors {
    /// What only the search needs.
    pub workspace: Workspace,
    /// What it finds.
    pub parts: Vec<Part>,
    /// Neighbours of each.
    pub k: u32,
}

impl NeighborTensors {
    /// Adds the tensors for `k` neighbours to `table`.
    ///
    /// # Errors
    /// [`NeighborsRefused`].
    pub fn new(
        table: &mut TensorTable,
        capacities: &Capacities,
        k: u32,
        variants: &Variants,
    ) -> Result<Self, NeighborsRefused> {
        let n = capacities.n_cap;
        if !(1..=MOST_NEIGHBORS).contains(&k) {
            return Err(NeighborsRefused::Neighbors(k));
        }
        if n > MOST_GAUSSIANS {
            return Err(NeighborsRefused::Gaussians(n));
        }
        Ok(tensors(table, capacities, k, variants))
    }
}

/// [`NeighborTensors::new`] of a `k` and a capacity that are within its limits.
pub(super) fn tensors(
    table: &mut TensorTable,
    capacities: &Capacities,
    k: u32,
    variants: &Variants,
) -> NeighborTensors {
    let n = capacities.n_cap;
    let words = 4 * u64::from(n);
    let mut add = |name: &str, class, bytes| table.add(format!("neighbors/{name}"), class, Tag::Neighbors, bytes);
    let mut arena = |name: &str, bytes| add(name, Class::Arena, bytes);
    let workspace = Workspace {
        sort: SortBuffers {
            keys: [arena("keys", words), arena("keys_other", words)],
            values: [arena("order", words), arena("order_other", words)],
            histogram: arena("histogram", histogram_bytes(n, SORT_ARGS, variants)),
        },
        centers: ["x", "y", "z"].map(|axis| arena(axis, words)),
        boxes: arena("boxes", box_bytes(n)),
        capacity: n,
    };
    let part = |first: u32| {
        let count = PART.min(n - first);
        let bytes = 4 * u64::from(k) * u64::from(count);
        let neighbors = add(&format!("found_{}", first / PART), Class::Persistent, bytes);
        Part {
            first,
            count,
            neighbors,
        }
    };
    let parts = (0..n).step_by(PART as usize).map(part).collect();
    NeighborTensors { workspace, parts, k }
}
