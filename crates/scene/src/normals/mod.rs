//! Normal maps of training photos: what their values mean, and whether they can be true.
//!
//! Owns the axes that normals are given in, and the words that the device compares renders with; where maps are and how they lie is
//! [`super::maps`]'. Maps whose normals point away from the camera are left out and named, and maps that the sparse points contradict
//! are warned of: programs that make maps agree on no axes.

mod axes;
mod follow;
mod map;

use std::path::Path;

pub use axes::Axes;
use follow::Contradiction;
pub use map::NormalMap;

use super::SceneError;
use super::fence::Fence;
use super::maps::{self, MapFile, MapKind};
use super::view::View;
use super::{Camera, Point};
use crate::math::dot;

/// Finds the maps of training views in `folder`, whose normals are given in `axes`, and holds them against `points`, or against those
/// that each view is known to show.
///
/// # Errors
/// [`SceneError`] when there is no map of any photo, none can be used, or a link leads out of the fence.
pub(super) fn attach(
    train: &mut [View],
    root: &Path,
    (folder, axes): (&Path, Axes),
    points: &[Point],
    fence: &Fence,
    notices: &mut Vec<String>,
    warnings: &mut Vec<String>,
) -> Result<(), SceneError> {
    let one = |at: usize, path: &Path| one(&train[at], path, axes, points, fence);
    let found = maps::read(MapKind::Normal, train, &root.join(folder), warnings, one)?;
    let (count, mut against) = (found.len(), Contradiction::default());
    for (at, (map, of_view)) in found {
        against.add(of_view);
        train[at].normal = Some(map);
    }
    notices.push(format!("normal maps of {count} of {} training photos", train.len()));
    warnings.extend(against.reported(axes));
    Ok(())
}

/// The map of a view in a file, and what the points say of it.
fn one(
    view: &View,
    path: &Path,
    axes: Axes,
    points: &[Point],
    fence: &Fence,
) -> Result<(NormalMap, Contradiction), SceneError> {
    let map = NormalMap {
        map: MapFile::open(MapKind::Normal, path, fence)?,
        axes,
    };
    let normals = map.normals(&maps::over(view))?;
    let unusable = |why: String| SceneError::map(MapKind::Normal, path, why);
    let [away, all] = away(&view.camera, &normals);
    if all == 0 {
        let why =
            "none of its pixels has a direction; pictures of whole numbers hold (n + 1) / 2, others n, from -1 to 1";
        return Err(unusable(why.to_owned()));
    }
    if 2 * away > all {
        return Err(unusable(format!(
            "{:.0} % of its normals point away from the camera in the axes `{}`; set dataset.normals.axes to {}",
            100.0 * away as f64 / all as f64,
            axes.name(),
            axes.others_in_depth()
        )));
    }
    let against = Contradiction::of(view, axes, points, &normals);
    Ok((map, against))
}

/// How many normals point away from the camera, and how many there are.
fn away(camera: &Camera, normals: &[[f32; 3]]) -> [usize; 2] {
    let width = camera.width_px as usize;
    let (mut away, mut all) = (0, 0);
    for (at, normal) in normals.iter().enumerate().filter(|(_, n)| **n != [0.0; 3]) {
        let [x, y] = [at % width, at / width].map(|v| v as f32 + 0.5);
        let ray = [(x - camera.cx) / camera.fx, (y - camera.cy) / camera.fy, 1.0];
        all += 1;
        away += usize::from(dot(*normal, ray) > 0.0);
    }
    [away, all]
}

#[cfg(test)]
mod tests;
