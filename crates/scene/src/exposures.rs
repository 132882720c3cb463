//! By how much photos of a scene differ in exposure and white balance: what their colours at shared points say.
//!
//! Owns the measure and the sample that it is taken from. A point of the sparse model that several photos show has one colour
//! in the scene; where its brightness differs between photos by factors that are the same for all points of a photo, shutter,
//! gain or light differed. Towards the corners and with the distance brightness may fall as well, by a lens that darkens them and by a
//! light that moves with the camera: both are fitted beside the photos' factors, or they would pass for them. Promises to hold few
//! decoded photos at a time and to look at [`MOST_POINTS`] points at most. A photo that cannot be decoded is
//! passed over here; training reports it.

mod fit;

use std::collections::BTreeMap;

use fit::{Fit, Sample};

use super::{Camera, ImageOptions, ImageStore, Photo, SceneError, SceneIndex, Split, ViewId, evenly};

/// Photos that say whether photos differ.
pub const FEW_PHOTOS: usize = 60;
/// Most points that are looked at.
const MOST_POINTS: usize = 2000;
/// Photos that must show a point.
const LEAST_SEEN: usize = 3;
/// Points that a photo must show for its exposure to be measured, and photos of which it must be.
const LEAST: usize = 16;
const LEAST_PHOTOS: usize = 3;
/// Brightness outside of which a pixel says little about exposure: noise below, clipping above.
const TELLING: std::ops::RangeInclusive<f64> = 0.03..=0.97;
/// Memory of decoded photos, bytes: the next ones are decoded while one is read.
const CACHE_BYTES: u64 = 64 << 20;
const AHEAD: usize = 3;
/// Weights of red, green and blue in brightness (Rec. 709).
const BRIGHTNESS: [f64; 3] = [0.2126, 0.7152, 0.0722];
/// Darkening of the corners that is reported: of this much or more, and this many times its standard error.
const LEAST_VIGNETTING: f64 = 0.05;
const CERTAIN: f64 = 4.0;

/// By how much a quantity differs from photo to photo, as natural logarithms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Difference {
    /// Standard deviation over photos: 0.1 = they differ by some 10 %.
    pub spread: f64,
    /// Deviation, at a single point, of what the photos' parts leave unexplained.
    pub left: f64,
}

/// The exposure of a photo in units of the others'.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PhotoExposure {
    /// Place among the training views.
    pub view: usize,
    /// Natural logarithms of the factors of red, green and blue.
    pub log_gains: [f64; 3],
}

/// What colours at shared points say of the photos' exposures.
#[derive(Clone, Debug, PartialEq)]
pub struct Exposures {
    /// Brightness.
    pub brightness: Difference,
    /// White balance: red and blue over green.
    pub white_balance: [Difference; 2],
    /// Natural logarithm of the brightness at a corner over that in the middle, where it is certain.
    pub vignetting: Option<f64>,
    /// Power of the distance that brightness goes with: near 0, or well below where the light is at the camera.
    pub falloff: f64,
    /// The photos that were measured, ascending.
    pub photos: Vec<PhotoExposure>,
}

/// Measures at most `most` of the training photos by the brightness of stored colours at shared points. `None` when the scene names no points that three
/// photos show, or too few of them; [`SceneOptions::seen_points`](super::SceneOptions::seen_points) must have asked for points.
///
/// # Errors
/// [`SceneError::Io`] when the system refuses threads to decode with.
pub fn exposures(scene: &SceneIndex, most: usize) -> Result<Option<Exposures>, SceneError> {
    let showing: Vec<usize> = (0..scene.train.len())
        .filter(|index| !scene.train[*index].seen.is_empty())
        .collect();
    let photos: Vec<usize> = evenly(showing.len(), most).map(|i| showing[i]).collect();
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
    let mut looks = Vec::new();
    for (at, index) in photos.iter().enumerate() {
        store.prefetch(photos.iter().skip(at + 1).take(AHEAD).map(id));
        let Ok(photo) = store.get(id(index)) else {
            continue;
        };
        let camera = &scene.train[*index].camera;
        for (point, (position, shown)) in points.iter().enumerate() {
            let look = shown.contains(&at).then(|| Look::of(&photo, camera, *position));
            looks.extend(look.flatten().map(|look| (at, point, look)));
        }
    }
    let found = measured(&looks, photos.len(), points.len());
    Ok(found.map(|mut found| {
        for photo in &mut found.photos {
            photo.view = photos[photo.view];
        }
        found
    }))
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

/// A point in a photo.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Look {
    /// Mean of the 3 by 3 pixels about it, as they are stored, 0 to 1.
    rgb: [f64; 3],
    /// Natural logarithm of its distance from the camera.
    log_distance: f64,
    /// Square of its distance from the principal point, in units of the farthest corner's.
    radius_squared: f64,
}

