//! The model before the first step: one Gaussian a point.
//!
//! Owns the start values of 3D Gaussian Splatting (Kerbl et al. 2023, section 5.1 and its published trainer): spheres
//! as large as the gaps between points, 10 % opaque, coloured like their point from every side.

use super::Gaussians;
use super::neighbors::mean_squared_distances;
use crate::scene::{Camera, Point, SplitMix64};

/// Degree-0 spherical harmonic, `1 / (2 sqrt(pi))`.
pub const SH_C0: f64 = 0.282_094_791_773_878_14;
/// Opacity at the start.
const OPACITY: f64 = 0.1;
/// Smallest squared distance a scale is made from, so that equal points keep a size.
const MIN_SQUARED_DISTANCE: f64 = 1e-7;
/// Half the side of the cube random points fill, world units: NeRF-synthetic objects fit it.
const RANDOM_HALF_SIDE: f32 = 1.3;
/// Random points for a scene that has none.
pub const RANDOM_POINTS: u32 = 100_000;
/// Highest degree of spherical harmonics.
const MAX_SH_DEGREE: u32 = 3;

/// Random points in front of cameras lie between these multiples of the typical distance to what they look at.
const DEPTHS: [f32; 2] = [0.25, 4.0];

/// Why a model cannot be initialised.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InitError {
    /// There is nothing to start from.
    #[error("the scene has no points to start from; use random initialisation (init.kind: random)")]
    NoPoints,
    /// A position is NaN or infinite.
    #[error("point {index} is at {position:?}; positions must be finite, export the points again")]
    NotFinite {
        /// Which point.
        index: usize,
        /// Where it claims to be.
        position: [f32; 3],
    },
    /// More points than ids.
    #[error("{0} points are more than the 4294967295 that can be numbered; thin the sparse model")]
    TooMany(usize),
    /// A degree beyond 3.
    #[error("spherical harmonics of degree {0} are not supported; use 0 to 3")]
    ShDegree(u32),
}

/// One Gaussian for each point, with room for SH coefficients up to `sh_degree`.
///
/// Scales are `ln sqrt(max(d2, 1e-7))` on all axes, d2 the mean squared distance to the three nearest points (fewer
/// in tiny models); rotations are the identity, opacities `logit(0.1)`, `sh0 = (rgb - 0.5) / C0`, the rest 0.
///
/// # Errors
/// [`InitError`] when there are no points, a point is not finite, or the degree is above 3.
pub fn from_points(points: &[Point], sh_degree: u32) -> Result<Gaussians, InitError> {
    if sh_degree > MAX_SH_DEGREE {
        return Err(InitError::ShDegree(sh_degree));
    }
    if points.is_empty() {
        return Err(InitError::NoPoints);
    }
    if u32::try_from(points.len()).is_err() {
        return Err(InitError::TooMany(points.len()));
    }
    let odd = points
        .iter()
        .position(|point| !point.position.iter().all(|value| value.is_finite()));
    if let Some(index) = odd {
        return Err(InitError::NotFinite {
            index,
            position: points[index].position,
        });
    }
    let count = points.len();
    let means: Vec<[f32; 3]> = points.iter().map(|point| point.position).collect();
    let log_scale = |squared: f64| (0.5 * squared.max(MIN_SQUARED_DISTANCE).ln()) as f32;
    let log_scales = mean_squared_distances(&means)
        .into_iter()
        .map(|squared| [log_scale(squared); 3])
        .collect();
    let sh0 = |color: u8| ((f64::from(color) / 255.0 - 0.5) / SH_C0) as f32;
    let rest = super::layout::sh_coefficients(sh_degree) - 1;
    Ok(Gaussians {
        sh_degree,
        means,
        quats: vec![[1.0, 0.0, 0.0, 0.0]; count],
        log_scales,
        logit_opacities: vec![(OPACITY / (1.0 - OPACITY)).ln() as f32; count],
        sh0: points.iter().map(|point| point.color.map(sh0)).collect(),
        sh_rest: vec![0.0; count * rest * 3],
        filter_3d: vec![0.0; count],
    })
}

