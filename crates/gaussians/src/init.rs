//! The model before the first step: one Gaussian a point.
//!
//! Owns the start values of 3D Gaussian Splatting (Kerbl et al. 2023, section 5.1 and its published trainer): spheres
//! as large as the gaps between points, 10 % opaque, coloured like their point from every side.

use super::Gaussians;
use super::neighbors::mean_squared_distances;
use kiln_scene::capture::focus;
use kiln_scene::math::Real;
use kiln_scene::{Camera, Point, SplitMix64};

/// Degree-0 spherical harmonic, `1 / (2 sqrt(pi))`.
pub const SH_C0: f64 = 0.282_094_791_773_878_14;
/// Opacity at the start.
const OPACITY: f64 = 0.1;
/// Smallest distance a scale is made from, so that equal points keep a size; share of the scene's extent.
const MIN_DISTANCE: f64 = 1e-4;
/// Half the side of the cube that holds the objects of NeRF-synthetic scenes, and how far their cameras are from its middle.
const OBJECT: [f32; 2] = [1.3, 4.031_129];
/// Random points for a scene that has none.
pub const RANDOM_POINTS: u32 = 100_000;
/// Highest degree of spherical harmonics.
const MAX_SH_DEGREE: u32 = 3;

/// Places of a picture that are tried for one that a ray arrives at.
const TRIES: u32 = 64;

/// Random points in front of cameras lie between these multiples of the typical distance to what they look at.
const DEPTHS: [f32; 2] = [0.25, 4.0];

/// Why a model cannot be initialised.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InitError {
    /// There is nothing to start from.
    #[error("the scene has no points to start from; use random initialisation (init.kind: random)")]
    NoPoints,
    /// A model without Gaussians.
    #[error("the model of `init` has no Gaussians; name another")]
    NoGaussians,
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
/// Scales are `ln max(d, 1e-4 extent)` on all axes, d the root mean squared distance to the three nearest points (fewer
/// in tiny models) and `extent` that of the scene, world units; rotations are the identity, opacities `logit(0.1)`, `sh0 = (rgb - 0.5) / C0`, the rest 0.
///
/// # Errors
/// [`InitError`] when there are no points, a point is not finite, or the degree is above 3.
pub fn from_points(points: &[Point], extent: f32, sh_degree: u32) -> Result<Gaussians, InitError> {
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
    let least = (MIN_DISTANCE * f64::from(extent)).powi(2).max(f64::MIN_POSITIVE);
    let log_scale = |squared: f64| (0.5 * squared.max(least).ln()) as f32;
    let log_scales = mean_squared_distances(&means)
        .into_iter()
        .map(|squared| [log_scale(squared); 3])
        .collect();
    let rest = super::layout::sh_coefficients(sh_degree) - 1;
    Ok(Gaussians {
        sh_degree,
        means,
        quats: vec![[1.0, 0.0, 0.0, 0.0]; count],
        log_scales,
        logit_opacities: vec![(OPACITY / (1.0 - OPACITY)).ln() as f32; count],
        sh0: points.iter().map(|point| sh0(point.color)).collect(),
        sh_rest: vec![0.0; count * rest * 3],
        filter_3d: vec![0.0; count],
    })
}

/// Degree-0 coefficients of a colour, `(rgb - 0.5) / C0`.
#[must_use]
pub fn sh0(color: [u8; 3]) -> [f32; 3] {
    color.map(|value| ((f64::from(value) / 255.0 - 0.5) / SH_C0) as f32)
}

/// Half the side of the cube around the origin that holds the object of a scene such as the NeRF-synthetic ones, world units:
/// 1.3 where the median distance of the cameras from the origin is theirs, and in proportion elsewhere.
#[must_use]
pub fn object_half_side(cameras: &[Camera]) -> f32 {
    let length = |camera: &Camera| camera.position().iter().map(|x| x * x).sum::<f32>().sqrt();
    let mut distances: Vec<f32> = cameras.iter().map(length).collect();
    let middle = distances.len() / 2;
    if middle >= distances.len() {
        return OBJECT[0];
    }
    let median = *distances.select_nth_unstable_by(middle, f32::total_cmp).1;
    let half_side = OBJECT[0] * (median / OBJECT[1]);
    if half_side > 0.0 { half_side } else { OBJECT[0] }
}

/// Grey points, uniform in the cube around the origin whose side is twice `half_side`, for scenes without points; the same for
/// the same seed.
#[must_use]
pub fn random_points(count: u32, half_side: f32, seed: u64) -> Vec<Point> {
    let mut random = SplitMix64::new(seed);
    let mut point = || Point {
        position: [0.0; 3].map(|_: f32| (2.0 * random.next_f32() - 1.0) * half_side),
        color: [0; 3].map(|_: u8| 127 + random.below(2) as u8),
    };
    (0..count).map(|_| point()).collect()
}

