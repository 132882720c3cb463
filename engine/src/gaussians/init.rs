//! The model before the first step: one Gaussian a point.
//!
//! Owns the start values of 3D Gaussian Splatting (Kerbl et al. 2023, section 5.1 and its published trainer): spheres
//! as large as the gaps between points, 10 % opaque, coloured like their point from every side.

use super::Gaussians;
use super::neighbors::mean_squared_distances;
use crate::scene::{Point, SplitMix64};

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
}
