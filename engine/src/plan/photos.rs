//! Host memory that decoded photos need, and how they are decoded.

use super::look::background;
use super::model::gib_to_bytes;
use super::{CapacitySource, PlanError, PlanReport, TrianglesError};
use kiln_config::{Profile, Residency};
use kiln_scene::{ImageOptions, SceneIndex, estimate_host_bytes, photo_bytes};

/// Views decoded ahead of the one that is needed.
pub(crate) const AHEAD: usize = 16;

/// How a run's images are decoded and kept.
pub(crate) fn image_options(profile: &Profile) -> ImageOptions {
    let cache = || gib_to_bytes(profile.dataset.cache_gib);
    ImageOptions {
        background: background(profile),
        threads: None,
        cache_bytes: match profile.dataset.residency {
            Residency::Auto | Residency::Host => None,
            Residency::Stream | Residency::Device => Some(cache()),
        },
    }
}

/// Part of the cap that photos may take on the device by default.
const SHARE: u64 = 8;

/// Settles `dataset.residency` in `profile` and plans: where it is [`Residency::Auto`], with the photos on the device if they take
/// an eighth of `cap_bytes` at most and nothing else gets less room for it, else in host memory, all of them if they fit in
/// `available_bytes`. `report` finds the report in what `make_plan` makes.
///
/// # Errors
/// Those of `make_plan`.
pub fn plan_with_photos<T>(
    profile: &mut Profile,
    scene: &SceneIndex,
    cap_bytes: u64,
    available_bytes: Option<u64>,
    make_plan: impl Fn(&Profile) -> Result<T, PlanError>,
    report: impl Fn(&T) -> &PlanReport,
) -> Result<T, PlanError> {
    if profile.dataset.residency != Residency::Auto {
        return make_plan(profile);
    }
    let parts = scene.parts();
    let photos: u64 = scene.train.iter().map(|view| photo_bytes(view.pixels(), parts)).sum();
    if photos <= cap_bytes / SHARE {
        profile.dataset.residency = Residency::Device;
        match make_plan(profile) {
            // Gaussians and records come before photos where memory is short.
            Ok(plan)
                if !matches!(
                    report(&plan).capacities_from,
                    CapacitySource::Generous | CapacitySource::Forced
                ) => {}
            Err(
                PlanError::DoesNotFit { .. }
                | PlanError::ImagesDoNotFit { .. }
                | PlanError::Triangles(TrianglesError::DoesNotFit { .. } | TrianglesError::NoRoom { .. }),
            ) => {}
            result => return result,
        }
    }
    profile.dataset.residency = Residency::Host;
    if available_bytes.is_some_and(|bytes| image_host_bytes(profile, scene) > bytes) {
        profile.dataset.residency = Residency::Stream;
    }
    make_plan(profile)
}

/// Host memory that a run's decoded images need at most, and the points they show, bytes. `scene` is at full training resolution.
///
/// An evaluation during a phase of smaller images decodes full ones beside them.
#[must_use]
pub fn image_host_bytes(profile: &Profile, scene: &SceneIndex) -> u64 {
    let options = image_options(profile);
    let smaller = profile.schedule.resolution.iter().filter(|phase| phase.scale < 1.0);
    let smaller = smaller.map(|phase| estimate_host_bytes(&scene.rescaled(1.0 / f64::from(phase.scale)), options));
    estimate_host_bytes(scene, options) + smaller.max().unwrap_or(0) + scene.seen_bytes()
}

/// Refuses a run whose images would need more than `available_bytes` of host memory.
///
/// # Errors
/// [`PlanError::HostMemory`].
pub(crate) fn check_host_memory(
    profile: &Profile,
    needed_bytes: u64,
    available_bytes: Option<u64>,
) -> Result<(), PlanError> {
    match available_bytes {
        Some(available_bytes) if needed_bytes > available_bytes => Err(PlanError::HostMemory {
            residency: profile.dataset.residency.name(),
            needed_bytes,
            available_bytes,
        }),
        _ => Ok(()),
    }
}
