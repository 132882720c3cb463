//! Facts about how a scene was taken: what the cameras look at, and what the sparse points say of what lies behind it.
//!
//! Computed from poses and points alone. Promises figures that do not change when the whole scene is scaled, moved or
//! turned, up to rounding, and the same figures for the same scene.

use super::{Camera, Point, SceneIndex, evenly};

/// Most points that are projected for [`Capture::overlap`], evenly spread over the list.
const OVERLAP_POINTS: usize = 4096;

/// How a scene was taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capture {
    /// Training views.
    pub photos: u32,
    /// Points of the sparse model.
    pub points: u32,
    /// Share of the sparse points that lie farther from what the cameras look at than the farthest camera, 0 to 1; `None`
    /// without points, or where the cameras do not look at anything together.
    pub background_share: Option<f64>,
    /// Mean number of training pictures that a sparse point falls into, hidden or not; `None` without points.
    pub overlap: Option<f64>,
}

impl Capture {
    /// The facts of a scene.
    #[must_use]
    pub fn of(scene: &SceneIndex) -> Self {
        let together = scene.cameras_together();
        let cameras = || together.iter().copied();
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self {
            photos: count(scene.train.len()),
            points: count(scene.points.len()),
            background_share: background_share(cameras(), &scene.points),
            overlap: overlap(cameras(), &scene.points),
        }
    }
}

/// What cameras look at together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Focus {
    /// The point nearest to all optical axes (least squares), world units.
    pub point: [f64; 3],
    /// Median distance of the cameras from it along their axes, world units; above 0.
    pub distance: f64,
}

/// What `cameras` look at; `None` when their axes are about parallel or most of them look away from the point nearest to
/// all axes.
#[must_use]
pub fn focus<'a>(cameras: impl IntoIterator<Item = &'a Camera>) -> Option<Focus> {
    let rays: Vec<([f64; 3], [f64; 3])> = cameras
        .into_iter()
        .map(|camera| (camera.position().map(f64::from), camera.rotation[2].map(f64::from)))
        .collect();
    // sum of (I - d d^T) x = sum of (I - d d^T) c
    let (mut matrix, mut right) = ([[0.0; 3]; 3], [0.0; 3]);
    for (centre, axis) in &rays {
        for i in 0..3 {
            for j in 0..3 {
                let across = f64::from(u8::from(i == j)) - axis[i] * axis[j];
                matrix[i][j] += across;
                right[i] += across * centre[j];
            }
        }
    }
    let det = |m: &[[f64; 3]; 3]| {
        let minor = |a: usize, b: usize| m[1][a] * m[2][b] - m[1][b] * m[2][a];
        m[0][0] * minor(1, 2) - m[0][1] * minor(0, 2) + m[0][2] * minor(0, 1)
    };
    let whole = det(&matrix);
    if whole.is_nan() || whole <= 1e-4 * (rays.len() as f64).powi(3) {
        return None;
    }
    let point: [f64; 3] = std::array::from_fn(|column| {
        let mut replaced = matrix;
        (0..3).for_each(|row| replaced[row][column] = right[row]);
        det(&replaced) / whole
    });
    let mut depths: Vec<f64> = rays
        .iter()
        .map(|(centre, axis)| (0..3).map(|i| (point[i] - centre[i]) * axis[i]).sum())
        .collect();
    let middle = depths.len() / 2;
    let (_, median, _) = depths.select_nth_unstable_by(middle, f64::total_cmp);
    let distance = *median;
    (distance > 0.0 && distance.is_finite()).then_some(Focus { point, distance })
}

/// Share of `points` farther from the [`focus`] of the cameras than the farthest camera, 0 to 1; `None` without points or
/// focus.
#[must_use]
pub fn background_share<'a>(cameras: impl Iterator<Item = &'a Camera> + Clone, points: &[Point]) -> Option<f64> {
    let focus = focus(cameras.clone())?.point;
    let squared = |place: [f32; 3]| -> f64 { (0..3).map(|i| (f64::from(place[i]) - focus[i]).powi(2)).sum() };
    let farthest = cameras.map(|camera| squared(camera.position())).fold(0.0, f64::max);
    let beyond = points.iter().filter(|point| squared(point.position) > farthest).count();
    (!points.is_empty()).then(|| beyond as f64 / points.len() as f64)
}

