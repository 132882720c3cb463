//! Gradients of the terms of the loss that look at parameters: mean opacity and mean standard deviation (3DGS-MCMC,
//! Kheradmand et al. 2024, equation 10).

use super::gaussian::Gaussian;
use crate::math::{Real, sigmoid};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::twins::gaussian::VALUES;
    use crate::twins::rng;

    #[test]
    fn gradients_are_differences_of_the_value() {
        let values = |id| std::array::from_fn(|p| rng::normal::<f64>(3, 0, id, p as u32));
        let gaussians: Vec<Gaussian<f64>> = (0..4).map(|id| Gaussian::from_values(&values(id))).collect();
        let weights = Weights {
            opacity: 0.3,
            scale: 0.7,
        };
        let mut gradients = vec![Gaussian::ZERO; 4];
        regularize(&gaussians, &mut gradients, weights);
        for id in 0..4 {
            for p in 0..VALUES {
                let moved = |by: f64| {
                    let mut all = gaussians.clone();
                    let mut values = all[id].values();
                    values[p] += by;
                    all[id] = Gaussian::from_values(&values);
                    value(&all, weights)
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
}
