//! What a run asks of its photos: host memory before the first is decoded, and what to do about those that cannot be used.

use std::collections::BTreeSet;

use super::uniforms::background;
use super::{TrainError, gib_to_bytes};
use crate::config::{Profile, Residency};
use crate::scene::{ImageOptions, SceneError, SceneIndex, Split, ViewId, estimate_host_bytes};

/// How a run's images are decoded and kept.
pub(super) fn image_options(profile: &Profile) -> ImageOptions {
    let cache = || gib_to_bytes(profile.dataset.cache_gib);
    ImageOptions {
        background: background(profile),
        threads: None,
        cache_bytes: match profile.dataset.residency {
            Residency::Host => None,
            Residency::Stream | Residency::Device => Some(cache()),
        },
    }
}

/// Host memory that a run's decoded images need at most, and the points they show, bytes. `scene` is at full training resolution.
///
/// An evaluation during a phase of smaller images decodes full ones beside them.
#[must_use]
pub fn image_host_bytes(profile: &Profile, scene: &SceneIndex) -> u64 {
    let options = image_options(profile);
    let smaller = profile.schedule.resolution.iter().filter(|phase| phase.scale < 1.0);
    let smaller = smaller.map(|phase| {
        let scale = f64::from(phase.scale) * f64::from(profile.train.resolution_scale);
        estimate_host_bytes(&scene.rescaled(1.0 / scale), options)
    });
    estimate_host_bytes(scene, options) + smaller.max().unwrap_or(0) + scene.seen_bytes()
}

/// Refuses a run whose images would need more than `available_bytes` of host memory.
///
/// # Errors
/// [`TrainError::HostMemory`].
pub(super) fn check_host_memory(
    profile: &Profile,
    needed_bytes: u64,
    available_bytes: Option<u64>,
) -> Result<(), TrainError> {
    match available_bytes {
        Some(available_bytes) if needed_bytes > available_bytes => Err(TrainError::HostMemory {
            residency: profile.dataset.residency.name(),
            needed_bytes,
            available_bytes,
        }),
        _ => Ok(()),
    }
}

/// Views whose images cannot be used; each is told once and left out from then on.
#[derive(Debug, Default)]
pub(super) struct LeftOut(BTreeSet<ViewId>);

impl LeftOut {
    /// True for a view that is left out.
    pub(super) fn contains(&self, id: ViewId) -> bool {
        self.0.contains(&id)
    }

    /// Leaves out a view; returns what to tell, the first time.
    ///
    /// # Errors
    /// [`SceneError::NoViews`] when no training view is left.
    pub(super) fn add(
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
