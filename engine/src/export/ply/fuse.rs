//! Folding the 3D filter into opacity and scale.

use std::ops::Range;

use kiln_gaussians::Gaussians;
use kiln_scene::math::sigmoid;

/// Opacity and scales that stand for a Gaussian and its filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fused {
    /// Logarithms of the standard deviations.
    pub log_scales: [f32; 3],
    /// Opacity before the sigmoid.
    pub logit_opacity: f32,
}

/// Convolves a Gaussian with an isotropic filter of standard deviation `filter_3d`.
///
/// `s' = sqrt(s^2 + f^2)` on each axis, opacity times `sqrt(prod s^2 / prod s'^2)` (Mip-Splatting, Yu et al. 2024,
/// eq. 9). Computed in f64 and in logarithms, so that nothing overflows or rounds to 0 or 1 before the logit.
#[must_use]
pub fn fuse(log_scales: [f32; 3], logit_opacity: f32, filter_3d: f32) -> Fused {
    if filter_3d == 0.0 {
        return Fused {
            log_scales,
            logit_opacity,
        };
    }
    let log_filter = f64::from(filter_3d).abs().ln();
    // ln(s'/s) = ln(1 + (f/s)^2) / 2
    let growth = log_scales.map(|log_scale| 0.5 * softplus(2.0 * (log_filter - f64::from(log_scale))));
    let log_factor = -growth.iter().sum::<f64>();
    let logit = f64::from(logit_opacity);
    let log_opacity = log_factor - softplus(-logit);
    // 1 - c sigmoid(o) = (1 - c) + c sigmoid(-o)
    let log_complement = (-log_factor.exp_m1() + (log_factor - softplus(logit)).exp()).ln();
    let limit = f64::from(f32::MAX);
    Fused {
        log_scales: std::array::from_fn(|axis| (f64::from(log_scales[axis]) + growth[axis]) as f32),
        logit_opacity: (log_opacity - log_complement).clamp(-limit, limit) as f32,
    }
}

/// Mean opacity of a model as a fused file has it, 0 to 1. Values that are not finite are passed over.
#[derive(Clone, Copy, Debug, Default)]
pub struct MeanOpacity {
    sum: f64,
    count: u64,
}

impl MeanOpacity {
    /// Takes a Gaussian with its filter.
    pub fn add(&mut self, log_scales: [f32; 3], logit_opacity: f32, filter_3d: f32) {
        let opacity = f64::from(sigmoid(fuse(log_scales, logit_opacity, filter_3d).logit_opacity));
        if opacity.is_finite() {
            self.sum += opacity;
            self.count += 1;
        }
    }

    /// Takes those Gaussians of `model` that `range` numbers.
    pub fn add_part(&mut self, model: &Gaussians, range: Range<usize>) {
        for i in range {
            let (Some(scales), Some(logit)) = (model.log_scales.get(i), model.logit_opacities.get(i)) else {
                continue;
            };
            self.add(*scales, *logit, model.filter_3d.get(i).copied().unwrap_or(0.0));
        }
    }

    /// The mean; `None` of nothing.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

/// `ln(1 + e^x)` without overflow.
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_opacity_is_that_of_the_fused_file() {
        let mut mean = MeanOpacity::default();
        assert_eq!(mean.mean(), None);
        mean.add([0.0; 3], 0.0, 0.0);
        mean.add([0.0; 3], f32::NAN, 0.0);
        assert_eq!(mean.mean(), Some(0.5));
        let fused = fuse([0.0; 3], 0.0, 1.0);
        mean.add([0.0; 3], 0.0, 1.0);
        let expected = 0.5 * (0.5 + sigmoid(f64::from(fused.logit_opacity)));
        assert!((mean.mean().unwrap_or_default() - expected).abs() < 1e-7 && expected < 0.5);
    }

    #[test]
    fn published_values() {
        // s = 0.001 with the filter of depth 5 at 1000 pixels focal length
        let fused = fuse([0.001_f32.ln(); 3], -1.758_571_4, 0.002_236_068);
        for log_scale in fused.log_scales {
            assert!((f64::from(log_scale).exp() - 0.002_449_489_7).abs() < 1e-9);
        }
        let raw = sigmoid(-1.758_571_4);
        let factor = sigmoid(f64::from(fused.logit_opacity)) / raw;
        assert!((factor - 0.068_041_381_7).abs() < 1e-7, "{factor}");
        // a raw logit that a reset leaves: effective opacity 0.01
        assert!((raw * 0.068_041_381_7 - 0.01).abs() < 1e-8);
    }

    #[test]
    fn extremes_stay_finite_and_monotone() {
        let unfiltered = Fused {
            log_scales: [-3.0, 0.0, 3.0],
            logit_opacity: 7.5,
        };
        assert_eq!(fuse(unfiltered.log_scales, 7.5, 0.0), unfiltered);
        for log_scale in [-1e5_f32, -90.0, -20.0, 0.0, 20.0, 90.0] {
            for logit in [-1e4_f32, -30.0, 0.0, 30.0, 1e4] {
                for filter in [1e-30_f32, 1e-3, 1e3] {
                    let fused = fuse([log_scale; 3], logit, filter);
                    assert!(fused.logit_opacity.is_finite() && fused.logit_opacity <= logit.max(1e3));
                    assert!(
                        fused
                            .log_scales
                            .iter()
                            .all(|&fused| fused.is_finite() && fused >= log_scale)
                    );
                }
            }
        }
        // a filter far below the scale leaves opacity as it is
        assert!((fuse([0.0; 3], 2.0, 1e-6).logit_opacity - 2.0).abs() < 1e-6);
    }
}
