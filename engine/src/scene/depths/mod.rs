//! Depth maps of training photos: which files they are, and what their values mean.
//!
//! Owns the search for a photo's map, the fit of scale and shift to the sparse points, and the words of inverse depth that the
//! device compares renders with. A map lies over the stored picture of its photo, whatever its own size: it is turned and
//! undistorted with it, and a pixel takes the nearest value. Maps that do not follow the points are left out and named.

mod fit;
mod map;
mod npy;
mod params;

use std::path::{Path, PathBuf};

use fit::LEAST_POINTS;
pub use fit::{DepthFit, Meaning};
pub(in crate::scene) use map::WORKING_BYTES_PER_PIXEL;

use super::error::listed;
use super::fence::Fence;
use super::photos::pixels;
use super::photos::upright::Upright;
use super::view::{MaskFile, View, without_extension};
use super::{Camera, Point, SceneError, evenly};

/// Most points that a photo's fit is made from.
pub const MOST_FIT_POINTS: u32 = 2048;
/// Fits that are further off are left out: the median point lies a sixth nearer or farther.
const MOST_ERROR: f64 = 0.15;
/// Threads that fit.
const THREADS: usize = 8;
/// Steps of inverse depth in the unit of a photo.
const STEPS: f64 = 4096.0;

/// The depth map of a view.
#[derive(Clone, Debug, PartialEq)]
pub struct DepthMap {
    /// The file, and its width and height, pixels.
    pub file: MaskFile,
    /// How far each of its pixels is trusted: 255 wholly, 0 not at all.
    pub confidence: Option<MaskFile>,
    /// What its values mean.
    pub fit: DepthFit,
}

impl DepthMap {
    /// A word for each pixel of a photo at training resolution, see [`word`]. `size_px` is its size, `source_px` that before it
    /// was resized.
    pub(in crate::scene) fn words(
        &self,
        upright: &Upright,
        source_px: (u32, u32),
        size_px: (u32, u32),
    ) -> Result<Vec<u32>, SceneError> {
        let values = laid_over(
            map::values(&self.file.path, self.file.size_px)?,
            self.file.size_px,
            upright,
            source_px,
            size_px,
        );
        let trust = match &self.confidence {
            Some(file) => {
                let trust = pixels::decode(&file.path, file.size_px)?.into_luma8().into_raw();
                Some(laid_over(trust, file.size_px, upright, source_px, size_px))
            }
            None => None,
        };
        let trust_of = |at: usize| trust.as_ref().map_or(u8::MAX, |trust| trust[at]);
        let words = values.iter().enumerate().map(|(at, value)| match *value {
            0.0 => 0,
            value => self
                .fit
                .inverse_depth(value)
                .map_or(0, |inverse| word(inverse / self.fit.unit, trust_of(at))),
        });
        Ok(words.collect())
    }
}

/// What the device reads of a pixel: inverse depth in the photo's unit, in 1/4096 in the low 16 bits, and above it how far it is
/// trusted, 0 to 255; 0 for nothing, which is also what becomes of depths that 16 bits cannot hold.
fn word(inverse: f64, trust: u8) -> u32 {
    let steps = (inverse * STEPS).round();
    if steps >= 1.0 && steps <= f64::from(u16::MAX) {
        u32::from(trust) << 16 | steps as u32
    } else {
        0
    }
}

