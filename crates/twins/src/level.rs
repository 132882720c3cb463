//! Points on a level of the density of Gaussians along the rays of pixels.
//!
//! The density at p is d(p) = sum over Gaussians j of a_j e^(-q_j / 2), q_j = |S_j^-1 R_j^T (p - mu_j)|^2 (SuGaR, Guedon and
//! Lepetit 2024, eq. 1), over the neighbours of the Gaussian that a pixel shows. Its normal is that of growing d turned round:
//! sum of a_j e^(-q_j / 2) R_j S_j^-2 R_j^T (p - mu_j), normalised, which points out of what is dense.

use super::gaussian::Gaussian;
use super::project::Visible;
use super::rasterize::coverage;
use super::rng;
use kiln_kernels::neighbors::NONE;
use kiln_scene::math::{Mat3, Real, Vec3, add, dot, mat_vec, norm, rotation, scale, sigmoid, sub, transpose};

/// Least standard deviation, world units.
const LEAST_DEVIATION: f64 = 1e-8;
/// Exponents beyond it count as this.
const MOST_EXPONENT: f64 = 1e8;
/// Places that are looked at along a ray.
const PLACES: usize = 21;
/// How far from the densest place they reach, standard deviations.
const REACH: f64 = 3.0;
/// Halvings of the part of the ray in which the density passes the level.
const HALVINGS: usize = 12;
const CHANNEL: u32 = 11;

/// A Gaussian as the density reads it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row<R> {
    /// Centre, world space.
    pub center: Vec3<R>,
    /// With the 3D filter's factor; 0 for one that is not finite.
    pub opacity: R,
    /// Columns are its axes.
    pub rotation: Mat3<R>,
    /// 1 / standard deviations, with the 3D filter.
    pub inverse: Vec3<R>,
}

impl<R: Real> Row<R> {
    /// Takes the 3D filter into opacity and deviations.
    #[must_use]
    pub fn new(gaussian: &Gaussian<R>, filter_3d: f32) -> Self {
        let filter = R::of(f64::from(filter_3d));
        let raw = gaussian.log_scale.map(R::exp);
        let deviation = raw.map(|s| {
            if filter == R::ZERO {
                s
            } else {
                (s * s + filter * filter).sqrt()
            }
        });
        let kept = (0..3).fold(R::ONE, |kept, i| kept * (raw[i] / deviation[i]));
        let inverse = deviation.map(|s| R::ONE / s.max(R::of(LEAST_DEVIATION)));
        let opacity = sigmoid(gaussian.logit_opacity) * if filter == R::ZERO { R::ONE } else { kept };
        let length = norm(gaussian.quat);
        let all = dot(gaussian.mean, gaussian.mean) + dot(inverse, inverse) + opacity;
        if !(all.to_f64().is_finite() && length.to_f64().is_finite() && length > R::ZERO) {
            return Self {
                center: [R::ZERO; 3],
                opacity: R::ZERO,
                rotation: rotation([R::ONE, R::ZERO, R::ZERO, R::ZERO]),
                inverse: [R::ONE; 3],
            };
        }
        Self {
            center: gaussian.mean,
            opacity,
            rotation: rotation(gaussian.quat.map(|q| q / length)),
            inverse,
        }
    }

    /// S^-1 R^T v.
    #[must_use]
    pub fn whitened(&self, v: Vec3<R>) -> Vec3<R> {
        let turned = mat_vec(transpose(self.rotation), v);
        [0, 1, 2].map(|i| self.inverse[i] * turned[i])
    }

    /// a e^(-q / 2) at a place, and S^-1 R^T (p - mu).
    #[must_use]
    pub fn share(&self, place: Vec3<R>) -> (R, Vec3<R>) {
        let v = self.whitened(sub(place, self.center));
        let exponent = dot(v, v).min(R::of(MOST_EXPONENT));
        (self.opacity * (R::of(-0.5) * exponent).exp(), v)
    }
}

/// The density at a place.
#[must_use]
pub fn density<R: Real>(rows: &[Row<R>], near: &[u32], place: Vec3<R>) -> R {
    let there = near.iter().filter(|id| **id != NONE);
    there.map(|id| rows[*id as usize].share(place).0).sum()
}

/// Against the gradient of the density at a place, of length 1; none where it has no direction.
#[must_use]
pub fn outward<R: Real>(rows: &[Row<R>], near: &[u32], place: Vec3<R>) -> Option<Vec3<R>> {
    let mut slope = [R::ZERO; 3];
    for id in near.iter().filter(|id| **id != NONE) {
        let row = &rows[*id as usize];
        let (share, v) = row.share(place);
        let steep = [0, 1, 2].map(|i| row.inverse[i] * v[i]);
        slope = add(slope, scale(mat_vec(row.rotation, steep), share));
    }
    let size = norm(slope);
    (size > R::ZERO).then(|| scale(slope, R::ONE / size))
}

/// Pixel of candidate `k`, row by row: one of each of `candidates` equal shares of the picture; none behind the last, where
/// there are fewer pixels than candidates.
#[must_use]
pub fn candidate_pixel(k: u32, candidates: u32, pixels: u32, seed: u32, view: u32) -> Option<u32> {
    let count = candidates.min(pixels);
    if k >= count {
        return None;
    }
    let (share, longer) = (pixels / count, pixels % count);
    let size = share + u32::from(k < longer);
    Some(k * share + k.min(longer) + rng::bits(seed, view, k, CHANNEL) % size)
}

