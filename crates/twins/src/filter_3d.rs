//! The 3D smoothing filter: how finely any training camera samples each Gaussian.
//!
//! Mip-Splatting (Yu et al. 2024, section 4.1): a Gaussian is convolved with an isotropic one whose standard deviation
//! is `sqrt(0.2) d / f_max`, where `d` is the smallest depth at which a training camera sees it and `f_max` the largest
//! horizontal focal length. Opacity shrinks by `c3 = sqrt(prod s^2 / prod s'^2)` so that the mass stays.

use super::gaussian::View;
use kiln_scene::math::{Real, Vec3};

/// Depth at which a camera sees a point, if it does: beyond the near plane and inside the image widened by 15 % on each
/// side.
#[must_use]
pub fn seen_depth<R: Real>(view: &View<R>, mean: Vec3<R>) -> Option<R> {
    let (at, depth) = view.seen(view.to_camera(mean))?;
    let inside = |axis: usize| {
        let size = R::of(f64::from(view.size_px[axis]));
        at[axis] >= R::of(-0.15) * size && at[axis] <= R::of(1.15) * size
    };
    (inside(0) && inside(1)).then_some(depth)
}

/// Filter standard deviation for a smallest depth and a focal length in pixels: `d / f_max * sqrt(0.2)`.
#[must_use]
pub fn filter_of<R: Real>(depth: R, f_max: R) -> R {
    depth / f_max * R::of(0.2).sqrt()
}

/// Filter of every Gaussian over all training cameras.
///
/// Gaussians that no camera sees take the largest depth found among the others; when nobody is seen at all there is
/// nothing to measure and every filter is 0.
#[must_use]
pub fn filter_3d<R: Real>(means: &[Vec3<R>], views: &[View<R>]) -> Vec<R> {
    let f_max = views.iter().map(|v| v.focal[0]).fold(R::ZERO, R::max);
    let depths: Vec<Option<R>> = means
        .iter()
        .map(|&mean| views.iter().filter_map(|view| seen_depth(view, mean)).reduce(R::min))
        .collect();
    let farthest = depths.iter().flatten().copied().fold(R::ZERO, R::max);
    if farthest == R::ZERO {
        return vec![R::ZERO; means.len()];
    }
    depths
        .into_iter()
        .map(|depth| filter_of(depth.unwrap_or(farthest), f_max))
        .collect()
}

/// A scale with the filter applied: `s' = sqrt(s^2 + filter^2)` per axis, and the mass factor `c3`.
#[must_use]
pub fn apply<R: Real>(scales: Vec3<R>, filter: R) -> (Vec3<R>, R) {
    if filter == R::ZERO {
        // Squares of scales below 1e-19 would underflow f32.
        return (scales, R::ONE);
    }
    let filtered = scales.map(|s| (s * s + filter * filter).sqrt());
    // The product of ratios instead of the ratio of products: six squared scales of 1e-4 would underflow f32.
    let ratio = |i: usize| scales[i] / filtered[i];
    (filtered, ratio(0) * ratio(1) * ratio(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_scene::Camera;

    fn camera(fx: f32, z: f32) -> View<f64> {
        View::new(&Camera {
            width_px: 100,
            height_px: 80,
            fx,
            fy: fx,
            cx: 50.0,
            cy: 40.0,
            rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            translation: [0.0, 0.0, z],
            lens: None,
        })
    }

    #[test]
    fn known_filter_and_mass_factor() {
        let filter = filter_of(5.0_f64, 1000.0);
        assert!((filter - 0.002_236_068_0).abs() < 1e-10);
        let (filtered, c3) = apply([0.001; 3], filter);
        assert!((filtered[0] - 0.002_449_489_7).abs() < 1e-10);
        assert!((c3 - 0.068_041_381_7).abs() < 1e-10);
    }

    #[test]
    fn smallest_depth_and_largest_focal_win_and_the_unseen_take_the_farthest() {
        let views = [camera(100.0, 0.0), camera(200.0, 3.0)];
        // Seen by both; seen only by the second (too near for the first); behind both; far to the side of both.
        let means = [[0.0, 0.0, 4.0], [0.0, 0.0, 0.1], [0.0, 0.0, -9.0], [90.0, 0.0, 9.0]];
        let filters = filter_3d(&means, &views);
        let expected = [4.0, 3.1, 4.0, 4.0].map(|d| filter_of(d, 200.0));
        for (found, wanted) in filters.iter().zip(expected) {
            assert!((found - wanted).abs() < 1e-9);
        }
    }

    #[test]
    fn border_is_fifteen_percent_wide() {
        let view = camera(100.0, 0.0);
        // x / z = 0.65 lands on 115 px, the last pixel position that counts.
        assert!(seen_depth(&view, [0.649, 0.0, 1.0]).is_some());
        assert!(seen_depth(&view, [0.651, 0.0, 1.0]).is_none());
        assert!(seen_depth(&view, [0.0, 0.0, 0.2]).is_none());
        assert_eq!(filter_3d(&[[0.0, 0.0, -1.0]], &[view]), vec![0.0]);
    }
}
