//! By how much photos of a scene differ in exposure: what their colours at shared points say.
//!
//! Owns the measure and the sample that it is taken from. A point of the sparse model that several photos show has one colour
//! in the scene; where its brightness differs between photos by factors that are the same for all points of a photo, shutter,
//! gain or light differed. Promises to hold few decoded photos at a time and to look at [`MOST_PHOTOS`] of them and
//! [`MOST_POINTS`] points at most. A photo that cannot be decoded is passed over here; training reports it.

use std::collections::BTreeMap;

use super::{Camera, ImageOptions, ImageStore, Photo, SceneError, SceneIndex, Split, ViewId, evenly};

/// Most photos that are decoded.
const MOST_PHOTOS: usize = 60;
/// Most points that are looked at.
const MOST_POINTS: usize = 2000;
/// Photos that must show a point.
const LEAST_SEEN: usize = 3;
/// Points that a photo must show for its exposure to be measured, and photos of which it must be.
const LEAST: usize = 16;
const LEAST_PHOTOS: usize = 3;
/// Brightness outside of which a pixel says little about exposure: noise below, clipping above.
const TELLING: std::ops::RangeInclusive<f64> = 0.03..=0.97;
/// Rounds of fitting points and photos in turn.
const ROUNDS: u32 = 50;
/// Memory of decoded photos, bytes: the next ones are decoded while one is read.
const CACHE_BYTES: u64 = 64 << 20;
const AHEAD: usize = 3;

/// Brightness of a point in a photo.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    photo: usize,
    point: usize,
    /// Natural logarithm of the brightness.
    log: f64,
}

/// Standard deviation over the training photos of the logarithm of their exposure, as the brightness of stored colours at shared
/// points shows it: 0.1 = photos differ by some 10 %. `None` when the scene names no points that three photos show, or too few of
/// them; [`SceneOptions::seen_points`](super::SceneOptions::seen_points) must have asked for points.
///
/// # Errors
/// [`SceneError::Io`] when the system refuses threads to decode with.
pub fn exposure_spread(scene: &SceneIndex) -> Result<Option<f64>, SceneError> {
    let showing: Vec<usize> = (0..scene.train.len())
        .filter(|index| !scene.train[*index].seen.is_empty())
        .collect();
    let photos: Vec<usize> = evenly(showing.len(), MOST_PHOTOS).map(|i| showing[i]).collect();
    let points = shared_points(scene, &photos);
    if points.is_empty() {
        return Ok(None);
    }
    let options = ImageOptions {
        cache_bytes: Some(CACHE_BYTES),
        ..ImageOptions::default()
    };
    let store = ImageStore::open(scene, options)?;
    let id = |index: &usize| ViewId {
        split: Split::Train,
        index: *index,
    };
    let mut samples = Vec::new();
    for (at, index) in photos.iter().enumerate() {
        store.prefetch(photos.iter().skip(at + 1).take(AHEAD).map(id));
        let Ok(photo) = store.get(id(index)) else {
            continue;
        };
        let camera = &scene.train[*index].camera;
        for (point, (position, shown)) in points.iter().enumerate() {
            let log = shown.contains(&at).then(|| brightness(&photo, camera, *position));
            samples.extend(log.flatten().map(|value| Sample {
                photo: at,
                point,
                log: value.ln(),
            }));
        }
    }
    Ok(spread(&samples, photos.len(), points.len()))
}

/// Points that at least [`LEAST_SEEN`] of `photos` show, each with the places of those in the list.
fn shared_points(scene: &SceneIndex, photos: &[usize]) -> Vec<([f32; 3], Vec<usize>)> {
    let mut by_position = BTreeMap::<[u32; 3], Vec<usize>>::new();
    for (at, index) in photos.iter().enumerate() {
        for point in scene.train[*index].seen.iter() {
            let shown = by_position.entry(point.position.map(f32::to_bits)).or_default();
            // A photo may list a point twice.
            if shown.last() != Some(&at) {
                shown.push(at);
            }
        }
    }
    let shared: Vec<[u32; 3]> = by_position
        .iter()
        .filter(|(_, shown)| shown.len() >= LEAST_SEEN)
        .map(|(position, _)| *position)
        .collect();
    evenly(shared.len(), MOST_POINTS)
        .map(|i| shared[i])
        .filter_map(|bits| Some((bits.map(f32::from_bits), by_position.remove(&bits)?)))
        .collect()
}

/// Mean brightness (weights of Rec. 709, of colours as they are stored, 0 to 1) of the 3 by 3 pixels about the place of a point;
/// `None` where they are not all inside and counting, or where it says nothing.
fn brightness(photo: &Photo, camera: &Camera, position: [f32; 3]) -> Option<f64> {
    let [x, y, _] = camera.sees(position)?;
    let [x, y] = [x, y].map(|value| value as usize);
    let mut sum = 0.0;
    for (dx, dy) in (0..9).map(|k| (k % 3, k / 3)) {
        let (column, row) = ((x + dx).checked_sub(1)?, (y + dy).checked_sub(1)?);
        if column >= camera.width_px as usize || row >= camera.height_px as usize {
            return None;
        }
        let pixel = row * camera.width_px as usize + column;
        if photo.mask().is_some_and(|mask| mask.get(pixel) != Some(&255)) {
            return None;
        }
        let [r, g, b] = *photo.get(3 * pixel..)?.first_chunk::<3>()?;
        sum += 0.2126 * f64::from(r) + 0.7152 * f64::from(g) + 0.0722 * f64::from(b);
    }
    Some(sum / (9.0 * 255.0)).filter(|value| TELLING.contains(value))
}

