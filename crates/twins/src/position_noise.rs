//! Noise on the centres of faint Gaussians (3DGS-MCMC, Kheradmand et al. 2024, equation 8).

use super::gaussian::Gaussian;
use super::rng;
use kiln_kernels::generated::position_noise::CHANNEL_NOISE;
use kiln_scene::math::{Real, Vec3, mat_vec, norm, rotation, sigmoid};

/// Steepness of the gate over opacity.
const GATE_SLOPE: f64 = 100.0;
/// Opacity at which the gate is half open.
const GATE_OPACITY: f64 = 0.005;
/// Exponent from which on the gate counts as closed.
const GATE_END: f64 = 25.0;

/// What is added to the centre of Gaussian `id`: `noise / (1 + exp(100 (opacity - 0.005))) R S^2 n`, `n` standard normal in the
/// Gaussian's own axes. Opacity is that before the 3D filter.
#[must_use]
pub fn offset<R: Real>(gaussian: &Gaussian<R>, noise: f64, seed: u32, iteration: u32, id: u32) -> Vec3<R> {
    let excess = R::of(GATE_SLOPE) * (sigmoid(gaussian.logit_opacity) - R::of(GATE_OPACITY));
    if excess > R::of(GATE_END) {
        return [R::ZERO; 3];
    }
    let amount = R::of(noise) / (R::ONE + excess.exp());
    let own: Vec3<R> = std::array::from_fn(|axis| {
        let scale = gaussian.log_scale[axis].exp();
        amount * scale * scale * rng::normal::<R>(seed, iteration, id, CHANNEL_NOISE + axis as u32)
    });
    let length = norm(gaussian.quat);
    mat_vec(rotation(gaussian.quat.map(|v| v / length)), own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_scene::math::logit;

    fn gaussian(opacity: f64) -> Gaussian<f64> {
        Gaussian {
            quat: [0.5, -0.5, 0.5, 0.5],
            log_scale: [0.1_f64.ln(), 0.2_f64.ln(), 0.4_f64.ln()],
            logit_opacity: logit(opacity),
            ..Gaussian::ZERO
        }
    }

    #[test]
    fn noise_has_the_squared_covariance_and_fades_with_opacity() {
        let n = 20_000;
        let moved: Vec<_> = (0..n).map(|id| offset(&gaussian(0.005), 2.0, 1, 7, id)).collect();
        let mean = |pick: &dyn Fn(&[f64; 3]) -> f64| moved.iter().map(pick).sum::<f64>() / f64::from(n);
        let axes = rotation([0.5, -0.5, 0.5, 0.5]);
        // Half of 2, times the square of the standard deviation.
        let deviations = gaussian(0.5).log_scale.map(|s| s.exp().powi(2));
        for (axis, wanted) in deviations.into_iter().enumerate() {
            let along = |v: &[f64; 3]| (0..3).map(|row| axes[row][axis] * v[row]).sum::<f64>();
            let found = mean(&|v| along(v).powi(2)).sqrt();
            assert!(
                (found / wanted - 1.0).abs() < 0.03,
                "axis {axis}: {found}, not {wanted}"
            );
            assert!(mean(&along).abs() < 0.03 * wanted);
        }
        let length = |opacity: f64| norm::<f64, 3>(offset(&gaussian(opacity), 2.0, 1, 7, 3));
        assert!(length(0.005) > 40.0 * length(0.05) && length(0.05) > 0.0);
        assert_eq!(length(0.3), 0.0);
    }
}
