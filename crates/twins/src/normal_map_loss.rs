//! Disagreement between a render's normals and a map's, and its gradient by blended normals.

use super::surface::{Blended, LEAST_COVERAGE};
use kiln_scene::math::{Real, Vec3, dot, norm, scale, sub};

/// Length of a blended normal below which it says nothing of a surface.
const LEAST_NORMAL: f64 = 0.1;

/// A map's pixel: a normal of length 1 in the camera's axes, and how far it is trusted, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mapped<R> {
    /// The normal.
    pub normal: Vec3<R>,
    /// Weight of the pixel; 0 where there is no normal.
    pub trust: R,
}

/// The weighted mean and its gradient by every pixel's blended normal.
#[must_use]
pub fn normal_map_loss<R: Real>(blended: &[Blended<R>], mapped: &[Mapped<R>], weight: R) -> (R, Vec<Vec3<R>>) {
    let share = weight / R::of(blended.len() as f64);
    let mut total = R::ZERO;
    let gradient = |(pixel, of_map): (&Blended<R>, &Mapped<R>)| {
        let size = norm(pixel.plane.normal);
        let covered = R::ONE - pixel.transmittance;
        let counts = covered > R::of(LEAST_COVERAGE) && size > R::of(LEAST_NORMAL);
        if of_map.trust == R::ZERO || !counts {
            return [R::ZERO; 3];
        }
        let n = scale(pixel.plane.normal, R::ONE / size);
        let along = dot(n, of_map.normal);
        total += share * of_map.trust * (R::ONE - along);
        scale(sub(of_map.normal, scale(n, along)), -(share * of_map.trust / size))
    };
    let gradients = blended.iter().zip(mapped).map(gradient).collect();
    (total, gradients)
}

#[cfg(test)]
mod tests {
    use super::super::rng::uniform;
    use super::super::surface::Plane;
    use super::*;

    fn unit(v: Vec3<f64>) -> Vec3<f64> {
        scale(v, 1.0 / norm(v))
    }

    /// Blended normals of any length, and maps that agree with them more or less.
    fn pixels() -> (Vec<Blended<f64>>, Vec<Mapped<f64>>) {
        let random = |i: u32, channel: u32| uniform::<f64>(8, 0, i, channel);
        (0..60)
            .map(|i| {
                let normal = [random(i, 0) - 0.5, random(i, 1) - 0.5, -0.3 - 0.6 * random(i, 2)];
                let blended = Blended {
                    plane: Plane { normal, distance: 2.0 },
                    transmittance: if i % 9 == 4 { 0.6 } else { 0.4 * random(i, 3) },
                    ..Blended::default()
                };
                let mapped = Mapped {
                    normal: unit([random(i, 4) - 0.5, random(i, 5) - 0.5, random(i, 6) - 0.8]),
                    trust: if i % 7 == 0 { 0.0 } else { random(i, 7) },
                };
                (blended, mapped)
            })
            .unzip()
    }

    #[test]
    fn gradients_by_normals_match_differences() {
        let (blended, mapped) = pixels();
        let (total, gradients) = normal_map_loss(&blended, &mapped, 1.3);
        assert!(total > 0.0);
        let h = 1e-6;
        for (i, gradient) in gradients.iter().enumerate() {
            for (axis, found) in gradient.iter().enumerate() {
                let at = |by: f64| {
                    let mut moved = blended.clone();
                    moved[i].plane.normal[axis] += by;
                    normal_map_loss(&moved, &mapped, 1.3).0
                };
                let difference = (at(h) - at(-h)) / (2.0 * h);
                assert!((found - difference).abs() < 1e-8, "{i} {axis}: {found} {difference}");
            }
        }
    }

    #[test]
    fn lengths_and_what_is_faint_or_cancelled_say_nothing() {
        let (blended, mapped) = pixels();
        let (_, gradients) = normal_map_loss(&blended, &mapped, 1.0);
        for (i, (pixel, gradient)) in blended.iter().zip(&gradients).enumerate() {
            // the gradient turns a normal and leaves its length
            assert!(dot(*gradient, pixel.plane.normal).abs() < 1e-12);
            let none = i % 9 == 4 || i % 7 == 0;
            assert_eq!(*gradient == [0.0; 3], none, "{i}");
        }
        let mut short = blended.clone();
        for pixel in &mut short {
            pixel.plane.normal = scale(unit(pixel.plane.normal), 0.099);
        }
        assert_eq!(normal_map_loss(&short, &mapped, 1.0).0, 0.0);
    }
}