/// Grey points, uniform in the cube from -1.3 to 1.3, for scenes without points; the same for the same seed.
#[must_use]
pub fn random_points(count: u32, seed: u64) -> Vec<Point> {
    let mut random = SplitMix64::new(seed);
    let mut point = || Point {
        position: [0.0; 3].map(|_: f32| (2.0 * random.next_f32() - 1.0) * RANDOM_HALF_SIDE),
        color: [0; 3].map(|_: u8| 127 + random.below(2) as u8),
    };
    (0..count).map(|_| point()).collect()
}

/// Grey points inside the cameras' views, for scenes without points; the same for the same seed.
///
/// Each point takes a random camera, a random place in its picture and a depth whose logarithm is uniform between a
/// quarter and four times the typical distance: the median distance of the cameras from the point nearest to all optical
/// axes, or the scene's `extent` where the cameras do not look at anything together.
#[must_use]
pub fn frustum_points(cameras: &[Camera], extent: f32, count: u32, seed: u64) -> Vec<Point> {
    let mut random = SplitMix64::new(seed);
    let views = u32::try_from(cameras.len()).unwrap_or(u32::MAX);
    let distance = typical_distance(cameras).unwrap_or(f64::from(extent)) as f32;
    let [near, far] = DEPTHS.map(|depth| (depth * distance).ln());
    let mut point = || {
        let camera = cameras.get(random.below(views) as usize)?;
        let x = (random.next_f32() * camera.width_px as f32 - camera.cx) / camera.fx;
        let y = (random.next_f32() * camera.height_px as f32 - camera.cy) / camera.fy;
        let depth = (near + (far - near) * random.next_f32()).exp();
        let (r, centre) = (&camera.rotation, camera.position());
        let ray = [x * depth, y * depth, depth];
        Some(Point {
            position: std::array::from_fn(|axis| centre[axis] + (0..3).map(|row| r[row][axis] * ray[row]).sum::<f32>()),
            color: [0; 3].map(|_: u8| 127 + random.below(2) as u8),
        })
    };
    (0..count).map_while(|_| point()).collect()
}

