//! How near things are to the cameras, from the sparse points: scenes have no unit of length, so what must be small against
//! the distance of the nearest things is measured in it.
//!
//! Promises figures that follow from training views and points alone and scale with the scene. Wrong matches lie anywhere,
//! also right in front of a camera, so a picture's nearest points do not count, nor do the nearest cameras.

use super::nearest::without_strays;
use super::{Camera, Point, evenly};

/// Near plane of a camera of which nothing else is known, world units; that of the published renderer of 3D Gaussian
/// Splatting (Kerbl et al. 2023).
pub const DEFAULT_NEAR_Z: f32 = 0.2;

/// Share of the cameras that may have something nearer.
const CAMERAS: f64 = 0.05;
/// The near plane, as a share of the depth of the nearest points.
const PLANE_OF_DEPTH: f32 = 0.1;
/// The near plane of a scene without points, as a share of its extent.
const PLANE_OF_EXTENT: f32 = 0.04;
/// Least near plane, as a share of the extent: points may lie in the cameras themselves.
const LEAST_OF_EXTENT: f32 = 1e-5;
/// Most points and cameras that are looked at, evenly spread: together 17 million projections.
const MOST: [usize; 2] = [1 << 15, 512];

/// Distances of the nearest sparse points from the training cameras: of each camera's nearest the 5th percentile over cameras,
/// world units. None where no point is in any picture.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Near {
    /// Depth as [`Camera::sees`] has it, of points inside the picture; 0.5 % of a picture's points may be nearer.
    pub depth: Option<f32>,
    /// From the camera's centre, of all points; as many may be nearer.
    pub distance: Option<f32>,
}

impl Near {
    /// Measures `points` from `cameras`.
    pub(super) fn of(cameras: &[&Camera], points: &[Point]) -> Self {
        let points: Vec<[f32; 3]> = evenly(points.len(), MOST[0]).map(|i| points[i].position).collect();
        let of_cameras: Vec<[f32; 2]> = evenly(cameras.len(), MOST[1])
            .filter_map(|i| nearest(cameras[i], &points))
            .collect();
        let low = |which: usize| {
            let mut values: Vec<f32> = of_cameras.iter().map(|values| values[which]).collect();
            let place = (CAMERAS * values.len() as f64) as usize;
            at(&mut values, place)
        };
        Self {
            depth: low(0),
            distance: low(1),
        }
    }

    /// Where the near plane goes in a scene of this extent; above 0.
    #[must_use]
    pub(super) fn plane(&self, extent: f32) -> f32 {
        let plane = self
            .depth
            .map_or(PLANE_OF_EXTENT * extent, |depth| PLANE_OF_DEPTH * depth);
        plane.max(LEAST_OF_EXTENT * extent).max(f32::MIN_POSITIVE)
    }
}

/// Depth of the nearest point in the camera's picture and distance of the nearest point, strays left out; none when no point is
/// in the picture.
fn nearest(camera: &Camera, points: &[[f32; 3]]) -> Option<[f32; 2]> {
    let centre = camera.position();
    let mut depths = Vec::new();
    let mut distances = Vec::new();
    for point in points {
        let distance = (0..3).map(|i| (point[i] - centre[i]).powi(2)).sum::<f32>().sqrt();
        if !distance.is_finite() {
            continue;
        }
        distances.push(distance);
        depths.extend(camera.sees(*point).map(|[_, _, depth]| depth));
    }
    Some([without_strays(depths)?, without_strays(distances)?])
}

/// The value at `place` in ascending order.
fn at(values: &mut [f32], place: usize) -> Option<f32> {
    (place < values.len()).then(|| *values.select_nth_unstable_by(place, f32::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A camera on the x axis that looks along z.
    fn camera(x: f32) -> Camera {
        Camera {
            width_px: 100,
            height_px: 50,
            fx: 100.0,
            fy: 100.0,
            cx: 50.0,
            cy: 25.0,
            rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            translation: [-x, 0.0, 0.0],
            lens: None,
        }
    }

    fn point(position: [f32; 3]) -> Point {
        Point {
            position,
            color: [0; 3],
        }
    }

    fn wall(count: u16, depth: f32) -> Vec<Point> {
        let one = |i: u16| point([0.001 * f32::from(i % 30), 0.001 * f32::from(i / 30), depth]);
        (0..count).map(one).collect()
    }

    fn measured(cameras: &[Camera], points: &[Point]) -> Near {
        Near::of(&cameras.iter().collect::<Vec<_>>(), points)
    }

    #[test]
    fn strays_do_not_count() {
        let mut points = wall(396, 3.0);
        points.extend([point([0.0, 0.0, 0.01]), point([0.0, 0.0, 0.02])]);
        let near = measured(&[camera(0.0)], &points);
        // 398 points are in the picture: one of them may be nearer.
        assert_eq!(near.depth, Some(0.02));
        points.extend(wall(2, 3.0));
        assert_eq!(measured(&[camera(0.0)], &points).depth, Some(3.0));
    }

    #[test]
    fn points_behind_and_beside_have_a_distance_and_no_depth() {
        let points = [point([0.0, 0.0, -0.5]), point([0.7, 0.0, 1.0]), point([0.0, 0.0, 2.0])];
        let near = measured(&[camera(0.0)], &points);
        assert_eq!((near.depth, near.distance), (Some(2.0), Some(0.5)));
        let nowhere = [point([0.0, 0.0, -0.5]), point([f32::NAN; 3]), point([f32::MAX; 3])];
        assert_eq!(measured(&[camera(0.0)], &nowhere), Near::default());
        assert_eq!(measured(&[], &points), Near::default());
        assert_eq!(measured(&[camera(0.0)], &[]), Near::default());
    }

    #[test]
    fn one_camera_of_twenty_may_be_nearer() {
        let mut cameras: Vec<Camera> = (0..20).map(|_| camera(0.0)).collect();
        cameras[7].translation[2] = -2.5;
        let depth = |cameras: &[Camera]| measured(cameras, &wall(90, 3.0)).depth;
        assert_eq!(depth(&cameras), Some(3.0));
        assert_eq!(depth(&cameras[..19]), Some(0.5));
    }

    #[test]
    fn the_plane_scales_with_the_scene_and_is_never_zero() {
        let of = |depth: Option<f32>, extent: f32| Near { depth, distance: depth }.plane(extent);
        for scale in [0.05_f32, 1.0, 20.0] {
            assert!((of(Some(2.0 * scale), 5.0 * scale) / scale - 0.2).abs() < 1e-6);
            assert!((of(None, 5.0 * scale) / scale - 0.2).abs() < 1e-6);
            assert!((of(Some(1e-9), 5.0 * scale) / scale - 5e-5).abs() < 1e-9);
        }
        assert!(of(None, f32::MIN_POSITIVE) > 0.0);
    }

    #[test]
    fn large_scenes_are_sampled() {
        let mut points = wall(900, 3.0);
        points.resize(1 << 18, point([0.0, 0.0, 4.0]));
        let cameras: Vec<Camera> = (0..600).map(|_| camera(0.0)).collect();
        assert_eq!(measured(&cameras[..1], &points).depth, Some(4.0));
        assert_eq!(measured(&cameras, &points).depth, Some(4.0));
    }
}
