//! Depth maps of training photos: which files they are, and what their values mean.
//!
//! Owns the fit of scale and shift to the sparse points, and the words of inverse depth that the device compares renders with; where
//! maps are and how they lie is [`super::maps`]'. Maps that do not follow the points are left out and named;
//! a scale that is given for one and contradicts them is not taken. 0 is no depth.

mod fit;
mod map;
mod params;
mod report;

use std::path::Path;

use fit::LEAST_POINTS;
pub use fit::{DepthFit, Meaning};
pub use map::DepthMap;
use params::{Counts, Given, Params};

use super::fence::Fence;
use super::maps::{self, MapFile, MapKind};
use super::view::View;
use super::{Camera, Point, SceneError, evenly};

/// Most points that a photo's fit is made from.
pub const MOST_FIT_POINTS: u32 = 2048;
/// Fits that are further off are left out: the median point lies a sixth nearer or farther.
const MOST_ERROR: f64 = 0.15;

/// A map, and what is to be said of where its line comes from.
struct Fitted {
    map: DepthMap,
    source: Source,
}

/// Where the line of a map comes from.
enum Source {
    /// The points.
    Points,
    /// The points, because what is given for the photo contradicts them by this much.
    Contradicted(f64),
    /// The points, because nothing that could be taken is given for the photo: why.
    Instead(String),
    /// What is given, with whether the points agree and what it counts.
    Given { is_checked: bool, counts: Counts },
}

/// Finds the maps of training views in `folder` and fits them to `points`, or to those that each view is known to show. `test` are the
/// other photos of the scene.
///
/// # Errors
/// [`SceneError`] when there is no map of any photo, none can be used, or a link leads out of the fence.
pub(super) fn attach(
    (train, test): (&mut [View], &[View]),
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
    if let Some(given) = &given {
        let photos = train.iter().chain(test).map(|view| &*view.name);
        notices.extend(given.spare_notice(photos));
        let sources = found.iter().map(|(at, found)| (&*train[*at].name, &found.source));
        report::given(&sources.collect::<Vec<_>>(), notices, warnings);
    }
    let (mut errors, mut inverse) = (Vec::new(), 0);
    for (at, Fitted { map, .. }) in found {
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
    given: Option<&Params>,
    seed: u64,
    fence: &Fence,
) -> Result<Fitted, SceneError> {
    let map = MapFile::open(MapKind::Depth, path, fence)?;
    let size_px = map.file.size_px;
    let numbers = maps::numbers(MapKind::Depth, path, size_px)?;
    let values = maps::over(view).lay(numbers.values, size_px);
    let pairs = pairs(view, &view.camera, points, &values);
    let source = match given.map(|given| given.given(&view.name, &pairs, numbers.one)) {
        None => Source::Points,
        Some(Given::Agrees(fit, counts) | Given::Unchecked(fit, counts)) => {
            let is_checked = pairs.len() >= LEAST_POINTS;
            let (map, source) = (DepthMap { map, fit }, Source::Given { is_checked, counts });
            return Ok(Fitted { map, source });
        }
        Some(Given::Contradicts(error)) => Source::Contradicted(error),
        Some(Given::Unusable(why)) => Source::Instead(why),
    };
    let fit = of_points(&pairs, seed).map_err(|why| {
        let given = match &source {
            Source::Contradicted(error) => format!("; with its scale in {}, {}", params::FILE, off(*error)),
            Source::Instead(why) => format!("; of {}: {why}", params::FILE),
            Source::Points | Source::Given { .. } => String::new(),
        };
        SceneError::map(MapKind::Depth, path, why + &given)
    })?;
    let map = DepthMap { map, fit };
    Ok(Fitted { map, source })
}

/// The line that is fitted to pairs of a value and a depth.
///
/// # Errors
/// Why there is none, for people.
fn of_points(pairs: &[(f32, f32)], seed: u64) -> Result<DepthFit, String> {
    let none = || format!("{} of its pixels show points, and no line fits them", pairs.len());
    let fit = DepthFit::of(pairs, seed).ok_or_else(none)?;
    match fit.error <= MOST_ERROR {
        true => Ok(fit),
        false => Err(off(fit.error)),
    }
}

/// How far a line is off, for people.
fn off(error: f64) -> String {
    match error.is_finite() {
        true => format!("the median point is {:.0} % off", 100.0 * error.exp_m1()),
        false => "the median point would lie behind the camera".to_owned(),
    }
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