impl Look {
    /// `None` where the pixels are not all inside and counting, or where they say nothing.
    fn of(photo: &Photo, camera: &Camera, position: [f32; 3]) -> Option<Self> {
        let [u, v, _] = camera.sees(position)?;
        let [x, y] = [u, v].map(|value| value as usize);
        let mut rgb = [0.0; 3];
        for (dx, dy) in (0..9).map(|k| (k % 3, k / 3)) {
            let (column, row) = ((x + dx).checked_sub(1)?, (y + dy).checked_sub(1)?);
            if column >= camera.width_px as usize || row >= camera.height_px as usize {
                return None;
            }
            let pixel = row * camera.width_px as usize + column;
            if photo.mask().is_some_and(|mask| mask.get(pixel) != Some(&255)) {
                return None;
            }
            let found = photo.get(3 * pixel..)?.first_chunk::<3>()?;
            for (sum, value) in rgb.iter_mut().zip(found) {
                *sum += f64::from(*value) / (9.0 * 255.0);
            }
        }
        let from = camera.position();
        let squared: f64 = (0..3)
            .map(|axis| (f64::from(position[axis]) - f64::from(from[axis])).powi(2))
            .sum();
        let off = |at: f32, center: f32| f64::from(at - center).powi(2);
        let corner = |size: u32, center: f32| f64::from(center.max(size as f32 - center)).powi(2);
        let farthest = corner(camera.width_px, camera.cx) + corner(camera.height_px, camera.cy);
        let look = Self {
            rgb,
            log_distance: 0.5 * squared.ln(),
            radius_squared: (off(u, camera.cx) + off(v, camera.cy)) / farthest,
        };
        let says = TELLING.contains(&look.brightness()) && look.log_distance.is_finite();
        says.then_some(look)
    }

    fn brightness(&self) -> f64 {
        self.rgb
            .iter()
            .zip(BRIGHTNESS)
            .map(|(value, weight)| value * weight)
            .sum()
    }

    /// Logarithm of the channel over green, where both say something.
    fn over_green(&self, channel: usize) -> Option<f64> {
        let all = self.rgb.iter().all(|value| TELLING.contains(value));
        all.then(|| (self.rgb[channel] / self.rgb[1]).ln())
    }
}

/// What looks at points say; photos are numbered as in the looks.
fn measured(looks: &[(usize, usize, Look)], photos: usize, points: usize) -> Option<Exposures> {
    let fitted = |log: &dyn Fn(&Look) -> Option<f64>| {
        let sample = |(photo, point, look): &(usize, usize, Look)| {
            Some(Sample {
                photo: *photo,
                point: *point,
                log: log(look)?,
                beside: [look.log_distance, look.radius_squared],
            })
        };
        let samples: Vec<Sample> = looks.iter().filter_map(sample).collect();
        Fit::of(&samples, photos, points)
    };
    let brightness = fitted(&|look| Some(look.brightness().ln()));
    let difference = |fit: &Fit| {
        Some(Difference {
            spread: fit.spread(LEAST, LEAST_PHOTOS)?,
            left: fit.left,
        })
    };
    let of_brightness = difference(&brightness)?;
    let colors = [0, 2].map(|channel| fitted(&|look| look.over_green(channel)));
    let [falloff, corner] = brightness.slopes;
    let is_certain = corner.abs() >= LEAST_VIGNETTING && corner.abs() >= CERTAIN * brightness.errors[1];
    let gains = |photo: usize| {
        let [red, blue] = [0, 1].map(|k| colors[k].of_photo(photo, LEAST).unwrap_or(0.0));
        let green = brightness.of_photo(photo, LEAST)? - BRIGHTNESS[0] * red - BRIGHTNESS[2] * blue;
        Some(PhotoExposure {
            view: photo,
            log_gains: [green + red, green, green + blue],
        })
    };
    Some(Exposures {
        brightness: of_brightness,
        white_balance: [0, 1].map(|k| difference(&colors[k]).unwrap_or_default()),
        vignetting: is_certain.then_some(corner),
        falloff,
        photos: (0..photos).filter_map(gains).collect(),
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

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
        let at = |photo: &Photo, x: f32, y: f32, z: f32| {
            Look::of(photo, &camera, [x * z, y * z, z]).map(|look| look.brightness())
        };
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
