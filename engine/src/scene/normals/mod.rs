//! Normal maps of training photos: what their values mean, and whether they can be true.
//!
//! Owns the axes that normals are given in, and the words that the device compares renders with; where maps are and how they lie is
//! [`super::maps`]'. Maps whose normals point away from the camera are left out and named, and maps that the sparse points contradict
//! are warned of: programs that make maps agree on no axes.

mod axes;
mod follow;

use std::path::Path;

pub use axes::Axes;
use follow::Contradiction;

use super::SceneError;
use super::fence::Fence;
use super::maps::{self, MapFile, MapKind, Numbers, Over};
use super::view::View;
use super::{Camera, Point};
use crate::math::{dot, norm, scale};

/// Lengths of what is a normal, before it is made 1. Black and white are none, and neither is grey.
const LENGTHS: [f32; 2] = [0.5, 1.5];
/// How far the length of a unit vector may be from 1 in a file.
const UNIT: f32 = 0.1;

/// The normal map of a view.
#[derive(Clone, Debug, PartialEq)]
pub struct NormalMap {
    /// Its files.
    pub map: MapFile,
    /// What its values are in.
    pub axes: Axes,
}

impl NormalMap {
    /// A word for each pixel of a photo at training resolution, see [`word`].
    pub(in crate::scene) fn words(&self, over: &Over<'_>) -> Result<Vec<u32>, SceneError> {
        let normals = self.normals(over)?;
        let trust = self.map.trust(over)?;
        let trust_of = |at: usize| trust.as_ref().map_or(u8::MAX, |trust| trust[at]);
        let words = normals
            .iter()
            .enumerate()
            .map(|(at, normal)| word(*normal, trust_of(at)));
        Ok(words.collect())
    }

    /// The normal of each pixel of a photo at training resolution: of length 1 in the camera's axes, x to the right, y down, z into
    /// the scene; 0 for none.
    fn normals(&self, over: &Over<'_>) -> Result<Vec<[f32; 3]>, SceneError> {
        let file = &self.map.file;
        let found = maps::numbers(MapKind::Normal, &file.path, file.size_px)?;
        let vectors = vectors(&found).map_err(|why| MapKind::Normal.unusable(&file.path, why))?;
        let signs = self.axes.signs();
        let upright = |v: [f32; 3]| {
            let [x, y] = over.upright.turned_direction([signs[0] * v[0], signs[1] * v[1]]);
            [x, y, signs[2] * v[2]]
        };
        let vectors = vectors.into_iter().map(upright).collect();
        Ok(over.lay(vectors, file.size_px))
    }
}

/// What a file says of each pixel, of length 1 or 0.
fn vectors(found: &Numbers) -> Result<Vec<[f32; 3]>, String> {
    let (pixels, _) = found.values.as_chunks::<3>();
    let decoded = |pixel: &[f32; 3]| match found.most {
        Some(most) => pixel.map(|v| 2.0 * v / most - 1.0),
        None => *pixel,
    };
    let is_unit = |v: [f32; 3]| (norm(v) - 1.0).abs() < UNIT;
    if found.most.is_none() && found.values.iter().all(|v| *v >= 0.0) {
        let as_they_are = pixels.iter().filter(|v| is_unit(**v)).count();
        let encoded = pixels.iter().filter(|v| is_unit(v.map(|v| 2.0 * v - 1.0))).count();
        if encoded > as_they_are {
            return Err(
                "its numbers are (n + 1) / 2, which only pictures of whole numbers hold; save n, from -1 to 1"
                    .to_owned(),
            );
        }
    }
    let unit = |pixel: &[f32; 3]| {
        let v = decoded(pixel);
        let length = norm(v);
        match (LENGTHS[0]..=LENGTHS[1]).contains(&length) {
            true => scale(v, 1.0 / length),
            false => [0.0; 3],
        }
    };
    Ok(pixels.iter().map(unit).collect())
}

/// What the device reads of a pixel: the normal's x, y and z in 1/127, signed bytes from the lowest on, and above them how far it is
/// trusted, 0 to 255; 0 for nothing.
fn word(normal: [f32; 3], trust: u8) -> u32 {
    if normal == [0.0; 3] {
        return 0;
    }
    let [x, y, z] = normal.map(|v| ((127.0 * v).round() as i8).cast_unsigned());
    u32::from_le_bytes([x, y, z, trust])
}

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
    warnings.extend(against.told(axes));
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
    let normals = map.normals(&Over::view(view))?;
    let unusable = |why: String| MapKind::Normal.unusable(path, why);
    let [away, all] = away(&view.camera, &normals);
    if all == 0 {
        let why =
            "none of its pixels has a direction; pictures of whole numbers hold (n + 1) / 2, others n, from -1 to 1";
        return Err(unusable(why.to_owned()));
    }
    if 2 * away > all {
        return Err(unusable(format!(
            "{:.0} % of its normals point away from the camera in the axes `{}`; set dataset.normals_axes to {}",
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
