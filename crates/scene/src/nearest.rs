//! How near the sparse points of a picture come to its camera: whatever is drawn nearer has no point to stand on.

use super::{Camera, Point};

/// One in this many of a picture's points may be a stray that was matched wrongly, and lie in front of everything real.
const STRAYS_ONE_IN: usize = 200;

/// Depth, as [`Camera::sees`] has it, of the nearest of `points` that the picture of `camera` contains, world units.
///
/// A picture contains a point that [`Camera::sees`]; whether something hides the point is not asked. The nearest one in 200 of
/// those points are passed over, so that a few wrong ones do not decide: with fewer than 200 none are. `None` when the picture
/// contains no point.
#[must_use]
pub fn nearest_point_depth(points: &[Point], camera: &Camera) -> Option<f32> {
    let seen = points.iter().filter_map(|point| camera.sees(point.position));
    without_strays(
        seen.map(|[_, _, depth]| depth)
            .filter(|depth| depth.is_finite())
            .collect(),
    )
}

/// The least of `values` once one in 200 has been passed over; `None` without values.
pub(super) fn without_strays(mut values: Vec<f32>) -> Option<f32> {
    let strays = values.len() / STRAYS_ONE_IN;
    (strays < values.len()).then(|| *values.select_nth_unstable_by(strays, f32::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks along +z from (0, 0, -1), 90 degrees wide.
    fn camera() -> Camera {
        Camera {
            width_px: 100,
            height_px: 80,
            fx: 50.0,
            fy: 50.0,
            cx: 50.0,
            cy: 40.0,
            rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            translation: [0.0, 0.0, 1.0],
            lens: None,
        }
    }

    fn points(positions: &[[f32; 3]]) -> Vec<Point> {
        let point = |position: &[f32; 3]| Point {
            position: *position,
            color: [0; 3],
        };
        positions.iter().map(point).collect()
    }

    #[test]
    fn points_outside_the_picture_do_not_count() {
        let depth = |positions: &[[f32; 3]]| nearest_point_depth(&points(positions), &camera());
        assert_eq!(depth(&[]), None);
        // Behind the camera, at its centre, left of and above the picture, and no number.
        let outside = [
            [0.0, 0.0, -3.0],
            [0.0, 0.0, -1.0],
            [-2.1, 0.0, 1.0],
            [0.0, 1.7, 1.0],
            [f32::NAN, 0.0, 1.0],
            [0.0, 0.0, f32::INFINITY],
        ];
        assert_eq!(depth(&outside), None);
        let all: Vec<[f32; 3]> = outside.into_iter().chain([[0.5, 0.0, 4.0], [-1.9, 1.5, 1.0]]).collect();
        assert_eq!(depth(&all), Some(2.0));
        // The left edge belongs to the picture, the right one does not.
        assert_eq!(depth(&[[-2.0, 0.0, 1.0]]), Some(2.0));
        assert_eq!(depth(&[[2.0, 0.0, 1.0]]), None);
    }

    #[test]
    fn one_stray_in_two_hundred_does_not_decide() {
        let near = |n: usize| {
            let depths = (0..n).map(|i| [0.0, 0.0, if i == n / 2 { -0.5 } else { 2.0 + i as f32 }]);
            nearest_point_depth(&points(&depths.collect::<Vec<_>>()), &camera())
        };
        assert_eq!(near(199), Some(0.5));
        assert_eq!(near(200), Some(3.0));
    }
}