/// For each pixel at training resolution the nearest value of a plane over the stored picture.
fn laid_over<T: Copy + Default>(
    plane: Vec<T>,
    plane_px: (u32, u32),
    upright: &Upright,
    source_px: (u32, u32),
    size_px: (u32, u32),
) -> Vec<T> {
    let stored = upright.file_px;
    let ratio = |a: u32, b: u32| f64::from(a) / f64::from(b);
    let step = [ratio(source_px.0, size_px.0), ratio(source_px.1, size_px.1)];
    let scale = [ratio(plane_px.0, stored.0), ratio(plane_px.1, stored.1)];
    let at = |place: f64, side: u32| (place.max(0.0) as u32).min(side.saturating_sub(1)) as usize;
    let mut out = Vec::with_capacity(size_px.0 as usize * size_px.1 as usize);
    for y in 0..size_px.1 {
        for x in 0..size_px.0 {
            let place = [(f64::from(x) + 0.5) * step[0], (f64::from(y) + 0.5) * step[1]];
            let [column, row] = upright.stored_place(place);
            let index = at(row * scale[1], plane_px.1) * plane_px.0 as usize + at(column * scale[0], plane_px.0);
            out.push(plane.get(index).copied().unwrap_or_default());
        }
    }
    out
}

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
    let folder = root.join(folder);
    let found: Vec<(usize, PathBuf)> = train
        .iter()
        .enumerate()
        .filter_map(|(at, view)| Some((at, candidates(view, &folder).find(|path| path.is_file())?)))
        .collect();
    if found.is_empty() {
        let name = train.first().map_or("PHOTO", |view| without_extension(&view.name));
        let looked_for = map::ENDINGS.map(|ending| format!("{name}.{ending}")).join(", ");
        return Err(SceneError::NoDepths {
            images: train.len(),
            looked_for,
            folder,
        });
    }
    let given = params::read(root, fence)?;
    let fits: Vec<Result<DepthMap, SceneError>> = {
        let view_of = |(at, path): &(usize, PathBuf)| one(&train[*at], path, points, given.as_ref(), *at as u64, fence);
        let share = found.len().div_ceil(THREADS).max(1);
        std::thread::scope(|scope| {
            let threads: Vec<_> = found
                .chunks(share)
                .map(|part| (part, scope.spawn(move || part.iter().map(view_of).collect::<Vec<_>>())))
                .collect();
            let joined = threads.into_iter().flat_map(|(part, thread)| {
                let none = || {
                    part.iter()
                        .map(|(_, path)| Err(unusable(path, "its decoder failed".to_owned())))
                        .collect()
                };
                thread.join().unwrap_or_else(|_| none())
            });
            joined.collect()
        })
    };
    let (mut errors, mut inverse, mut left_out) = (Vec::new(), 0, Vec::new());
    let maps = found.len();
    for ((at, _), fit) in found.into_iter().zip(fits) {
        match fit {
            Ok(map) => {
                inverse += usize::from(map.fit.meaning == Meaning::Inverse);
                errors.push(map.fit.error);
                train[at].depth = Some(map);
            }
            Err(error @ SceneError::LinkOut { .. }) => return Err(error),
            Err(error) => left_out.push(format!("{} ({})", train[at].name, error.short())),
        }
    }
    if errors.is_empty() {
        return Err(SceneError::DepthMap {
            path: folder,
            detail: format!("none of {maps} maps can be used: {}", listed(&left_out)),
        });
    }
    errors.sort_unstable_by(f64::total_cmp);
    notices.push(format!(
        "depth maps of {} of {} training photos, {inverse} of inverse depth; the median point is {:.1} % off",
        errors.len(),
        train.len(),
        100.0 * errors[errors.len() / 2].exp_m1()
    ));
    if !left_out.is_empty() {
        warnings.push(format!(
            "{} of {maps} depth maps are left out: {}",
            left_out.len(),
            listed(&left_out)
        ));
    }
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
    let size_px = map::size(path, fence)?;
    let confidence = path.with_extension("confidence.png");
    let confidence = match confidence.is_file() {
        true => Some(MaskFile {
            size_px: map::size(&confidence, fence)?,
            path: confidence,
        }),
        false => None,
    };
    let values = map::values(path, size_px)?;
    let camera = &view.camera;
    let values = laid_over(
        values,
        size_px,
        &view.upright,
        (view.source_width, view.source_height),
        (camera.width_px, camera.height_px),
    );
    let pairs = pairs(view, camera, points, &values);
    let fit = match given {
        Some(given) => given.fit(&view.name, &pairs).map_err(|why| unusable(path, why))?,
        None => {
            let fit = DepthFit::of(&pairs, seed).ok_or_else(|| {
                let why = format!("{} of its pixels show points, and no line fits them", pairs.len());
                unusable(path, why)
            })?;
            if fit.error > MOST_ERROR {
                let why = format!("the median point is {:.0} % off", 100.0 * fit.error.exp_m1());
                return Err(unusable(path, why));
            }
            fit
        }
    };
    Ok(DepthMap {
        file: MaskFile {
            path: path.to_owned(),
            size_px,
        },
        confidence,
        fit,
    })
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

/// Files that may be the map of a view, in the order they are tried: in a tree that mirrors the photos', then by their own names.
fn candidates<'a>(view: &'a View, folder: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
    let whole = without_extension(&view.name);
    let own = whole.rsplit('/').next().unwrap_or(whole);
    [whole, own]
        .into_iter()
        .flat_map(move |stem| map::ENDINGS.map(|ending| folder.join(format!("{stem}.{ending}"))))
}

fn unusable(path: &Path, detail: String) -> SceneError {
    SceneError::DepthMap {
        path: path.to_owned(),
        detail,
    }
}

#[cfg(test)]
mod tests;
