//! Depth maps of training photos: which files they are, and what their values mean.
//!
//! Owns the fit of scale and shift to the sparse points, and the words of inverse depth that the device compares renders with; where
//! maps are and how they lie is [`super::maps`]'. Maps that do not follow the points are left out and named. 0 is no depth.

mod fit;
mod map;
mod params;

use std::path::Path;

use fit::LEAST_POINTS;
pub use fit::{DepthFit, Meaning};
pub use map::DepthMap;

use super::fence::Fence;
use super::maps::{self, MapFile, MapKind};
use super::view::View;
use super::{Camera, Point, SceneError, evenly};

/// Most points that a photo's fit is made from.
pub const MOST_FIT_POINTS: u32 = 2048;
/// Fits that are further off are left out: the median point lies a sixth nearer or farther.
const MOST_ERROR: f64 = 0.15;

/// Finds the maps of training views in `folder` and fits them to `points`, or to those that each view is known to show.
///
/// # Errors
/// [`SceneError`] when there is no map of any photo, none can be used, or a link leads out of the fence.
pub(super) fn attach(
    train: &mut [View],
    root: &Path,
    folder: &Path,
    points: &[Point],
    fence: &Fence,
    notices: &mut Vec<String>,
    warnings: &mut Vec<String>,
) -> Result<(), SceneError> {
    let given = params::read(root, fence)?;
    let one = |at: usize, path: &Path| one(&train[at], path, points, given.as_ref(), at as u64, fence);
    let found = maps::read(MapKind::Depth, train, &root.join(folder), warnings, one)?;
    let (mut errors, mut inverse) = (Vec::new(), 0);
    for (at, map) in found {
        inverse += usize::from(map.fit.meaning == Meaning::Inverse);
        errors.push(map.fit.error);
        train[at].depth = Some(map);
    }
    errors.sort_unstable_by(f64::total_cmp);
    let median = errors.get(errors.len() / 2).copied().unwrap_or(0.0);
    notices.push(format!(
        "depth maps of {} of {} training photos, {inverse} of inverse depth; the median point is {:.1} % off",
        errors.len(),
        train.len(),
        100.0 * median.exp_m1()
    ));
    Ok(())
}

/// The map of a view in a file.
fn one(
    view: &View,
    path: &Path,
    points: &[Point],
    given: Option<&params::Params>,
    seed: u64,
    fence: &Fence,
) -> Result<DepthMap, SceneError> {
    let map = MapFile::open(MapKind::Depth, path, fence)?;
    let unusable = |why: String| SceneError::map(MapKind::Depth, path, why);
    let size_px = map.file.size_px;
    let values = maps::numbers(MapKind::Depth, path, size_px)?.values;
    let values = maps::over(view).lay(values, size_px);
    let pairs = pairs(view, &view.camera, points, &values);
    let fit = match given {
        Some(given) => given.fit(&view.name, &pairs).map_err(unusable)?,
        None => {
            let fit = DepthFit::of(&pairs, seed).ok_or_else(|| {
                let why = format!("{} of its pixels show points, and no line fits them", pairs.len());
                unusable(why)
            })?;
            if fit.error > MOST_ERROR {
                let why = format!("the median point is {:.0} % off", 100.0 * fit.error.exp_m1());
                return Err(unusable(why));
            }
            fit
        }
    };
    Ok(DepthMap { map, fit })
}

/// Values of a plane at training resolution, with the depths of points there. Pixels without a value have none.
fn pairs(view: &View, camera: &Camera, points: &[Point], values: &[f32]) -> Vec<(f32, f32)> {
    let pair = |position: [f32; 3]| {
        let [x, y, depth] = camera.sees(position)?;
        let value = *values.get(y as usize * camera.width_px as usize + x as usize)?;
        (value != 0.0).then_some((value, depth))
    };
    if view.seen.len() >= LEAST_POINTS {
        return view.seen.iter().filter_map(|seen| pair(seen.position)).collect();
    }
    let all: Vec<(f32, f32)> = points.iter().filter_map(|point| pair(point.position)).collect();
    evenly(all.len(), MOST_FIT_POINTS as usize).map(|at| all[at]).collect()
}

#[cfg(test)]
mod tests;
