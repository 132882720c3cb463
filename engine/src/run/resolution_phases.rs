//! Image sizes over a run: one scene and image store per resolution phase.

use std::sync::Arc;

use super::RunError;
use crate::plan::schedule::resolution_scale_at;
use crate::plan::{AHEAD, image_options};
use kiln_config::Profile;
use kiln_scene::{ImageStore, SceneIndex, ViewSampler};

/// One resolution phase.
pub(super) struct Phase {
    /// Scale of the image sides.
    scale: f32,
    /// Cameras at this size.
    pub(super) scene: SceneIndex,
    /// Images at this size; shared with whoever brings them into the ring.
    pub(super) store: Arc<ImageStore>,
}

impl Phase {
    /// The phase that iteration `iteration` trains in. `scene` is at full training resolution.
    pub(super) fn at(profile: &Profile, scene: &SceneIndex, iteration: u32) -> Result<Self, RunError> {
        let scale = resolution_scale_at(profile, iteration);
        let sized = if scale < 1.0 {
            scene.rescaled(1.0 / f64::from(scale))
        } else {
            scene.clone()
        };
        Self::open(profile, sized, scale)
    }

    fn open(profile: &Profile, scene: SceneIndex, scale: f32) -> Result<Self, RunError> {
        let store = Arc::new(ImageStore::open(&scene, image_options(profile))?);
        Ok(Self { scale, scene, store })
    }

    /// True when iteration `iteration` needs another phase.
    pub(super) fn is_over(&self, profile: &Profile, iteration: u32) -> bool {
        (resolution_scale_at(profile, iteration) - self.scale).abs() > f32::EPSILON
    }

    /// True at full training resolution.
    pub(super) fn is_full(&self) -> bool {
        self.scale >= 1.0
    }

    /// Asks the decoding threads for the views that come next.
    pub(super) fn prefetch(&self, sampler: &ViewSampler) {
        use kiln_scene::{Split, ViewId};
        let upcoming = sampler.upcoming(AHEAD);
        self.store.prefetch(upcoming.into_iter().map(|index| ViewId {
            split: Split::Train,
            index,
        }));
    }
}
