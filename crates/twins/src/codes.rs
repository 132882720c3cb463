//! Codes for values below f32, the same bits as `shaders/common/codes.glsl`.
//!
//! | code | of | bits |
//! |---|---|---|
//! | half | colours | IEEE half without subnormal numbers |
//! | second moment | SH | float with 5 bits of exponent below that of a scale, 11 or 3 of mantissa |
//! | wide second moment | geometry | float with 8 bits of exponent and 8 of mantissa |
//! | ratio | first moments | quotient with the root of the second moment as stored: 16 bits in even steps, 8 bits in steps that grow with it |
//!
//! Each is rounded up or down at random with the chances that make its mean the value. The draw is a function of seed,
//! step, Gaussian and channel, see [`Rounding`]. Storing what a code stands for once more changes nothing, but for a
//! quotient, which may lose a rounding error of f32.

use super::rng::hash;
use kiln_gaussians::layout::MOMENT_RATIO;

pub use kiln_kernels::generated::common::{CHANNEL_GEOMETRY, CHANNEL_SH, CHANNEL_SH_MOMENTS};

/// Draws of one Gaussian in one step.
#[derive(Clone, Copy, Debug)]
pub struct Rounding(u32);

impl Rounding {
    /// Of slot `id` of the model in step `step`.
    #[must_use]
    pub const fn new(seed: u32, step: u32, id: u32) -> Self {
        Self(hash(hash(hash(seed).wrapping_add(step)).wrapping_add(id)))
    }

    /// Two draws below 2^16: the low and the high half of [`bits`](super::rng::bits).
    #[must_use]
    pub const fn draw(self, channel: u32) -> [u32; 2] {
        let bits = hash(self.0.wrapping_add(channel));
        [bits & 0xffff, bits >> 16]
    }
}

/// A draw in (0, 1).
fn unit(random16: u32) -> f32 {
    (random16 as f32 + 0.5) / 65536.0
}

/// Code of a colour. Below 2^-14 only 0 is left, because drivers may read subnormal numbers as 0; above the largest half
/// is the largest half.
#[must_use]
pub fn half_code(x: f32, random16: u32) -> u32 {
    let (bits, magnitude) = (x.to_bits(), x.abs().to_bits());
    let code = if magnitude < 0x3880_0000 {
        if random16 as f32 + 0.5 < x.abs() * 1_073_741_824.0 {
            0x400
        } else {
            0
        }
    } else {
        (((magnitude + (random16 >> 3)) >> 13) - 0x1_c000).min(0x7bff)
    };
    bits >> 16 & 0x8000 | code
}

/// What a code of [`half_code`] stands for.
#[must_use]
pub fn half_value(code: u32) -> f32 {
    let magnitude = match code & 0x7fff {
        0 => 0,
        other => (other << 13) + (112 << 23),
    };
    f32::from_bits((code & 0x8000) << 16 | magnitude)
}

/// Codes of second moments relative to a scale that is at least as large as all of them.
///
/// The largest exponent is one above the scale's, 2^31 times the smallest. Code 0 is 0; values above 0 never get it,
/// because a second moment that is too small makes steps too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seconds {
    mantissa: u32,
    base: i32,
}

impl Seconds {
    /// 16-bit codes.
    #[must_use]
    pub const fn of_16(scale: f32) -> Self {
        Self::new(scale, 11)
    }

    /// 8-bit codes.
    #[must_use]
    pub const fn of_8(scale: f32) -> Self {
        Self::new(scale, 3)
    }

    const fn new(scale: f32, mantissa: u32) -> Self {
        Self {
            mantissa,
            base: ((scale.to_bits() >> 23) as i32 - 30) * (1 << mantissa),
        }
    }

    /// Code of a second moment.
    #[must_use]
    pub fn code(self, v: f32, random16: u32) -> u32 {
        let shift = 23 - self.mantissa;
        // As many random bits as are cut off; of more than 16 the lowest are a half.
        let random = match shift {
            20 => random16 << 4 | 8,
            _ => random16 >> (16 - shift),
        };
        if v > 0.0 {
            let code = ((v.to_bits() + random) >> shift) as i32 - self.base;
            code.clamp(1, (1 << (self.mantissa + 5)) - 1) as u32
        } else {
            0
        }
    }

    /// What a code stands for.
    #[must_use]
    pub fn value(self, code: u32) -> f32 {
        match code {
            0 => 0.0,
            _ => f32::from_bits(((code as i32 + self.base).max(0) as u32) << (23 - self.mantissa)),
        }
    }
}

/// 16-bit code of a second moment without a scale.
#[must_use]
pub fn wide_second_code(v: f32, random16: u32) -> u32 {
    ((v.to_bits() + (random16 >> 1)) >> 15).min(0xfeff)
}

/// What a code of [`wide_second_code`] stands for.
#[must_use]
pub const fn wide_second_value(code: u32) -> f32 {
    f32::from_bits(code << 15)
}

/// Code of a quotient, -32767 to 32767.
#[must_use]
pub fn ratio16_code(ratio: f32, random16: u32) -> i32 {
    let steps = ratio * (32767.0 / MOMENT_RATIO);
    (steps + unit(random16)).floor().clamp(-32767.0, 32767.0) as i32
}

/// What a code of [`ratio16_code`] stands for.
#[must_use]
pub fn ratio16_value(code: i32) -> f32 {
    code as f32 * (MOMENT_RATIO / 32767.0)
}

