//! One splat as files have it.

/// Harmonics beyond the constant one, at degree 3.
pub const REST_MAX: usize = 15;
/// Value of the constant SH function, 1 / (2 sqrt(pi)).
pub const SH_C0: f64 = 0.282_094_791_773_878_14;

/// Coefficients beyond the constant one at an SH degree.
#[must_use]
pub const fn rest_count(degree: u32) -> usize {
    ((degree + 1) * (degree + 1) - 1) as usize
}

/// A splat in the axes of PLY files (y down, z forward). Values may be infinite or no numbers where the file has such.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Splat {
    /// Centre, world units.
    pub mean: [f32; 3],
    /// Quaternion (w, x, y, z) of any length.
    pub quat: [f32; 4],
    /// Natural logarithms of the standard deviations.
    pub log_scale: [f32; 3],
    /// Opacity at the centre.
    pub opacity: Opacity,
    /// Constant SH coefficient of each channel.
    pub sh0: [f32; 3],
    /// Further SH coefficients, RGB each; 0 above the degree.
    pub rest: [[f32; 3]; REST_MAX],
}

/// An opacity as a format keeps it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Opacity {
    /// Steps of 1/255.
    Steps(u8),
    /// From 0 to 1.
    Share(f32),
    /// Before the sigmoid.
    Logit(f32),
}

/// Opacities of 1 come back half a step of 32-bit floats inside, those of 0 as the smallest.
const SHARES: [f64; 2] = [1.2e-38, 1.0 - 3.0e-8];

impl Opacity {
    /// From 0 to 1.
    #[must_use]
    pub fn share(self) -> f32 {
        match self {
            Self::Steps(steps) => f32::from(steps) / 255.0,
            Self::Share(share) => share,
            Self::Logit(logit) => 1.0 / (1.0 + (-f64::from(logit)).exp() as f32),
        }
    }

    /// Before the sigmoid. Opacities of 0 and 1, which have no logit, are taken for half a step inside, and logits as they are.
    #[must_use]
    pub fn logit(self) -> f32 {
        let odds = match self {
            Self::Steps(steps) => {
                let steps = f64::from(steps).clamp(0.5, 254.5);
                steps / (255.0 - steps)
            }
            Self::Share(share) => {
                // NaN stays what it is.
                let share = f64::from(share).clamp(SHARES[0], SHARES[1]);
                share / (1.0 - share)
            }
            Self::Logit(logit) => return logit,
        };
        odds.ln() as f32
    }
}

/// The unit quaternion of three components and the place of the largest, which is positive.
pub(crate) fn with_largest(place: usize, others: [f64; 3]) -> [f64; 4] {
    let mut quat = [0.0; 4];
    for (at, other) in (0..4).filter(|&at| at != place).zip(others) {
        quat[at] = other;
    }
    quat[place & 3] = (1.0 - others.iter().map(|value| value * value).sum::<f64>())
        .max(0.0)
        .sqrt();
    quat
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opacities_have_logits() {
        let logit = |steps| Opacity::Steps(steps).logit();
        assert_eq!(logit(0), -logit(255));
        assert!(logit(0).is_finite() && logit(0) < logit(1));
        assert!((logit(51) - 0.25_f32.ln()).abs() < 1e-6);
    }

    #[test]
    fn the_largest_component_is_what_is_left() {
        assert_eq!(with_largest(2, [0.0, -0.6, 0.0]), [0.0, -0.6, 0.8, 0.0]);
        assert_eq!(with_largest(0, [0.9, 0.9, 0.9]), [0.0, 0.9, 0.9, 0.9]);
    }
}
