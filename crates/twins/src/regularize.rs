//! Gradients of the terms of the loss that look at parameters: mean opacity and mean standard deviation (3DGS-MCMC,
//! Kheradmand et al. 2024, equation 10), and the mean of the least standard deviations (PGSR, Chen et al. 2024, section 3.3).

use super::gaussian::Gaussian;
use super::surface::thinnest;
use kiln_scene::math::{Real, sigmoid};

/// Weights of the terms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Weights {
    /// Of the mean opacity, before the 3D filter.
    pub opacity: f64,
    /// Of the mean standard deviation over all axes, before the 3D filter.
    pub scale: f64,
}

/// The terms' value.
#[must_use]
pub fn value<R: Real>(gaussians: &[Gaussian<R>], weights: Weights) -> f64 {
    let count = gaussians.len().max(1) as f64;
    let opacity: f64 = gaussians.iter().map(|g| sigmoid(g.logit_opacity).to_f64()).sum();
    let scale: f64 = gaussians
        .iter()
        .flat_map(|g| g.log_scale)
        .map(|s| s.exp().to_f64())
        .sum();
    weights.opacity * opacity / count + weights.scale * scale / (3.0 * count)
}

/// Adds the terms' gradients to those of the image loss; both slices have one entry a Gaussian.
pub fn regularize<R: Real>(gaussians: &[Gaussian<R>], gradients: &mut [Gaussian<R>], weights: Weights) {
    let inverse_count = 1.0 / gaussians.len().max(1) as f64;
    for (gaussian, gradient) in gaussians.iter().zip(gradients) {
        let opacity = sigmoid(gaussian.logit_opacity);
        gradient.logit_opacity += R::of(weights.opacity * inverse_count) * opacity * (R::ONE - opacity);
        for (log_scale, gradient) in gaussian.log_scale.into_iter().zip(&mut gradient.log_scale) {
            *gradient += R::of(weights.scale * inverse_count / 3.0) * log_scale.exp();
        }
    }
}

/// The mean over the `visible` Gaussians of the standard deviation along their thinnest axis, before the 3D filter, times
/// `weight`.
#[must_use]
pub fn flat_value<R: Real>(gaussians: &[Gaussian<R>], visible: &[u32], weight: f64) -> f64 {
    let least = |id: &u32| {
        let log_scale = gaussians[*id as usize].log_scale;
        log_scale[thinnest(log_scale)].exp().to_f64()
    };
    weight * visible.iter().map(least).sum::<f64>() / visible.len().max(1) as f64
}

/// Adds the gradients of [`flat_value`], which are those of one axis each; both slices have one entry a Gaussian.
pub fn flatten<R: Real>(gaussians: &[Gaussian<R>], gradients: &mut [Gaussian<R>], visible: &[u32], weight: f64) {
    let weight = R::of(weight / visible.len().max(1) as f64);
    for &id in visible {
        let log_scale = gaussians[id as usize].log_scale;
        let axis = thinnest(log_scale);
        gradients[id as usize].log_scale[axis] += weight * log_scale[axis].exp();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gaussian::VALUES;
    use crate::rng;

    fn gaussians(count: u32) -> Vec<Gaussian<f64>> {
        let values = |id| std::array::from_fn(|p| rng::normal::<f64>(3, 0, id, p as u32));
        (0..count).map(|id| Gaussian::from_values(&values(id))).collect()
    }

    /// Differences of `value` by everything that a Gaussian has.
    fn compare(gaussians: &[Gaussian<f64>], gradients: &[Gaussian<f64>], value: impl Fn(&[Gaussian<f64>]) -> f64) {
        for id in 0..gaussians.len() {
            for p in 0..VALUES {
                let moved = |by: f64| {
                    let mut all = gaussians.to_vec();
                    let mut values = all[id].values();
                    values[p] += by;
                    all[id] = Gaussian::from_values(&values);
                    value(&all)
                };
                let wanted = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                let found = gradients[id].values()[p];
                assert!(
                    (found - wanted).abs() < 1e-9,
                    "Gaussian {id} value {p}: {found}, not {wanted}"
                );
            }
        }
    }

    #[test]
    fn gradients_are_differences_of_the_value() {
        let gaussians = gaussians(4);
        let weights = Weights {
            opacity: 0.3,
            scale: 0.7,
        };
        let mut gradients = vec![Gaussian::ZERO; 4];
        regularize(&gaussians, &mut gradients, weights);
        compare(&gaussians, &gradients, |all| value(all, weights));
    }

    #[test]
    fn flat_pulls_on_the_thinnest_axis_of_what_is_visible() {
        let gaussians = gaussians(12);
        let visible = [1, 2, 5, 7, 8, 10, 11];
        let mut gradients = vec![Gaussian::ZERO; 12];
        flatten(&gaussians, &mut gradients, &visible, 0.4);
        compare(&gaussians, &gradients, |all| flat_value(all, &visible, 0.4));
        let pulled = |g: &Gaussian<f64>| g.log_scale.iter().filter(|v| **v > 0.0).count();
        let pulled: Vec<usize> = gradients.iter().map(pulled).collect();
        assert_eq!(pulled, [0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1]);
        assert_eq!(flat_value(&gaussians, &[], 0.4), 0.0);
    }
}