/// Code of a quotient, -127 to 127, whose square it is a multiple of: small quotients, which are the usual ones, are the
/// finest.
#[must_use]
pub fn ratio8_code(ratio: f32, random16: u32) -> i32 {
    let square = ratio.abs().min(MOMENT_RATIO) * (16129.0 / MOMENT_RATIO);
    let below = square.sqrt().floor();
    let up = unit(random16) * (2.0 * below + 1.0) < square - below * below;
    let code = (below + if up { 1.0 } else { 0.0 }).min(127.0) as i32;
    if ratio < 0.0 { -code } else { code }
}

/// What a code of [`ratio8_code`] stands for.
#[must_use]
pub fn ratio8_value(code: i32) -> f32 {
    (code * code.abs()) as f32 * (MOMENT_RATIO / 16129.0)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::float_cmp, reason = "codes are exact or they are wrong")]
    use super::*;
    use crate::rng;

    /// Mean of what `store` gives over all draws.
    fn mean(store: impl Fn(u32) -> f32) -> f64 {
        (0..65_536).map(|r| f64::from(store(r))).sum::<f64>() / 65_536.0
    }

    fn sample(channel: u32, low: f64, high: f64) -> impl Iterator<Item = f32> {
        (0..60).map(move |id| (low * (high / low).powf(rng::uniform::<f64>(3, 1, id, channel))) as f32)
    }

    #[test]
    fn the_mean_of_a_stored_value_is_the_value() {
        for x in sample(0, 1e-6, 60_000.0) {
            for x in [x, -x] {
                let stored = mean(|r| half_value(half_code(x, r)));
                let step = if x.abs() < 6.2e-5 {
                    6.2e-5
                } else {
                    f64::from(x.abs()) / 1024.0
                };
                assert!((stored - f64::from(x)).abs() < 2e-4 * step, "{x}: {stored}");
            }
        }
        for scale in [1e-20_f32, 3e-9, 0.7] {
            for share in sample(1, 1e-8, 1.0) {
                let v = scale * share;
                for codes in [Seconds::of_8(scale), Seconds::of_16(scale)] {
                    let stored = mean(|r| codes.value(codes.code(v, r)));
                    assert!((stored / f64::from(v) - 1.0).abs() < 1e-5, "{v} of {scale}: {stored}");
                }
                let stored = mean(|r| wide_second_value(wide_second_code(v, r)));
                assert!((stored / f64::from(v) - 1.0).abs() < 1e-6, "{v}: {stored}");
            }
        }
        for ratio in sample(2, 1e-4, 7.9) {
            for ratio in [ratio, -ratio] {
                let stored = mean(|r| ratio16_value(ratio16_code(ratio, r)));
                assert!((stored - f64::from(ratio)).abs() < 1e-6, "{ratio}: {stored}");
                let stored = mean(|r| ratio8_value(ratio8_code(ratio, r)));
                assert!(
                    (stored - f64::from(ratio)).abs() < 2e-6 * (1.0 + f64::from(ratio.abs())),
                    "{ratio}: {stored}"
                );
            }
        }
    }

    #[test]
    fn what_a_code_stands_for_keeps_the_code() {
        for random in [0, 1, 0x7fff, 0xffff] {
            for code in (0..0x7c00).filter(|code| *code == 0 || *code >= 0x400) {
                for code in [code, code | 0x8000] {
                    assert_eq!(half_code(half_value(code), random), code);
                }
            }
            for scale in [1e-18, 1.5e-9, 4.0] {
                let (fine, coarse) = (Seconds::of_16(scale), Seconds::of_8(scale));
                for code in 0..256 {
                    assert_eq!(coarse.code(coarse.value(code), random), code);
                }
                for code in 0..65_536 {
                    assert_eq!(fine.code(fine.value(code), random), code);
                }
            }
            for code in 0..0xff00 {
                assert_eq!(wide_second_code(wide_second_value(code), random), code);
            }
        }
        // In the middle of a draw; at its ends the last bit of a product may show.
        for code in -32_767..=32_767 {
            assert_eq!(ratio16_code(ratio16_value(code), 0x8000), code);
        }
        for code in -127..=127 {
            assert_eq!(ratio8_code(ratio8_value(code), 0x8000), code);
        }
    }

    #[test]
    fn halves_are_those_of_the_standard() {
        for (value, code) in [
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (65504.0, 0x7bff),
            (0.333_251_95, 0x3555),
            (6.103_515_6e-5, 0x400),
        ] {
            assert_eq!((half_code(value, 0), half_value(code)), (code, value));
        }
        assert_eq!(half_value(half_code(1e9, 0)), 65504.0);
        assert_eq!((half_code(0.0, 0), half_code(-0.0, 65_535)), (0, 0x8000));
        assert_eq!(half_value(0x8000), 0.0);
    }

    #[test]
    fn second_moments_above_zero_stay_above_zero_and_below_the_scale() {
        for codes in [Seconds::of_8(1e-8), Seconds::of_16(1e-8)] {
            for random in [0, 0xffff] {
                assert_eq!(codes.code(0.0, random), 0);
                assert_eq!(codes.code(1e-30, random), 1);
                let least = codes.value(1);
                assert!(least > 0.0 && least < 1e-8 * 2.0_f32.powi(-29));
                let largest = codes.value(codes.code(1e-8, random));
                assert!((0.85e-8..1.15e-8).contains(&largest), "{largest}");
            }
        }
    }

    #[test]
    fn quotients_out_of_range_end_at_the_range() {
        for random in [0, 0xffff] {
            for (ratio, end) in [(9.0, 1), (f32::MAX, 1), (-9.0, -1)] {
                assert_eq!(ratio16_code(ratio, random), 32_767 * end);
                assert_eq!(ratio8_code(ratio, random), 127 * end);
            }
        }
        assert_eq!(
            (ratio16_value(32_767), ratio8_value(-127)),
            (MOMENT_RATIO, -MOMENT_RATIO)
        );
    }
}