/// The Gaussian of `visible` at which half of a pixel's light is blocked; `list` holds indices, nearest first.
#[must_use]
pub fn hit<R: Real>(visible: &[Visible<R>], list: &[u32], pixel: [R; 2]) -> Option<u32> {
    let mut transmittance = R::ONE;
    list.iter().find_map(|&index| {
        let splat = &visible[index as usize];
        let cover = coverage(splat.mean_px, splat.conic, splat.opacity, pixel)?;
        transmittance = transmittance * (R::ONE - cover.alpha);
        (transmittance <= R::of(0.5)).then_some(splat.id)
    })
}

/// Where the ray from `eye` along `direction`, of length 1, meets the `level` near the Gaussian `hit`, and the outward normal
/// there. `near` are the neighbours of that Gaussian.
#[must_use]
pub fn level_point<R: Real>(
    rows: &[Row<R>],
    (hit, near): (u32, &[u32]),
    (eye, direction): (Vec3<R>, Vec3<R>),
    level: R,
) -> Option<(Vec3<R>, Vec3<R>)> {
    let own = &rows[hit as usize];
    let v = own.whitened(direction);
    let densest = -dot(own.whitened(sub(eye, own.center)), v) / dot(v, v);
    let origin = add(eye, scale(direction, densest));
    let turned = mat_vec(transpose(own.rotation), direction);
    let reach = R::of(REACH) * norm([0, 1, 2].map(|i| turned[i] / own.inverse[i]));
    let place = |t: R| add(origin, scale(direction, t));
    let at = |t: R| density(rows, near, place(t));
    let steps = (PLACES - 1) as f64;
    let places: Vec<R> = (0..PLACES)
        .map(|i| reach * R::of(2.0 * i as f64 / steps - 1.0))
        .collect();
    if at(places[0]) >= level {
        return None;
    }
    let above = (1..PLACES).find(|i| at(places[*i]) > level)?;
    let (mut low, mut high) = (places[above - 1], places[above]);
    for _ in 0..HALVINGS {
        let middle = R::of(0.5) * (low + high);
        if at(middle) > level {
            high = middle;
        } else {
            low = middle;
        }
    }
    let point = place(high);
    Some((point, outward(rows, near, point)?))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::sh::SH_MAX;

    fn flat(mean: [f64; 3], quat: [f64; 4]) -> Gaussian<f64> {
        Gaussian {
            mean,
            quat,
            log_scale: [0.3, 0.4, 0.01].map(f64::ln),
            logit_opacity: 2.0,
            sh: [[0.0; 3]; SH_MAX],
        }
    }

    #[test]
    fn every_share_of_a_picture_has_one_candidate() {
        for (candidates, pixels) in [(1, 1), (7, 100), (100, 100), (64, 1000), (999, 1000), (50, 7)] {
            let found: Vec<u32> = (0..candidates)
                .filter_map(|k| candidate_pixel(k, candidates, pixels, 3, 5))
                .collect();
            assert_eq!(found.len() as u32, candidates.min(pixels));
            assert!(found.windows(2).all(|pair| pair[0] < pair[1]), "{found:?}");
            assert!(found.iter().all(|pixel| *pixel < pixels));
        }
    }

    #[test]
    fn the_normal_is_against_the_gradient() {
        let rows: Vec<Row<f64>> = [
            flat([0.0; 3], [1.0, 0.1, 0.2, 0.0]),
            flat([0.2, 0.1, 0.005], [0.9, -0.1, 0.15, 0.3]),
        ]
        .iter()
        .map(|g| Row::new(g, 0.004))
        .collect();
        let near = [0, 1, NONE];
        let place = [0.05, -0.02, 0.012];
        let step = 1e-7;
        let slope: [f64; 3] = std::array::from_fn(|axis| {
            let off = |sign: f64| {
                let mut there = place;
                there[axis] += sign * step;
                density(&rows, &near, there)
            };
            (off(1.0) - off(-1.0)) / (2.0 * step)
        });
        let normal = outward(&rows, &near, place).unwrap();
        let wanted = scale(slope, -1.0 / norm(slope));
        assert!(norm(sub(normal, wanted)) < 1e-6, "{normal:?} {wanted:?}");
        assert!((norm(normal) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_ray_meets_the_level_in_front_of_a_disc() {
        let rows = [Row::new(&flat([0.0; 3], [1.0, 0.0, 0.0, 0.0]), 0.0)];
        let (eye, ray) = ([0.1, 0.0, -4.0], [0.0, 0.0, 1.0]);
        let (point, normal) = level_point(&rows, (0, &[0]), (eye, ray), 0.3).unwrap();
        assert!((density(&rows, &[0], point) - 0.3).abs() < 1e-3, "{point:?}");
        assert!(point[2] < 0.0 && normal[2] < -0.99, "{point:?} {normal:?}");
        // No density reaches the level; one that does everywhere has no way in.
        assert_eq!(level_point(&rows, (0, &[0]), (eye, ray), 0.95), None);
        let mut everywhere = rows[0];
        everywhere.inverse = [1e-3; 3];
        let both = [rows[0], everywhere];
        assert_eq!(level_point(&both, (0, &[0, 1]), (eye, ray), 0.3), None);
    }
}
