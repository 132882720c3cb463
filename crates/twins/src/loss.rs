//! Photometric loss: `l1 * mean |x - y| + dssim * (1 - SSIM(x, y))`, and its gradient with respect to the image.
//!
//! SSIM is Wang et al. 2004 with an 11x11 Gaussian window (sigma 1.5), zero padding, C1 = 0.01^2, C2 = 0.03^2, per
//! channel, averaged over all pixels and channels. The backward pass needs three maps, each blurred once: for
//! `A1 = 2 mx my + C1`, `A2 = 2 sxy + C2`, `B1 = mx^2 + my^2 + C1`, `B2 = sx2 + sy2 + C2`, `S = A1 A2 / (B1 B2)`,
//!
//! ```text
//! p = 2 my (A2 - A1) / (B1 B2) + 2 mx S (1 / B2 - 1 / B1)      derivative by the blurred x
//! q = -S / B2                                                   by the blurred x^2
//! r = 2 A1 / (B1 B2)                                            by the blurred x y
//! dS/dx = w * p + 2 x (w * q) + y (w * r)                       w * is the same blur
//! ```

use kiln_scene::math::{Real, Vec3};

/// Half width of the SSIM window, pixels.
pub const WINDOW_RADIUS: usize = 5;
const C1: f64 = 1e-4;
const C2: f64 = 9e-4;

/// Weights of the two terms; 0.8 and 0.2 in Kerbl et al. 2023.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// Of the mean absolute difference.
    pub l1: f64,
    /// Of 1 - SSIM.
    pub dssim: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self { l1: 0.8, dssim: 0.2 }
    }
}

/// Loss of one image, its terms and its gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss<R> {
    /// Weighted sum.
    pub total: R,
    /// Mean absolute difference over pixels and channels.
    pub l1: R,
    /// Mean SSIM, zero padding.
    pub ssim: R,
    /// d total / d image, one entry a pixel.
    pub gradient: Vec<Vec3<R>>,
}

/// A picture with every pixel multiplied by its mask value.
#[must_use]
pub fn masked<R: Real>(picture: &[Vec3<R>], mask: &[R]) -> Vec<Vec3<R>> {
    picture.iter().zip(mask).map(|(p, &m)| p.map(|v| v * m)).collect()
}

/// [`loss`] of a masked photo: image and target are multiplied by the mask first, and the mask is a factor of the gradient.
/// Both terms stay means over all pixels.
#[must_use]
pub fn masked_loss<R: Real>(
    size_px: [u32; 2],
    image: &[Vec3<R>],
    target: &[Vec3<R>],
    mask: &[R],
    weights: Weights,
) -> Loss<R> {
    let mut out = loss(size_px, &masked(image, mask), &masked(target, mask), weights);
    out.gradient = masked(&out.gradient, mask);
    out
}

/// Normalised Gaussian taps of the SSIM window.
#[must_use]
pub fn window<R: Real>() -> [R; 2 * WINDOW_RADIUS + 1] {
    let taps: [f64; 2 * WINDOW_RADIUS + 1] = std::array::from_fn(|i| {
        let offset = i as f64 - WINDOW_RADIUS as f64;
        (-offset * offset / (2.0 * 1.5 * 1.5)).exp()
    });
    let sum: f64 = taps.iter().sum();
    taps.map(|tap| R::of(tap / sum))
}

/// Separable blur with the SSIM window and zero padding: rows first, then columns.
#[must_use]
pub fn blur<R: Real>(size_px: [u32; 2], map: &[Vec3<R>]) -> Vec<Vec3<R>> {
    let [width, height] = size_px.map(|v| v as usize);
    let across = blur_axis(map, width, 1, |i| i % width);
    blur_axis(&across, height, width, |i| i / width)
}

/// One pass of [`blur`] along an axis of `length` entries `stride` apart; `position` gives an entry's place on it.
fn blur_axis<R: Real>(
    map: &[Vec3<R>],
    length: usize,
    stride: usize,
    position: impl Fn(usize) -> usize,
) -> Vec<Vec3<R>> {
    let taps = window::<R>();
    (0..map.len())
        .map(|i| {
            let at = position(i);
            let mut sum = [R::ZERO; 3];
            for (k, &tap) in taps.iter().enumerate() {
                let Some(source) = (at + k).checked_sub(WINDOW_RADIUS).filter(|&v| v < length) else {
                    continue;
                };
                let value = map[i - at * stride + source * stride];
                for (channel, v) in sum.iter_mut().zip(value) {
                    *channel += tap * v;
                }
            }
            sum
        })
        .collect()
}