fn overlap<'a>(cameras: impl Iterator<Item = &'a Camera>, points: &[Point]) -> Option<f64> {
    let sample: Vec<[f32; 3]> = evenly(points.len(), OVERLAP_POINTS)
        .map(|i| points[i].position)
        .collect();
    let count = sample.len();
    let seen: usize = cameras
        .map(|camera| sample.iter().filter(|place| camera.sees(**place).is_some()).count())
        .sum();
    (count > 0).then(|| seen as f64 / count as f64)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    /// A camera at `position` that looks along `axis`, both in the plane y = 0.
    fn camera(position: [f32; 3], axis: [f32; 3]) -> Camera {
        let rotation = [[axis[2], 0.0, -axis[0]], [0.0, 1.0, 0.0], axis];
        let dot = |row: [f32; 3]| row.iter().zip(position).map(|(a, b)| a * b).sum::<f32>();
        Camera {
            width_px: 64,
            height_px: 48,
            fx: 60.0,
            fy: 60.0,
            cx: 32.0,
            cy: 24.0,
            rotation,
            translation: rotation.map(|row| -dot(row)),
            lens: None,
        }
    }

    /// Twelve cameras on a ring of `radius` that look inwards, or outwards.
    fn ring(radius: f32, inwards: bool) -> Vec<Camera> {
        let side = if inwards { -1.0 } else { 1.0 };
        (0..12)
            .map(|n| {
                let (sin, cos) = (n as f32 * std::f32::consts::TAU / 12.0).sin_cos();
                camera([radius * sin, 0.0, radius * cos], [side * sin, 0.0, side * cos])
            })
            .collect()
    }

    fn points(scale: f32) -> Vec<Point> {
        let at = |x: f32, y: f32, z: f32| Point {
            position: [x * scale, y * scale, z * scale],
            color: [0; 3],
        };
        // Three in the middle, one far above everything and in no picture, one far behind half of the cameras.
        vec![
            at(0.0, 0.0, 0.0),
            at(0.5, 0.1, 0.0),
            at(-0.3, 0.0, 0.4),
            at(0.0, 40.0, 0.0),
            at(20.0, 0.0, 0.0),
        ]
    }

    #[test]
    fn shares_and_overlap_are_counted() {
        let cameras = ring(4.0, true);
        let found = focus(&cameras).unwrap();
        assert!(found.point.iter().all(|x| x.abs() < 1e-5) && (found.distance - 4.0).abs() < 1e-5);
        assert_eq!(background_share(cameras.iter(), &points(1.0)), Some(0.4));
        // The middle is in all twelve pictures; the far point in those of the five that look that way within 28 degrees.
        let of = |point: &Point| {
            let seen = cameras.iter().filter(|camera| camera.sees(point.position).is_some());
            seen.count()
        };
        let counts: Vec<usize> = points(1.0).iter().map(of).collect();
        assert_eq!(counts[..4], [12, 12, 12, 0]);
        assert_eq!(
            overlap(cameras.iter(), &points(1.0)),
            Some((36 + counts[4]) as f64 / 5.0)
        );
    }

    #[test]
    fn figures_do_not_depend_on_the_scale() {
        let facts = |scale: f32| {
            let (cameras, points) = (ring(4.0 * scale, true), points(scale));
            (
                background_share(cameras.iter(), &points),
                overlap(cameras.iter(), &points),
            )
        };
        for scale in [1e-3, 0.37, 60.0, 1e4] {
            assert_eq!(facts(scale), facts(1.0), "{scale}");
        }
        let near = focus(&ring(0.25, true)).unwrap().distance;
        let far = focus(&ring(1.0, true)).unwrap().distance;
        assert!((far / near - 4.0).abs() < 1e-5);
    }

    #[test]
    fn without_points_or_focus_nothing_is_claimed() {
        assert_eq!(background_share(ring(4.0, true).iter(), &[]), None);
        assert_eq!(overlap(ring(4.0, true).iter(), &[]), None);
        assert_eq!(background_share(ring(4.0, false).iter(), &points(1.0)), None);
        let row: Vec<Camera> = (0..4).map(|n| camera([n as f32, 0.0, 0.0], [0.0, 0.0, 1.0])).collect();
        assert_eq!(background_share(row.iter(), &points(1.0)), None);
        assert_eq!(focus(&[]), None);
    }
}
