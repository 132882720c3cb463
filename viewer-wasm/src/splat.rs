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
}

/// Values as a file of trained parameters holds them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameters {
    pub(crate) mean: Vec3,
    pub(crate) quat: [f32; 4],
    pub(crate) log_scale: Vec3,
    pub(crate) logit_opacity: f32,
    /// Standard deviation of the 3D filter; 0 where it is already folded in.
    pub(crate) filter_3d: f32,
    pub(crate) dc: Vec3,
    pub(crate) rest: [Vec3; REST_MAX],
}

impl Parameters {
    /// Activates the values; `None` when one is not a number or the rotation has no direction.
    pub(crate) fn splat(&self) -> Option<Splat> {
        let colours = self.rest.as_flattened().iter().chain(&self.dc);
        let finite = self.mean.iter().chain(&self.quat).chain(colours).all(|v| v.is_finite());
        // A scale of 0 and an opacity of exactly 0 or 1 have infinite logarithms and are fine.
        let sane = self.log_scale.iter().all(|v| !v.is_nan() && *v < f32::INFINITY)
            && !self.logit_opacity.is_nan()
            && self.filter_3d.is_finite();
        if !finite || !sane {
            return None;
        }
        let mut log_scale = self.log_scale;
        let mut opacity = 1.0 / (1.0 + (-self.logit_opacity).exp());
        if self.filter_3d != 0.0 {
            let square = self.filter_3d * self.filter_3d;
            for log in &mut log_scale {
                // s' = sqrt(s^2 + f^2), and opacity shrinks by the product of s / s' (Yu et al. 2024, eq. 9).
                let s = log.exp();
                let filtered = (s * s + square).sqrt();
                opacity *= s / filtered;
                *log = filtered.ln();
            }
        }
        Some(Splat {
            mean: self.mean,
            quat: unit_quat(self.quat)?,
            log_scale,
            opacity,
            dc: self.dc,
            rest: self.rest,
        })
    }
}

/// The constant SH coefficient of a colour that is the same from everywhere, 0 to 1.
pub(crate) fn constant_of(color: f32) -> f32 {
    (color - 0.5) / SH_C0
}

#[cfg(test)]
pub(crate) fn plain_parameters() -> Parameters {
    Parameters {
        mean: [1.0, 2.0, 3.0],
        quat: [2.0, 0.0, 0.0, 0.0],
        log_scale: [-3.0, -4.0, -5.0],
        logit_opacity: 0.0,
        filter_3d: 0.0,
        dc: [0.1, 0.2, 0.3],
        rest: [[0.0; 3]; REST_MAX],
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn the_filter_widens_and_dims_as_published() {
        let raw = Parameters {
            log_scale: [0.001_f32.ln(); 3],
            logit_opacity: -1.758_571_4,
            filter_3d: 0.002_236_068,
            ..plain_parameters()
        };
        let splat = raw.splat().unwrap();
        assert!((splat.log_scale[0].exp() - 0.002_449_49).abs() < 1e-8);
        assert!((splat.opacity - 0.01).abs() < 1e-6, "{}", splat.opacity);
    }

    #[test]
    fn unusable_values_are_refused_and_extreme_ones_are_not() {
        let good = plain_parameters();
        assert_eq!(good.splat().unwrap().quat, [1.0, 0.0, 0.0, 0.0]);
        assert_eq!(good.splat().unwrap().opacity, 0.5);
        let bad = [
            Parameters {
                mean: [f32::NAN, 0.0, 0.0],
                ..good
            },
            Parameters { quat: [0.0; 4], ..good },
            Parameters {
                log_scale: [f32::INFINITY, 0.0, 0.0],
                ..good
            },
            Parameters {
                logit_opacity: f32::NAN,
                ..good
            },
            Parameters {
                dc: [0.0, f32::NEG_INFINITY, 0.0],
                ..good
            },
            Parameters {
                rest: [[f32::NAN; 3]; REST_MAX],
                ..good
            },
        ];
        assert!(bad.iter().all(|p| p.splat().is_none()));
        let opaque = Parameters {
            logit_opacity: f32::INFINITY,
            log_scale: [f32::NEG_INFINITY; 3],
            ..good
        };
        assert_eq!(opaque.splat().unwrap().opacity, 1.0);
    }
}