/// SSIM of one pixel and channel, and its derivatives (p, q, r) of the module documentation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SsimPoint<R> {
    /// S.
    pub value: R,
    /// Derivative by the blurred x.
    pub p: R,
    /// Derivative by the blurred x^2.
    pub q: R,
    /// Derivative by the blurred x y.
    pub r: R,
}

/// SSIM from blurred moments: means, mean squares and mean product.
#[must_use]
pub fn ssim_point<R: Real>(mx: R, my: R, mxx: R, myy: R, mxy: R) -> SsimPoint<R> {
    let two = R::of(2.0);
    let a1 = two * mx * my + R::of(C1);
    let a2 = two * (mxy - mx * my) + R::of(C2);
    let b1 = mx * mx + my * my + R::of(C1);
    let b2 = (mxx - mx * mx) + (myy - my * my) + R::of(C2);
    let value = a1 * a2 / (b1 * b2);
    SsimPoint {
        value,
        p: two * my * (a2 - a1) / (b1 * b2) + two * mx * value * (R::ONE / b2 - R::ONE / b1),
        q: -value / b2,
        r: two * a1 / (b1 * b2),
    }
}

/// SSIM of every pixel and channel, zero padding.
#[must_use]
pub fn ssim_map<R: Real>(size_px: [u32; 2], image: &[Vec3<R>], target: &[Vec3<R>]) -> Vec<[SsimPoint<R>; 3]> {
    let product = |a: &[Vec3<R>], b: &[Vec3<R>]| -> Vec<Vec3<R>> {
        a.iter()
            .zip(b)
            .map(|(a, b)| std::array::from_fn(|c| a[c] * b[c]))
            .collect()
    };
    let mx = blur(size_px, image);
    let my = blur(size_px, target);
    let mxx = blur(size_px, &product(image, image));
    let myy = blur(size_px, &product(target, target));
    let mxy = blur(size_px, &product(image, target));
    (0..image.len())
        .map(|i| std::array::from_fn(|c| ssim_point(mx[i][c], my[i][c], mxx[i][c], myy[i][c], mxy[i][c])))
        .collect()
}

/// Mean absolute difference over pixels and channels; summed in f64.
#[must_use]
pub fn mean_absolute<R: Real>(image: &[Vec3<R>], target: &[Vec3<R>]) -> f64 {
    let sum: f64 = image
        .as_flattened()
        .iter()
        .zip(target.as_flattened())
        .map(|(&x, &y)| (x - y).abs().to_f64())
        .sum();
    sum / (3 * image.len()) as f64
}

/// Mean of an SSIM map; summed in f64.
fn mean_ssim<R: Real>(points: &[[SsimPoint<R>; 3]]) -> f64 {
    let sum: f64 = points.as_flattened().iter().map(|s| s.value.to_f64()).sum();
    sum / (3 * points.len()) as f64
}

/// The weighted sum of both terms.
fn total(l1: f64, ssim: f64, weights: Weights) -> f64 {
    weights.l1 * l1 + weights.dssim * (1.0 - ssim)
}

/// [`Loss::total`] alone, without the backward pass.
#[must_use]
pub fn loss_value<R: Real>(size_px: [u32; 2], image: &[Vec3<R>], target: &[Vec3<R>], weights: Weights) -> R {
    R::of(total(
        mean_absolute(image, target),
        mean_ssim(&ssim_map(size_px, image, target)),
        weights,
    ))
}

