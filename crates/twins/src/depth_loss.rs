//! Disagreement between a render's inverse depths and a map's, and its gradient by blended planes.

use super::gaussian::View;
use super::surface::{Blended, Plane, pixel_ray};
use kiln_scene::math::{Real, Vec3, dot, scale};

/// Where the loss of a pixel has half of its largest value, in units of inverse depth.
const CUT: f64 = 0.25;

/// A map's pixel: inverse depth in the photo's unit, and how far it is trusted, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mapped<R> {
    /// Inverse depth, above 0 where there is one.
    pub inverse: R,
    /// Weight of the pixel.
    pub trust: R,
}

/// Loss of a pixel whose inverse depth is off by `r`, and its derivative.
pub fn rho<R: Real>(r: R) -> (R, R) {
    let size = if r < R::ZERO { -r } else { r };
    let steep = R::of(CUT) / (R::of(CUT) + size);
    let sign = if r < R::ZERO { -R::ONE } else { R::ONE };
    (size * steep, sign * steep * steep)
}

/// The weighted mean and its gradient by every pixel's blended plane, for a depth map of the render (see
/// [`super::surface::depth_map`]).
#[must_use]
pub fn depth_loss<R: Real>(
    blended: &[Blended<R>],
    map: &[(R, Vec3<R>)],
    mapped: &[Mapped<R>],
    unit: R,
    view: &View<R>,
    weight: R,
) -> (R, Vec<Plane<R>>) {
    let share = weight / R::of(blended.len() as f64);
    let mut total = R::ZERO;
    let gradient = |i: usize| {
        let (z, of_map) = (map[i].0, mapped[i]);
        if z == R::ZERO || of_map.trust == R::ZERO {
            return Plane::default();
        }
        let (value, slope_of_rho) = rho(R::ONE / (unit * z) - of_map.inverse);
        total += share * of_map.trust * value;
        let by_depth = -share * of_map.trust * slope_of_rho / (unit * z * z);
        let width = view.size_px[0];
        let ray = pixel_ray(view, [i as u32 % width, i as u32 / width].map(|v| R::of(f64::from(v))));
        let Plane { normal, distance } = blended[i].plane;
        let slope = -dot(normal, ray);
        Plane {
            normal: scale(ray, by_depth * distance / (slope * slope)),
            distance: by_depth / slope,
        }
    };
    let gradients = (0..blended.len()).map(gradient).collect();
    (total, gradients)
}

#[cfg(test)]
mod tests {
    use super::super::rng::uniform;
    use super::super::scenes::camera;
    use super::super::surface::depth_map;
    use super::*;
    use kiln_kernels::plane_loss::PLANES;

    /// Ends of all tails: far maps pull less, and the gradient by planes is that of differences.
    #[test]
    fn gradients_by_planes_match_differences() {
        let size = [9_u32, 7];
        let view = View {
            size_px: size,
            focal: [11.0, 10.0],
            centre: [4.2, 3.1],
            ..View::new(&camera())
        };
        let random = |i: u32, channel: u32| uniform::<f64>(5, 0, i, channel);
        let pixels = size[0] * size[1];
        let blended: Vec<Blended<f64>> = (0..pixels)
            .map(|i| {
                let ray = pixel_ray(&view, [i % size[0], i / size[0]].map(f64::from));
                let normal = [0.3 * random(i, 0), -0.2 * random(i, 1), -0.9];
                let z = 2.0 + 3.0 * random(i, 2);
                Blended {
                    plane: Plane {
                        normal,
                        distance: -z * dot(normal, ray),
                    },
                    transmittance: 0.1,
                    ..Blended::default()
                }
            })
            .collect();
        let mapped: Vec<Mapped<f64>> = (0..pixels)
            .map(|i| Mapped {
                inverse: 0.2 + 2.0 * random(i, 3),
                trust: if i % 7 == 0 { 0.0 } else { random(i, 4) },
            })
            .collect();
        let loss = |blended: &[Blended<f64>]| {
            let map = depth_map(blended, &view, &PLANES);
            depth_loss(blended, &map, &mapped, 0.35, &view, 1.7)
        };
        let (total, gradients) = loss(&blended);
        assert!(total > 0.0);
        let h = 1e-6;
        for i in 0..blended.len() {
            let at = |axis: usize, by: f64| {
                let mut moved = blended.clone();
                let plane = &mut moved[i].plane;
                match axis {
                    3 => plane.distance += by,
                    _ => plane.normal[axis] += by,
                }
                loss(&moved).0
            };
            let found = [
                gradients[i].normal[0],
                gradients[i].normal[1],
                gradients[i].normal[2],
                gradients[i].distance,
            ];
            for (axis, found) in found.into_iter().enumerate() {
                let difference = (at(axis, h) - at(axis, -h)) / (2.0 * h);
                assert!(
                    (found - difference).abs() < 1e-7 + 1e-5 * found.abs(),
                    "{i} {axis}: {found} {difference}"
                );
            }
        }
    }

    #[test]
    fn what_is_far_off_pulls_little() {
        let slope = |r: f64| rho(r).1.abs();
        assert_eq!(slope(0.0), 1.0);
        assert!((slope(CUT) - 0.25).abs() < 1e-12 && slope(10.0) < 1e-3 && rho(1e9).0 <= CUT);
        assert!((rho(-0.3).0 - rho(0.3).0).abs() < 1e-15 && rho(-0.3).1 < 0.0);
    }
}
