//! The search for nearest neighbours.

use super::{NeighborTensors, StepTensors};
use kiln_kernels::morton::Frame;
use kiln_kernels::neighbors::{self, Found};
use kiln_program::Program;

/// Appends the search to a program in which the group counts of chunks fit the number of Gaussians. On a stalled run
/// nothing changes.
pub fn neighbors(program: &mut Program, t: &StepTensors, found: &NeighborTensors, frame: &Frame) {
    neighbors::record(
        program,
        &t.shared,
        &t.chunks,
        &found.workspace,
        &Found {
            parts: &found.parts,
            k: found.k,
        },
        frame,
        &t.variants,
    );
}
