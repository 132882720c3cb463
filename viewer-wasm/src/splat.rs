//! One splat as it is drawn: activated, with the 3D filter folded in.

use crate::math::{Vec3, unit_quat};

pub(crate) use kiln_formats::{REST_MAX, rest_count};

/// Value of the constant SH function, 1 / (2 sqrt(pi)).
pub(crate) const SH_C0: f32 = kiln_formats::SH_C0 as f32;

/// A splat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Splat {
    /// Centre, world units.
    pub(crate) mean: Vec3,
    /// Unit quaternion (w, x, y, z).
    pub(crate) quat: [f32; 4],
    /// Natural logarithms of the standard deviations.
    pub(crate) log_scale: Vec3,
    /// Opacity at the centre, 0 to 1.
    pub(crate) opacity: f32,
    /// Constant SH coefficient of each channel.
    pub(crate) dc: Vec3,
    /// Further SH coefficients, RGB each; 0 above the degree.
    pub(crate) rest: [Vec3; REST_MAX],
}

/// A splat that draws nothing.
pub(crate) const UNSEEN: Splat = Splat {
    mean: [0.0; 3],
    quat: [1.0, 0.0, 0.0, 0.0],
    log_scale: [-24.0; 3],
    opacity: 0.0,
    dc: [0.0; 3],
    rest: [[0.0; 3]; REST_MAX],
};

impl Splat {
    /// The splat of a file; `None` when a value is not a number or the rotation has no direction.
    pub(crate) fn of(found: &kiln_formats::Splat) -> Option<Self> {
        let splat = Self {
            mean: found.mean,
            quat: unit_quat(found.quat)?,
            log_scale: found.log_scale,
            opacity: found.opacity.share(),
            dc: found.sh0,
            rest: found.rest,
        };
        splat.is_sane().then_some(splat)
    }

    /// False when a value is not a number. A scale of 0 has an infinite logarithm and is fine.
    pub(crate) fn is_sane(&self) -> bool {
        let values = self.mean.iter().chain(&self.quat).chain(&self.dc);
        values.chain(self.rest.as_flattened()).all(|v| v.is_finite())
            && self.log_scale.iter().all(|v| !v.is_nan() && *v < f32::INFINITY)
            && !self.opacity.is_nan()
    }

    /// With a 3D filter of this standard deviation folded in; 0 where there is none. `None` when that is not a number.
    pub(crate) fn filtered(mut self, filter_3d: f32) -> Option<Self> {
        if filter_3d != 0.0 {
            let square = filter_3d * filter_3d;
            for log in &mut self.log_scale {
                // s' = sqrt(s^2 + f^2), and opacity shrinks by the product of s / s' (Yu et al. 2024, eq. 9).
                let s = log.exp();
                let filtered = (s * s + square).sqrt();
                self.opacity *= s / filtered;
                *log = filtered.ln();
            }
        }
        filter_3d.is_finite().then_some(self)
    }
}

/// The constant SH coefficient of a colour that is the same from everywhere, 0 to 1.
pub(crate) fn constant_of(color: f32) -> f32 {
    (color - 0.5) / SH_C0
}

#[cfg(test)]
pub(crate) fn plain() -> kiln_formats::Splat {
    kiln_formats::Splat {
        mean: [1.0, 2.0, 3.0],
        quat: [2.0, 0.0, 0.0, 0.0],
        log_scale: [-3.0, -4.0, -5.0],
        opacity: kiln_formats::Opacity::Logit(0.0),
        sh0: [0.1, 0.2, 0.3],
        rest: [[0.0; 3]; REST_MAX],
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use kiln_formats::Opacity::Logit;

    use super::*;

    #[test]
    fn the_filter_widens_and_dims_as_published() {
        let raw = kiln_formats::Splat {
            log_scale: [0.001_f32.ln(); 3],
            opacity: Logit(-1.758_571_4),
            ..plain()
        };
        let splat = Splat::of(&raw).unwrap().filtered(0.002_236_068).unwrap();
        assert!((splat.log_scale[0].exp() - 0.002_449_49).abs() < 1e-8);
        assert!((splat.opacity - 0.01).abs() < 1e-6, "{}", splat.opacity);
        assert!(Splat::of(&raw).unwrap().filtered(f32::NAN).is_none());
    }

    #[test]
    fn unusable_values_are_refused_and_extreme_ones_are_not() {
        let good = plain();
        assert_eq!(Splat::of(&good).unwrap().quat, [1.0, 0.0, 0.0, 0.0]);
        assert_eq!(Splat::of(&good).unwrap().opacity, 0.5);
        let bad = [
            kiln_formats::Splat {
                mean: [f32::NAN, 0.0, 0.0],
                ..good
            },
            kiln_formats::Splat { quat: [0.0; 4], ..good },
            kiln_formats::Splat {
                log_scale: [f32::INFINITY, 0.0, 0.0],
                ..good
            },
            kiln_formats::Splat {
                opacity: Logit(f32::NAN),
                ..good
            },
            kiln_formats::Splat {
                sh0: [0.0, f32::NEG_INFINITY, 0.0],
                ..good
            },
            kiln_formats::Splat {
                rest: [[f32::NAN; 3]; REST_MAX],
                ..good
            },
        ];
        assert!(bad.iter().all(|splat| Splat::of(splat).is_none()));
        let opaque = kiln_formats::Splat {
            opacity: Logit(f32::INFINITY),
            log_scale: [f32::NEG_INFINITY; 3],
            ..good
        };
        assert_eq!(Splat::of(&opaque).unwrap().opacity, 1.0);
    }
}
