//! The photos of the training views.

use super::MeshError;
use crate::plan::{AHEAD, image_options};
use kiln_config::Profile;
use kiln_scene::{ImageStore, Photo, SceneIndex, Split, ViewId};

/// Photos by the number of their view; the next ones are decoded meanwhile.
pub(super) struct Photos {
    store: ImageStore,
    views: usize,
}

impl Photos {
    /// Those of a scene.
    ///
    /// # Errors
    /// [`MeshError::Scene`].
    pub(super) fn open(scene: &SceneIndex, profile: &Profile) -> Result<Self, MeshError> {
        Ok(Self {
            store: ImageStore::open(scene, image_options(profile))?,
            views: scene.train.len(),
        })
    }

    /// The photo of a view.
    ///
    /// # Errors
    /// [`MeshError::Scene`] when it cannot be decoded.
    pub(super) fn get(&self, view: usize) -> Result<Photo, MeshError> {
        let id = |index: usize| ViewId {
            split: Split::Train,
            index,
        };
        self.store.prefetch((view..self.views).take(AHEAD).map(id));
        Ok(self.store.get(id(view))?)
    }
}
