//! Cameras as a run has corrected them.

use kiln_kernels::pose::{VALUES, WORDS};
use kiln_scene::{Camera, Split, ViewId};
use kiln_twins::gaussian::View;
use kiln_twins::pose::corrected;

/// Corrections of all views at one moment.
#[derive(Clone, Debug)]
pub struct RefinedPoses {
    /// As the device has them, training views first.
    pub(super) words: Vec<f32>,
    pub(super) train: usize,
    pub(super) extent: f32,
}

impl RefinedPoses {
    /// Row of a view in the table of corrections, of a scene with `train` training views.
    pub(super) const fn row(train: usize, id: ViewId) -> usize {
        match id.split {
            Split::Train => id.index,
            Split::Test => train + id.index,
        }
    }

    fn correction(&self, id: ViewId) -> [f32; VALUES] {
        let words = self.words.get(WORDS * Self::row(self.train, id)..);
        let words = words.and_then(|words| words.first_chunk::<VALUES>());
        words.copied().unwrap_or_default()
    }

    /// `camera`, which is that of view `id`, where it was found to be.
    #[must_use]
    pub fn camera(&self, id: ViewId, camera: &Camera) -> Camera {
        let correction = self.correction(id);
        if correction == [0.0; VALUES] {
            return camera.clone();
        }
        let view = corrected(
            &View::<f64>::new(camera),
            &correction.map(f64::from),
            self.extent.into(),
        );
        #[expect(clippy::cast_possible_truncation, reason = "cameras are f32")]
        let narrow = |row: [f64; 3]| row.map(|value| value as f32);
        Camera {
            rotation: view.rotation.map(narrow),
            translation: narrow(view.translation),
            ..camera.clone()
        }
    }

    /// Means over training views of how far cameras were turned, degrees, and shifted, extents.
    #[must_use]
    pub fn moved(&self) -> [f64; 2] {
        let length = |values: &[f32]| values.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
        let ids = (0..self.train).map(|index| ViewId {
            split: Split::Train,
            index,
        });
        let sum = ids.fold([0.0, 0.0], |[turn, shift], id| {
            let correction = self.correction(id);
            let (w, s) = correction.split_at(VALUES / 2);
            [turn + length(w).to_degrees(), shift + length(s)]
        });
        sum.map(|sum| sum / self.train.max(1) as f64)
    }
}