/// Grey points inside the cameras' views, for scenes without points; the same for the same seed.
///
/// Each point takes a random camera, a random place in its picture and a depth whose logarithm is uniform between a
/// quarter and four times the typical distance: the median distance of the cameras from the point nearest to all optical
/// axes, or the scene's `extent` where the cameras do not look at anything together. Depths are those of [`Camera::sees`].
#[must_use]
pub fn frustum_points(cameras: &[Camera], extent: f32, count: u32, seed: u64) -> Vec<Point> {
    let mut random = SplitMix64::new(seed);
    let views = u32::try_from(cameras.len()).unwrap_or(u32::MAX);
    let distance = focus(cameras).map_or(f64::from(extent), |focus| focus.distance) as f32;
    let [near, far] = DEPTHS.map(|depth| Real::ln(depth * distance));
    let mut point = || {
        let camera = cameras.get(random.below(views) as usize)?;
        let mut place = |_| {
            let x = random.next_f32() * camera.width_px as f32;
            let y = random.next_f32() * camera.height_px as f32;
            camera.ray([x, y])
        };
        let ray = (0..TRIES).find_map(&mut place).unwrap_or([0.0, 0.0, 1.0]);
        let depth = Real::exp(near + (far - near) * random.next_f32());
        let (r, centre) = (&camera.rotation, camera.position());
        let ray = ray.map(|value| value * depth);
        Some(Point {
            position: std::array::from_fn(|axis| centre[axis] + (0..3).map(|row| r[row][axis] * ray[row]).sum::<f32>()),
            color: [0; 3].map(|_: u8| 127 + random.below(2) as u8),
        })
    };
    (0..count).map_while(|_| point()).collect()
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
        let model = from_points(&points, 5.0, 2).unwrap();
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
        let floor = 2e-4_f64.ln() as f32;
        assert_eq!(from_points(&[point(5.0, 0)], 2.0, 0).unwrap().log_scales, [[floor; 3]]);
        assert_eq!(
            from_points(&[point(0.0, 0), point(2.0, 0)], 2.0, 3).unwrap().log_scales,
            [[2.0_f32.ln(); 3]; 2]
        );
        assert_eq!(
            from_points(&[point(5.0, 0); 9], 2.0, 3).unwrap().log_scales,
            [[floor; 3]; 9]
        );
    }

    #[test]
    fn bad_input_is_refused() {
        assert_eq!(from_points(&[], 1.0, 3), Err(InitError::NoPoints));
        assert_eq!(from_points(&[point(0.0, 0)], 1.0, 4), Err(InitError::ShDegree(4)));
        let odd = from_points(&[point(0.0, 0), point(f32::NAN, 0)], 1.0, 3).unwrap_err();
        assert!(matches!(odd, InitError::NotFinite { index: 1, .. }));
    }

    #[test]
    fn random_points_fill_the_cube_and_repeat() {
        let points = random_points(RANDOM_POINTS, 1.3, 42);
        assert_eq!(points, random_points(RANDOM_POINTS, 1.3, 42));
        assert_ne!(points, random_points(RANDOM_POINTS, 1.3, 43));
        for axis in 0..3 {
            let values = || points.iter().map(|point| point.position[axis]);
            assert!(values().all(|value| value.abs() <= 1.3));
            assert!(values().fold(0.0, f32::max) > 1.29 && values().fold(0.0, f32::min) < -1.29);
            assert!((values().sum::<f32>() / 1e5).abs() < 0.01);
        }
        let model = from_points(&points, 4.0, 3).unwrap();
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
            lens: None,
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
            assert!(seen, "{point:?} is in no camera's view");
        }
        let far = |point: &&Point| point.position.iter().map(|x| x * x).sum::<f32>() > 100.0;
        let beyond = points.iter().filter(far).count();
        assert!(
            (500..2500).contains(&beyond),
            "{beyond} of 5000 lie outside twice the ring"
        );
    }

    #[test]
    fn points_of_a_fisheye_fill_what_it_sees() {
        let around = Camera {
            fx: 20.0,
            fy: 20.0,
            lens: Some(kiln_scene::Fisheye {
                radial: [0.0; 4],
                tangential: [0.0; 2],
                prism: [0.0; 2],
                reach: 1.8,
            }),
            ..camera([0.0; 3], [0.0, 0.0, 1.0])
        };
        let points = frustum_points(std::slice::from_ref(&around), 2.0, 4000, 1);
        assert_eq!(points.len(), 4000);
        for point in &points {
            // A place within rounding of the border may be beside it.
            let distance = point.position.iter().map(|x| x * x).sum::<f32>().sqrt();
            assert!((0.499..8.01).contains(&distance), "{point:?}");
        }
        let seen = points
            .iter()
            .filter(|point| around.sees(point.position).is_some())
            .count();
        let behind = points.iter().filter(|point| point.position[2] < 0.0).count();
        assert!(seen > 3980 && behind > 50, "{seen} {behind}");
    }

    #[test]
    fn objects_are_as_large_as_their_cameras_are_far() {
        let ring = |radius: f32| -> Vec<Camera> {
            let one = |n: u8| {
                let (sin, cos) = f32::from(n).sin_cos();
                camera([radius * sin, 0.0, radius * cos], [-sin, 0.0, -cos])
            };
            (0..9).map(one).collect()
        };
        assert!((object_half_side(&ring(4.031_129)) - 1.3).abs() < 1e-5);
        assert!((object_half_side(&ring(20.0 * 4.031_129)) - 26.0).abs() < 1e-4);
        assert_eq!((object_half_side(&ring(0.0)), object_half_side(&[])), (1.3, 1.3));
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
