//! `train.order`: where in memory Gaussians are.
//!
//! Under `morton` neighbours in memory are neighbours in space: the first model is sorted here, and every event that adds,
//! removes or moves Gaussians ends with a re-sort on the device ([`step::reorder`]). An event leaves children at the end of
//! the model and fills holes from there, so nothing less keeps the order; between events centres move by little. What is
//! near is told by a frame that follows from the training cameras alone, so that a resumed run has the same one.

use crate::config::{Order, Profile};
use crate::gaussians::Gaussians;
use crate::gaussians::morton::{self, Frame};
use crate::program::{Program, TensorTable};
use crate::scene::SceneIndex;
use crate::step::{self, ReorderTensors, StepTensors};

/// The mean of the training cameras' positions, and the extent of the scene.
pub(super) fn frame(scene: &SceneIndex) -> Frame {
    Frame::new(scene.center(), scene.extent)
}

/// The order that `profile` asks for of the Gaussians of a first model, by their places in it; none where it stays.
pub(super) fn of_first(model: &Gaussians, profile: &Profile, scene: &SceneIndex) -> Option<Vec<usize>> {
    match profile.train.order {
        Order::Creation => None,
        Order::Morton => Some(morton::order(&frame(scene), &model.means)),
    }
}

/// What re-sorts the model at the end of an event.
pub(super) struct Reorder(Option<(ReorderTensors, Frame)>);

impl Reorder {
    /// Adds its tensors to `table`; none when the order of creation stays.
    pub(crate) fn new(table: &mut TensorTable, t: &StepTensors, frame: Frame) -> Self {
        let tensors = t
            .capacities
            .sorted
            .then(|| ReorderTensors::new(table, &t.capacities, &t.variants));
        Self(tensors.map(|tensors| (tensors, frame)))
    }

    /// The program of an event, with the re-sort and the bounds of clusters behind it.
    pub(super) fn after(&self, mut program: Program, t: &StepTensors) -> Program {
        if let Some((tensors, frame)) = &self.0 {
            step::reorder(&mut program, t, tensors, frame);
        }
        step::bound_clusters(&mut program, t);
        program
    }
}