/// Loss and gradient of an image against its target; both row-major, of the given size. A difference of exactly 0 has
/// gradient 0.
#[must_use]
pub fn loss<R: Real>(size_px: [u32; 2], image: &[Vec3<R>], target: &[Vec3<R>], weights: Weights) -> Loss<R> {
    let n = R::of((3 * image.len()) as f64);
    let (l1_weight, ssim_weight) = (R::of(weights.l1) / n, -R::of(weights.dssim) / n);
    let points = ssim_map(size_px, image, target);
    let part = |f: fn(&SsimPoint<R>) -> R| -> Vec<Vec3<R>> {
        let map: Vec<Vec3<R>> = points.iter().map(|p| std::array::from_fn(|c| f(&p[c]))).collect();
        blur(size_px, &map)
    };
    let (p, q, r) = (part(|s| s.p), part(|s| s.q), part(|s| s.r));
    let gradient = (0..image.len())
        .map(|i| {
            std::array::from_fn(|c| {
                let (x, y) = (image[i][c], target[i][c]);
                let sign = if x > y {
                    R::ONE
                } else if x < y {
                    -R::ONE
                } else {
                    R::ZERO
                };
                l1_weight * sign + ssim_weight * (p[i][c] + R::of(2.0) * x * q[i][c] + y * r[i][c])
            })
        })
        .collect();
    let l1 = mean_absolute(image, target);
    let ssim = mean_ssim(&points);
    Loss {
        total: R::of(total(l1, ssim, weights)),
        l1: R::of(l1),
        ssim: R::of(ssim),
        gradient,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng;

    fn noise(n: usize, seed: u32) -> Vec<Vec3<f64>> {
        (0..n)
            .map(|i| std::array::from_fn(|c| rng::uniform(seed, 0, i as u32, c as u32)))
            .collect()
    }

    #[test]
    fn window_taps_are_known() {
        let known = [
            0.001_028_38,
            0.007_598_76,
            0.036_000_77,
            0.109_360_69,
            0.213_005_54,
            0.266_011_72,
        ];
        for (tap, wanted) in window::<f64>().iter().zip(known) {
            assert!((tap - wanted).abs() < 1e-8);
        }
    }

    #[test]
    fn equal_images_have_no_loss() {
        let image = noise(13 * 9, 1);
        let out = loss([13, 9], &image, &image, Weights::default());
        assert!(out.total.abs() < 1e-12 && (out.ssim - 1.0).abs() < 1e-12);
        assert!(out.gradient.as_flattened().iter().all(|g| g.abs() < 1e-12));
    }

    #[test]
    fn gradient_matches_differences() {
        let size = [17, 14];
        let (mut image, target) = (noise(17 * 14, 2), noise(17 * 14, 3));
        let exact = loss(size, &image, &target, Weights::default()).gradient;
        let eps = 1e-6;
        for i in (0..17 * 14).step_by(3) {
            for c in 0..3 {
                let kept = image[i][c];
                image[i][c] = kept + eps;
                let high = loss(size, &image, &target, Weights::default()).total;
                image[i][c] = kept - eps;
                let low = loss(size, &image, &target, Weights::default()).total;
                image[i][c] = kept;
                let numeric = (high - low) / (2.0 * eps);
                assert!(
                    (numeric - exact[i][c]).abs() < 1e-5 * exact[i][c].abs() + 1e-9,
                    "{i} {c}"
                );
            }
        }
    }

    /// A mask with a blob, an edge and single pixels.
    fn mask(width: usize, height: usize) -> Vec<f64> {
        let counts = |i: usize| !(i % width < 5 || (6..9).contains(&(i / width)) || i.is_multiple_of(11));
        (0..width * height).map(|i| f64::from(u8::from(counts(i)))).collect()
    }

    #[test]
    fn masked_gradient_matches_differences_and_is_zero_where_masked() {
        let size = [17, 14];
        let (mut image, target, mask) = (noise(17 * 14, 4), noise(17 * 14, 5), mask(17, 14));
        let exact = masked_loss(size, &image, &target, &mask, Weights::default());
        let eps = 1e-6;
        for i in (0..17 * 14).step_by(2) {
            for c in 0..3 {
                let kept = image[i][c];
                let mut at = |value| {
                    image[i][c] = value;
                    masked_loss(size, &image, &target, &mask, Weights::default()).total
                };
                let numeric = (at(kept + eps) - at(kept - eps)) / (2.0 * eps);
                at(kept);
                let found = exact.gradient[i][c];
                assert!((numeric - found).abs() < 1e-5 * found.abs() + 1e-9, "{i} {c}");
                assert!(mask[i] == 1.0 || found == 0.0);
            }
        }
    }

    #[test]
    fn what_is_masked_does_not_matter() {
        let size = [17, 14];
        let (image, target, mask) = (noise(17 * 14, 6), noise(17 * 14, 7), mask(17, 14));
        let mut other = image.clone();
        for (pixel, _) in other.iter_mut().zip(&mask).filter(|(_, m)| **m == 0.0) {
            *pixel = [0.9, 0.1, 7.0];
        }
        let weights = Weights::default();
        assert_eq!(
            masked_loss(size, &image, &target, &mask, weights),
            masked_loss(size, &other, &target, &mask, weights)
        );
        let all = vec![1.0; 17 * 14];
        assert_eq!(
            masked_loss(size, &image, &target, &all, weights),
            loss(size, &image, &target, weights)
        );
        let none = masked_loss(size, &image, &target, &vec![0.0; 17 * 14], weights);
        assert!(none.total.abs() < 1e-12 && none.gradient.as_flattened().iter().all(|g| *g == 0.0));
    }
}
