//! The re-sort by place that ends events, and the tensors only it needs.
//!
//! They live in the arena, as those of the event do, which are idle by then.

use super::{Capacities, STAGING_BYTES, StepTensors};
use kiln_kernels::morton::{self, Frame, ROWS, SORT_ARGS, Workspace};
use kiln_kernels::radix_sort::{SortBuffers, histogram_bytes};
use kiln_kernels::views::Variants;
use kiln_program::{Class, Program, Tag, TensorTable};

/// Tensors of a re-sort: at most 32 bytes a Gaussian of capacity, of which half are idle at any time.
#[derive(Clone, Copy, Debug)]
pub struct ReorderTensors {
    /// What the kernels bind.
    pub workspace: Workspace,
}

/// Rows of staging for `n` Gaussians of capacity: fewer rows mean more passes, not other results.
#[must_use]
pub fn reorder_rows(n: u32) -> u32 {
    let rows = STAGING_BYTES / (4 * u64::from(n.max(1)));
    u32::try_from(rows).unwrap_or(ROWS).clamp(1, ROWS)
}

impl ReorderTensors {
    /// Adds the tensors to `table`.
    #[must_use]
    pub fn new(table: &mut TensorTable, capacities: &Capacities, variants: &Variants) -> Self {
        let n = capacities.n_cap;
        let row_bytes = 4 * u64::from(n);
        let rows = reorder_rows(n);
        let mut arena =
            |name: &str, bytes: u64| table.add(format!("reorder/{name}"), Class::Arena, Tag::Densify, bytes);
        Self {
            workspace: Workspace {
                sort: SortBuffers {
                    keys: [arena("keys", row_bytes), arena("keys_other", row_bytes)],
                    values: [arena("order", row_bytes), arena("order_other", row_bytes)],
                    histogram: arena("histogram", histogram_bytes(n, SORT_ARGS, variants)),
                },
                staging: arena("staging", u64::from(rows) * row_bytes),
                row: n,
                rows,
            },
        }
    }
}

/// Appends the re-sort to the program of an event, whose group counts per chunk fit the new number of Gaussians. On a
/// stalled run nothing changes.
pub fn reorder(program: &mut Program, t: &StepTensors, o: &ReorderTensors, frame: &Frame) {
    morton::record(program, &t.shared, &t.chunks, &o.workspace, frame, &t.variants);
}
