//! Adam's moments between steps.

use super::StepTensors;
use kiln_program::Program;

/// The program that makes all moments those of a model that was never trained. Codes of 0 stand for 0 in every storage.
#[must_use]
pub fn forget_moments(t: &StepTensors) -> Program {
    let mut program = Program::new("moments");
    for chunk in &t.chunks {
        for moments in [chunk.geometry_m, chunk.geometry_v, chunk.sh_m, chunk.sh_v] {
            program.fill(moments, 0);
        }
    }
    program
}
