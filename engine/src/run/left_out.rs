//! Photos that cannot be read: each is reported once and left out.

use std::collections::BTreeSet;

use kiln_scene::{SceneError, SceneIndex, Split, ViewId};

/// Views whose images cannot be used; each is reported once and left out from then on.
#[derive(Debug, Default)]
pub(super) struct LeftOut(BTreeSet<ViewId>);

impl LeftOut {
    /// True for a view that is left out.
    pub(super) fn contains(&self, id: ViewId) -> bool {
        self.0.contains(&id)
    }

    /// Leaves out a view; returns what to report, the first time.
    ///
    /// # Errors
    /// [`SceneError::NoViews`] when no training view is left.
    pub(crate) fn add(
        &mut self,
        id: ViewId,
        why: &SceneError,
        scene: &SceneIndex,
    ) -> Result<Option<String>, SceneError> {
        if !self.0.insert(id) {
            return Ok(None);
        }
        let of_set = |split: Split| self.0.iter().filter(|id| id.split == split).count();
        let (count, total) = (of_set(id.split), scene.views_of(id.split).len());
        if of_set(Split::Train) >= scene.train.len() {
            return Err(SceneError::NoViews {
                path: scene.root.clone(),
                why: format!("none of its {total} training images can be used; the last one: {why}"),
            });
        }
        let set = id.split.name();
        Ok(Some(format!(
            "{why} (left out, {count} of {total} {set} images so far)"
        )))
    }
}