/// Median distance of the cameras from the point nearest to all their optical axes (least squares); `None` when the axes
/// are about parallel or most cameras look away from that point.
fn typical_distance(cameras: &[Camera]) -> Option<f64> {
    let rays: Vec<([f64; 3], [f64; 3])> = cameras
        .iter()
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
    let focus: [f64; 3] = std::array::from_fn(|column| {
        let mut replaced = matrix;
        (0..3).for_each(|row| replaced[row][column] = right[row]);
        det(&replaced) / whole
    });
    let mut depths: Vec<f64> = rays
        .iter()
        .map(|(centre, axis)| (0..3).map(|i| (focus[i] - centre[i]) * axis[i]).sum())
        .collect();
    let middle = depths.len() / 2;
    let (_, median, _) = depths.select_nth_unstable_by(middle, f64::total_cmp);
    (*median > 0.0 && median.is_finite()).then_some(*median)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    fn point(x: f32, color: u8) -> Point {
        Point {
            position: [x, 0.0, 0.0],
            color: [color; 3],
        }
    }

    #[test]
    fn start_values_are_the_published_ones() {
        let points = [point(0.0, 255), point(1.0, 0), point(3.0, 255), point(7.0, 255)];
        let model = from_points(&points, 2).unwrap();
        assert_eq!(
            (model.len(), model.sh_rest.len(), model.filter_3d.len()),
            (4, 4 * 8 * 3, 4)
        );
        assert_eq!(model.logit_opacities, [-2.197_224_6; 4]);
        assert_eq!((model.sh0[0], model.sh0[1]), ([1.772_453_9; 3], [-1.772_453_9; 3]));
        assert_eq!(model.quats[3], [1.0, 0.0, 0.0, 0.0]);
        // squared distances 1, 9, 49
        assert_eq!(model.log_scales[0], [(0.5 * (59.0_f64 / 3.0).ln()) as f32; 3]);
    }

    #[test]
    fn few_and_equal_points_keep_a_size() {
        let floor = (0.5 * 1e-7_f64.ln()) as f32;
        assert_eq!(from_points(&[point(5.0, 0)], 0).unwrap().log_scales, [[floor; 3]]);
        assert_eq!(
            from_points(&[point(0.0, 0), point(2.0, 0)], 3).unwrap().log_scales,
            [[2.0_f32.ln(); 3]; 2]
        );
        assert_eq!(from_points(&[point(5.0, 0); 9], 3).unwrap().log_scales, [[floor; 3]; 9]);
    }

    #[test]
    fn bad_input_is_refused() {
        assert_eq!(from_points(&[], 3), Err(InitError::NoPoints));
        assert_eq!(from_points(&[point(0.0, 0)], 4), Err(InitError::ShDegree(4)));
        let odd = from_points(&[point(0.0, 0), point(f32::NAN, 0)], 3).unwrap_err();
        assert!(matches!(odd, InitError::NotFinite { index: 1, .. }));
    }

    #[test]
    fn random_points_fill_the_cube_and_repeat() {
        let points = random_points(RANDOM_POINTS, 42);
        assert_eq!(points, random_points(RANDOM_POINTS, 42));
        assert_ne!(points, random_points(RANDOM_POINTS, 43));
        for axis in 0..3 {
            let values = || points.iter().map(|point| point.position[axis]);
            assert!(values().all(|value| value.abs() <= 1.3));
            assert!(values().fold(0.0, f32::max) > 1.29 && values().fold(0.0, f32::min) < -1.29);
            assert!((values().sum::<f32>() / 1e5).abs() < 0.01);
        }
        let model = from_points(&points, 3).unwrap();
        assert!(model.sh0.iter().flatten().all(|value| value.abs() < 0.01));
    }

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
        }
    }

    #[test]
    fn frustum_points_are_seen_and_repeat() {
        // a ring of radius 5 that looks at its middle
        let ring: Vec<Camera> = (0..12)
            .map(|n| {
                let (sin, cos) = (n as f32 * 0.5).sin_cos();
                camera([5.0 * sin, 0.0, 5.0 * cos], [-sin, 0.0, -cos])
            })
            .collect();
        let points = frustum_points(&ring, 5.5, 5000, 42);
        assert_eq!(points, frustum_points(&ring, 5.5, 5000, 42));
        assert_ne!(points, frustum_points(&ring, 5.5, 5000, 43));
        let at = |camera: &Camera, point: &Point| -> [f32; 3] {
            std::array::from_fn(|row| {
                let turned = (0..3).map(|axis| camera.rotation[row][axis] * point.position[axis]);
                turned.sum::<f32>() + camera.translation[row]
            })
        };
        // every point is in some camera's picture, between a quarter and four times the distance to the middle
        for point in &points {
            let seen = ring.iter().any(|camera| {
                let [x, y, depth] = at(camera, point);
                let (x, y) = (60.0 * x / depth + 32.0, 60.0 * y / depth + 24.0);
                (1.249..20.01).contains(&depth) && (-0.1..64.1).contains(&x) && (-0.1..48.1).contains(&y)
            });
            assert!(seen, "{point:?} is in nobody's view");
        }
        let far = |point: &&Point| point.position.iter().map(|x| x * x).sum::<f32>() > 100.0;
        let beyond = points.iter().filter(far).count();
        assert!(
            (500..2500).contains(&beyond),
            "{beyond} of 5000 lie outside twice the ring"
        );
    }

    #[test]
    fn parallel_cameras_use_the_extent() {
        let row: Vec<Camera> = (0..4).map(|n| camera([n as f32, 0.0, 0.0], [0.0, 0.0, 1.0])).collect();
        let points = frustum_points(&row, 2.0, 3000, 1);
        let far = points.iter().map(|point| point.position[2]).fold(0.0, f32::max);
        assert!((7.0..8.01).contains(&far), "{far}");
        assert_eq!(frustum_points(&[], 1.0, 10, 1), []);
    }
}
