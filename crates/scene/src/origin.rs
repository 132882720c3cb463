//! Where a scene lies: the place that its coordinates are counted from.
//!
//! Georeferenced models have coordinates of hundreds of thousands or millions, of which f32 keeps a tenth or a half of a unit.
//! Such a scene gets an origin near its cameras, taken off poses and points in f64 before anything becomes f32; whatever is
//! written is relative to it. Owns the choice. Promises an origin of exactly zero for scenes that lie where f32 is fine enough,
//! and the same origin for the same files, whichever photos are there.

use std::path::Path;

use kiln_ply::parse_origin;

use super::SceneError;
use super::fence::Fence;
use super::formats::posed::PosedImage;
use super::median::median;
use crate::math::{Vec3, dot};

/// A file in a scene's folder that says its origin: three numbers. Parts of one scene have it, so that they share one.
pub const ORIGIN_FILE: &str = "origin.txt";
/// From how many times its own size on a scene's distance from zero costs more than f32 has: at that distance it keeps a
/// hundred-thousandth of the size.
const FAR: f64 = 100.0;
/// Most points that a scene's size is measured with.
const MOST_POINTS: usize = 1 << 15;
/// Longest file that is read, bytes.
const MOST_BYTES: u64 = 4096;

/// The origin for cameras at `centres` and points at `points`, world units; zero where they lie near enough to zero.
///
/// It is the median of the cameras, each coordinate on its own, in whole units, or in powers of two of scenes smaller than one. A scene's
/// size is the median distance from there of the cameras, or of the points where that is larger.
#[must_use]
pub fn choose(centres: &[Vec3<f64>], points: impl ExactSizeIterator<Item = Vec3<f64>> + Clone) -> Vec3<f64> {
    let is_finite = |place: &Vec3<f64>| place.iter().all(|value| value.is_finite());
    let centres: Vec<Vec3<f64>> = centres.iter().copied().filter(is_finite).collect();
    let middle: Vec3<f64> =
        std::array::from_fn(|axis| median(centres.iter().map(|centre| centre[axis])).unwrap_or(0.0));
    let farthest = middle.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    let distance = |place: Vec3<f64>| {
        let [x, y, z]: Vec3<f64> = std::array::from_fn(|axis| place[axis] - middle[axis]);
        x.hypot(y).hypot(z)
    };
    let every = points.len().div_ceil(MOST_POINTS).max(1);
    let of_points = median(points.step_by(every).filter(is_finite).map(distance)).unwrap_or(0.0);
    let of_cameras = median(centres.iter().map(|centre| distance(*centre))).unwrap_or(0.0);
    let size = match of_cameras.max(of_points) {
        size if size > 0.0 => size,
        // One camera without points says nothing of its size.
        _ => 1.0,
    };
    if farthest <= FAR * size {
        return [0.0; 3];
    }
    let unit = size.log2().floor().exp2().min(1.0);
    middle.map(|value| (value / unit).round() * unit)
}

/// What the file of a scene's folder says; none without one.
///
/// # Errors
/// [`SceneError`] when it holds anything but three numbers.
pub(super) fn given(root: &Path, fence: &Fence) -> Result<Option<Vec3<f64>>, SceneError> {
    let path = root.join(ORIGIN_FILE);
    if !path.is_file() {
        return Ok(None);
    }
    fence.check(&path)?;
    let bytes = path.metadata().map_err(|e| SceneError::io(&path, "inspect", e))?.len();
    let wrong = |found: String| {
        let remedy = "it holds the scene's origin as three numbers, x y z, or is not there";
        SceneError::malformed(&path, "the origin", found, remedy)
    };
    if bytes > MOST_BYTES {
        return Err(wrong(format!("{bytes} bytes")));
    }
    let text = kiln_files::read_regular(&path, MOST_BYTES).map_err(|e| SceneError::io(&path, "read", e))?;
    let text = String::from_utf8_lossy(&text);
    parse_origin(text.trim_start_matches('\u{feff}'))
        .map(Some)
        .ok_or_else(|| wrong(format!("{:?}", text.chars().take(60).collect::<String>())))
}

/// An origin as text that is read without loss.
#[must_use]
pub fn text([x, y, z]: Vec3<f64>) -> String {
    format!("{x} {y} {z}")
}

