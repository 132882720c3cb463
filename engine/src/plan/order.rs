//! Where in memory Gaussians are: along a Morton curve, so that neighbours in memory are neighbours in space.
//!
//! A transaction of memory brings several of them, and a view's Gaussians lie together. The first model is sorted here, and
//! every event that adds, removes or moves Gaussians ends with a re-sort on the device ([`step::reorder`]). An event leaves
//! children at the end of the model and fills holes from there, so nothing less keeps the order; between events centres move
//! by little. What is near is measured in a frame that follows from the training cameras alone, so that a resumed run has the
//! same one.

use crate::step::{self, ReorderTensors, StepTensors};
use kiln_gaussians::Gaussians;
use kiln_gaussians::morton::{self, Frame};
use kiln_program::{Program, TensorTable};
use kiln_scene::SceneIndex;

/// The mean of the training cameras' positions, and the extent of the scene.
pub(super) fn frame(scene: &SceneIndex) -> Frame {
    Frame::new(scene.center(), scene.extent)
}

/// The order of the Gaussians of a first model, by their places in it.
pub(super) fn of_first(model: &Gaussians, scene: &SceneIndex) -> Vec<usize> {
    morton::order(&frame(scene), &model.means)
}

/// What re-sorts the model at the end of an event.
pub(super) struct Reorder {
    tensors: ReorderTensors,
    frame: Frame,
}

impl Reorder {
    /// Adds its tensors to `table`.
    pub(crate) fn new(table: &mut TensorTable, t: &StepTensors, frame: Frame) -> Self {
        let tensors = ReorderTensors::new(table, &t.capacities, &t.variants);
        Self { tensors, frame }
    }

    /// The program of an event, with the re-sort behind it.
    pub(super) fn after(&self, mut program: Program, t: &StepTensors) -> Program {
        step::reorder(&mut program, t, &self.tensors, &self.frame);
        program
    }
}
