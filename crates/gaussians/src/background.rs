//! Points for what lies behind a scene: on spheres around the cameras, where some picture shows them.
//!
//! Sparse models of turntable-like captures have hardly a point in the background. Gaussians for it then grow from what there
//! is, at any depth, also in mid-air in front of cameras across the ring; points far away leave less to explain there.
//! Hierarchical 3D Gaussians (Kerbl et al. 2024, section 4) start from a sphere of points in the same spirit.

use kiln_scene::Camera;

/// Points of the sphere that measures which share of it is in view.
const COARSE: usize = 4096;
/// Most candidates for each point that is asked for, when few directions are in view.
const MOST_CANDIDATES: usize = 64;
/// Most times that the sphere is made finer because too few of its points are in view.
const MOST_ROUNDS: u32 = 8;

/// At most `count` points, spread evenly over the part that `cameras` see of the sphere of `radius` around `center` (world
/// units); the same for the same input. Fewer where little of the sphere is in view, none where nothing is.
#[must_use]
pub fn sphere_points(cameras: &[Camera], center: [f32; 3], radius: f32, count: u32) -> Vec<[f32; 3]> {
    let count = count as usize;
    let is_seen = |place: &[f32; 3]| cameras.iter().any(|camera| camera.sees(*place).is_some());
    let seen_of = |candidates: usize| -> Vec<[f32; 3]> {
        let sphere = (0..candidates).map(|index| on_sphere(index, candidates, center, radius));
        sphere.filter(is_seen).collect()
    };
    // Its share in view says how fine a sphere with `count` points in view has to be.
    let coarse = seen_of(COARSE);
    if coarse.is_empty() || count == 0 {
        return Vec::new();
    }
    let most = count * MOST_CANDIDATES;
    let mut candidates = (count * COARSE).div_ceil(coarse.len()).min(most);
    let mut seen = seen_of(candidates);
    for _ in 0..MOST_ROUNDS {
        if seen.len() >= count || candidates >= most {
            break;
        }
        candidates = (candidates * count)
            .div_ceil(seen.len().max(1))
            .clamp(candidates + 1, most);
        seen = seen_of(candidates);
    }
    let kept = seen.len().min(count);
    (0..kept)
        .filter_map(|k| seen.get(k * seen.len() / kept))
        .copied()
        .collect()
}

/// Point `index` of `count` on a Fibonacci sphere: equal areas along the axis, each the golden angle further around it.
fn on_sphere(index: usize, count: usize, center: [f32; 3], radius: f32) -> [f32; 3] {
    let golden = std::f64::consts::PI * (3.0 - 5.0_f64.sqrt());
    let z = 1.0 - (2 * index + 1) as f64 / count as f64;
    let across = (1.0 - z * z).sqrt();
    let (sin, cos) = (golden * index as f64).sin_cos();
    let direction = [across * cos, across * sin, z];
    std::array::from_fn(|axis| (f64::from(center[axis]) + f64::from(radius) * direction[axis]) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A camera at the origin that looks along z with a field of view of 90 degrees, `scale` times as wide.
    fn camera(scale: f32) -> Camera {
        Camera {
            width_px: 64,
            height_px: 64,
            fx: 32.0 / scale,
            fy: 32.0 / scale,
            cx: 32.0,
            cy: 32.0,
            rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            translation: [0.0; 3],
            lens: None,
        }
    }

    #[test]
    fn points_are_in_view_on_the_sphere_and_as_many_as_asked_for() {
        let center = [0.5, -0.25, 0.0];
        for (scale, count) in [(1.0, 1000), (0.5, 1000), (1.0, 7), (3.0, 20_000)] {
            let points = sphere_points(&[camera(scale)], center, 8.0, count);
            assert_eq!(points, sphere_points(&[camera(scale)], center, 8.0, count));
            assert_eq!(points.len(), count as usize, "{scale}");
            for point in &points {
                let squared: f32 = (0..3).map(|i| (point[i] - center[i]).powi(2)).sum();
                assert!((squared.sqrt() - 8.0).abs() < 1e-4, "{point:?}");
                assert!(camera(scale).sees(*point).is_some(), "{point:?}");
            }
        }
    }

    #[test]
    fn points_are_spread_evenly() {
        let points = sphere_points(&[camera(1.0)], [0.0; 3], 2.0, 2000);
        // Four quadrants of the picture.
        let of = |right: bool, low: bool| {
            points
                .iter()
                .filter(|p| (p[0] > 0.0) == right && (p[1] > 0.0) == low)
                .count()
        };
        for quadrant in [of(true, true), of(true, false), of(false, true), of(false, false)] {
            assert!((450..=550).contains(&quadrant), "{quadrant}");
        }
        let squared = super::super::neighbors::mean_squared_distances(&points);
        let (least, most) = squared
            .iter()
            .fold((f64::MAX, 0.0_f64), |(l, m), s| (l.min(*s), m.max(*s)));
        assert!(most < 6.0 * least, "{least} {most}");
    }

    #[test]
    fn where_nobody_looks_there_is_nothing() {
        assert_eq!(sphere_points(&[], [0.0; 3], 1.0, 100), Vec::<[f32; 3]>::new());
        assert_eq!(sphere_points(&[camera(1.0)], [0.0; 3], 1.0, 0), Vec::<[f32; 3]>::new());
        assert_eq!(
            sphere_points(&[camera(1.0)], [0.0, 0.0, -9.0], 1.0, 100),
            Vec::<[f32; 3]>::new()
        );
    }
}