/// Chooses the origin of a scene of these photos and points, unless `given`, and takes it off the poses.
pub(super) fn take_off(
    given: Option<Vec3<f64>>,
    images: &mut [&mut [PosedImage]],
    points: impl ExactSizeIterator<Item = Vec3<f64>> + Clone,
) -> Vec3<f64> {
    let origin = given.unwrap_or_else(|| {
        let centres: Vec<Vec3<f64>> = images.iter().flat_map(|images| images.iter()).map(centre).collect();
        choose(&centres, points)
    });
    if origin != [0.0; 3] {
        for image in images.iter_mut().flat_map(|images| images.iter_mut()) {
            for (value, row) in image.translation.iter_mut().zip(image.rotation) {
                *value += dot(row, origin);
            }
        }
    }
    origin
}

/// Where a photo was taken, world units.
fn centre(image: &PosedImage) -> Vec3<f64> {
    let (r, t) = (&image.rotation, image.translation);
    std::array::from_fn(|axis| -(r[0][axis] * t[0] + r[1][axis] * t[1] + r[2][axis] * t[2]))
}

/// What is said of an origin that is not zero.
pub(super) fn notice(origin: Vec3<f64>, given: bool) -> String {
    let origin = text(origin);
    if given {
        return format!(
            "coordinates are relative to the origin {origin} of {ORIGIN_FILE}, in all files that are written too"
        );
    }
    format!(
        "the scene lies far from zero, where coordinates of 32 bits are too coarse; they are relative to the origin {origin}, in all \
         files that are written too (run.json has it as scene.origin)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(middle: [f64; 3], radius: f64) -> Vec<Vec3<f64>> {
        (0..20)
            .map(|n| {
                let (sin, cos) = (f64::from(n) * 0.314).sin_cos();
                [middle[0] + radius * sin, middle[1] + radius * cos, middle[2]]
            })
            .collect()
    }

    fn chosen(middle: [f64; 3], radius: f64) -> Vec3<f64> {
        choose(&ring(middle, radius), [].into_iter())
    }

    #[test]
    fn scenes_near_zero_keep_their_coordinates() {
        for scale in [1e-4, 1.0, 1e4] {
            for at in [[0.0; 3], [5.0, -3.0, 40.0], [0.0, -90.0, 0.0]] {
                assert_eq!(
                    chosen(at.map(|value: f64| value * scale), 3.0 * scale),
                    [0.0; 3],
                    "{at:?} {scale}"
                );
            }
        }
        assert_eq!(choose(&[], [[1e9; 3]].into_iter()), [0.0; 3]);
    }

    #[test]
    fn an_origin_lies_among_the_cameras_whatever_unit_and_sign_they_have() {
        for at in [
            [448_262.0, 5_411_932.0, 311.0],
            [-4_000_000.0, 500_000.0, -4_900_000.0],
            [1000.0, 0.0, 0.0],
        ] {
            for scale in [1e-4, 1.0, 1e4] {
                let middle = at.map(|value: f64| value * scale);
                let origin = chosen(middle, 3.0 * scale);
                for axis in 0..3 {
                    let off = (origin[axis] - middle[axis]).abs();
                    assert!(off <= 4.5 * scale, "{at:?} {scale}: {origin:?}");
                }
                assert_eq!(parse_origin(&text(origin)), Some(origin));
            }
        }
    }

    #[test]
    fn a_pair_of_cameras_beside_each_other_is_as_large_as_what_it_sees() {
        let pair = [[0.0, 0.0, 50.0], [0.06, 0.0, 50.0]];
        let wall: Vec<Vec3<f64>> = (0..50).map(|n| [f64::from(n) * 0.1, 0.0, 55.0]).collect();
        assert_eq!(choose(&pair, wall.into_iter()), [0.0; 3]);
    }

    #[test]
    fn strays_do_not_move_the_origin() {
        let middle = [448_262.0, 5_411_932.0, 311.0];
        let mut centres = ring(middle, 3.0);
        centres.extend([[0.0; 3], [1e30, f64::NAN, 0.0]]);
        let points: Vec<Vec3<f64>> = centres.clone();
        let origin = choose(&centres, points.into_iter());
        assert!(
            (0..3).all(|axis| (origin[axis] - middle[axis]).abs() < 4.0),
            "{origin:?}"
        );
    }
}
