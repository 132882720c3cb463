//! Lowers every opacity so that Gaussians must earn theirs again (Kerbl et al. 2023, section 5.2).

use super::adam::Moments;
use super::filter_3d;
use super::gaussian::Gaussian;
use kiln_scene::math::{Real, logit, sigmoid};

/// Opacity after the 3D filter that a reset leaves at most.
pub const CEILING: f64 = 0.01;

/// Bounds of a new opacity.
const LEAST: f64 = 1e-7;
const MOST: f64 = 1.0 - 1e-6;

/// New logit of one Gaussian: opacity after the 3D filter becomes `min(sigmoid(logit) c3, 0.01)`.
///
/// A Gaussian already below keeps its bits; only for the others is the filter divided out again,
/// `logit(0.01 / c3)`. The quotient is below the old opacity; it is kept a hair away from 1, which it may round to, so
/// that the logit is finite for every `c3`.
#[must_use]
pub fn reset_logit<R: Real>(logit_opacity: R, c3: R) -> R {
    let ceiling = R::of(CEILING);
    if sigmoid(logit_opacity) * c3 <= ceiling {
        logit_opacity
    } else {
        logit((ceiling / c3).max(R::of(LEAST)).min(R::of(MOST)))
    }
}

/// Resets every opacity in place and clears its moments; the step count of the group runs on.
pub fn opacity_reset<R: Real>(gaussians: &mut [Gaussian<R>], filter_3d: &[R], moments: &mut [Moments<R>]) {
    for ((gaussian, &filter), moments) in gaussians.iter_mut().zip(filter_3d).zip(moments) {
        let (_, c3) = filter_3d::apply(gaussian.log_scale.map(R::exp), filter);
        gaussian.logit_opacity = reset_logit(gaussian.logit_opacity, c3);
        moments.first.logit_opacity = R::ZERO;
        moments.second.logit_opacity = R::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_logits() {
        let c3 = 0.068_041_381_7_f64;
        assert!((reset_logit(logit(0.9), c3) + 1.758_571_4).abs() < 1e-6);
        assert!((reset_logit(logit(0.9), 1.0) + 4.595_119_850_1).abs() < 1e-9);
        assert_eq!(reset_logit(-7.0, 1.0), -7.0);
        // Saturated or vanishing factors stay finite.
        let just_above = f32::from_bits(0.01_f32.to_bits() + 1);
        for c3 in [0.0, 1e-38, 1e-12, 0.0099, 0.01, just_above, 0.0101, 1.0] {
            for logit_opacity in [-90.0, -4.0, 0.0, 17.0, 60.0, 90.0_f32] {
                let after = reset_logit(logit_opacity, c3);
                assert!(
                    after.is_finite() && after <= logit_opacity.max(14.0),
                    "{c3} {logit_opacity}: {after}"
                );
                assert!(sigmoid(after) * c3 <= 0.010_000_1);
            }
        }
    }

    #[test]
    fn only_opacity_and_its_moments_change() {
        let ones = Gaussian::from_values(&[1.0_f64; super::super::gaussian::VALUES]);
        let mut gaussians = [ones];
        let mut moments = [Moments {
            first: ones,
            second: ones,
        }];
        opacity_reset(&mut gaussians, &[0.5], &mut moments);
        let cleared = Gaussian {
            logit_opacity: 0.0,
            ..ones
        };
        assert_eq!(
            moments[0],
            Moments {
                first: cleared,
                second: cleared
            }
        );
        assert_eq!(
            Gaussian {
                logit_opacity: 1.0,
                ..gaussians[0]
            },
            ones
        );
        let (_, c3) = filter_3d::apply([1.0_f64.exp(); 3], 0.5);
        assert!((sigmoid(gaussians[0].logit_opacity) * c3 - 0.01).abs() < 1e-12);
    }
}