/// Standard deviation of the photos' parts when logarithms are fitted by a part of the photo and one of the point, in least
/// squares: a photo that shows the brighter part of the scene is no brighter for it.
fn spread(samples: &[Sample], photos: usize, points: usize) -> Option<f64> {
    let mut of_photo = vec![0.0; photos];
    let mut counts = vec![0_usize; photos];
    for sample in samples {
        counts[sample.photo] += 1;
    }
    for _ in 0..ROUNDS {
        let left = |sample: &Sample, of_photo: &[f64]| sample.log - of_photo[sample.photo];
        let of_point = means(samples.iter().map(|s| (s.point, left(s, &of_photo))), points);
        of_photo = means(samples.iter().map(|s| (s.photo, s.log - of_point[s.point])), photos);
    }
    let reported = counts.iter().zip(&of_photo).filter(|(count, _)| **count >= LEAST);
    let reported: Vec<f64> = reported.map(|(_, value)| *value).collect();
    if reported.len() < LEAST_PHOTOS {
        return None;
    }
    let count = reported.len() as f64;
    let mean = reported.iter().sum::<f64>() / count;
    let square = reported
        .iter()
        .map(|value| (value - mean) * (value - mean))
        .sum::<f64>();
    Some((square / count).sqrt())
}

/// Mean of the values of each index below `count`, 0 where there is none.
fn means(values: impl Iterator<Item = (usize, f64)>, count: usize) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); count];
    for (index, value) in values {
        let (sum, n) = &mut sums[index];
        *sum += value;
        *n += 1.0;
    }
    sums.into_iter().map(|(sum, n)| sum / f64::max(n, 1.0)).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    /// Each photo shows a fifth of the points, which get brighter along the way.
    fn samples(gains: &[f64]) -> Vec<Sample> {
        let shown = |photo: usize, point: usize| (point + 400 - 20 * photo) % 400 < 80;
        let pairs = (0..gains.len()).flat_map(|photo| (0..400).map(move |point| (photo, point)));
        pairs
            .filter(|(photo, point)| shown(*photo, *point))
            .map(|(photo, point)| Sample {
                photo,
                point,
                log: gains[photo].ln() - 0.005 * point as f64 + 0.01 * ((photo * 7 + point * 13) % 11) as f64,
            })
            .collect()
    }

    #[test]
    fn gains_are_told_from_points_that_differ() {
        let equal = spread(&samples(&[0.8; 20]), 20, 400).unwrap();
        assert!(equal < 0.01, "{equal}");
        let gains: Vec<f64> = (0..20)
            .map(|photo| (0.15 * if photo % 2 == 0 { 1.0_f64 } else { -1.0 }).exp())
            .collect();
        let found = spread(&samples(&gains), 20, 400).unwrap();
        assert!((found - 0.15).abs() < 0.01, "{found}");
    }

    #[test]
    fn too_little_says_nothing() {
        assert_eq!(spread(&[], 0, 0), None);
        assert_eq!(spread(&samples(&[1.0, 2.0]), 2, 400), None);
        let few: Vec<Sample> = samples(&[1.0; 20]).into_iter().filter(|s| s.point < 10).collect();
        assert_eq!(spread(&few, 20, 400), None);
    }

    #[test]
    fn brightness_is_of_pixels_that_are_there_and_tell() {
        let camera = Camera {
            width_px: 5,
            height_px: 4,
            fx: 1.0,
            fy: 1.0,
            cx: 0.0,
            cy: 0.0,
            rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            translation: [0.0; 3],
            lens: None,
        };
        let mut rgb = vec![51; 60];
        let photo = |rgb: &[u8], mask: Option<&[u8]>| Photo::new(rgb.to_vec(), mask);
        let at = |photo: &Photo, x: f32, y: f32, z: f32| brightness(photo, &camera, [x * z, y * z, z]);
        let gray = photo(&rgb, None);
        assert!((at(&gray, 1.5, 2.5, 3.0).unwrap() - 0.2).abs() < 1e-9);
        for [x, y, z] in [
            [0.5, 2.5, 1.0],
            [4.5, 2.5, 1.0],
            [1.5, 3.5, 1.0],
            [1.5, 2.5, -1.0],
            [f32::NAN, 1.0, 1.0],
        ] {
            assert_eq!(at(&gray, x, y, z), None, "{x} {y} {z}");
        }
        let mut mask = [255; 20];
        mask[2 * 5 + 2] = 0;
        assert_eq!(at(&photo(&rgb, Some(&mask)), 1.5, 2.5, 1.0), None);
        assert!(at(&photo(&rgb, Some(&[255; 20])), 1.5, 2.5, 1.0).is_some());
        rgb.fill(255);
        assert_eq!(at(&photo(&rgb, None), 1.5, 2.5, 1.0), None);
    }
}
