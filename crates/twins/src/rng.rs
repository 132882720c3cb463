//! Counter-based random numbers: a value is a function of (seed, step, id, channel), never of earlier calls.
//!
//! The mixing function is PCG-RXS-M-XS-32 (O'Neill 2014) used as a hash, as evaluated by Jarzynski and Olano 2020.
//! Only u32 arithmetic that wraps, so a shader produces the same bits.

use kiln_scene::math::Real;

/// One round of the hash.
#[must_use]
pub const fn hash(value: u32) -> u32 {
    let state = value.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    let word = ((state >> ((state >> 28) + 4)) ^ state).wrapping_mul(277_803_737);
    (word >> 22) ^ word
}

/// 32 random bits of a counter; each part is folded in by one round.
#[must_use]
pub const fn bits(seed: u32, step: u32, id: u32, channel: u32) -> u32 {
    let h = hash(seed);
    let h = hash(h.wrapping_add(step));
    let h = hash(h.wrapping_add(id));
    hash(h.wrapping_add(channel))
}

/// Uniform in (0, 1), never an end point; exact in f32 (23 bits and a half).
#[must_use]
pub fn uniform<R: Real>(seed: u32, step: u32, id: u32, channel: u32) -> R {
    R::of((f64::from(bits(seed, step, id, channel) >> 9) + 0.5) / f64::from(1_u32 << 23))
}

/// Standard normal by Box and Muller 1958, cosine branch; uses the uniforms of channels `2 channel` and
/// `2 channel + 1`.
#[must_use]
pub fn normal<R: Real>(seed: u32, step: u32, id: u32, channel: u32) -> R {
    let radius: R = (R::of(-2.0) * uniform::<R>(seed, step, id, 2 * channel).ln()).sqrt();
    radius * (R::of(std::f64::consts::TAU) * uniform::<R>(seed, step, id, 2 * channel + 1)).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniforms_stay_inside_and_are_exact_in_f32() {
        for id in 0..10_000 {
            let u: f64 = uniform(1, 2, id, 3);
            assert!(u > 0.0 && u < 1.0);
            assert!((f64::from(uniform::<f32>(1, 2, id, 3)) - u).abs() == 0.0);
        }
    }

    #[test]
    fn normals_have_the_right_moments_and_no_serial_correlation() {
        let n = 50_000;
        let values: Vec<f64> = (0..n).map(|id| normal(7, 600, id, 0)).collect();
        let mean = values.iter().sum::<f64>() / f64::from(n);
        let variance = values.iter().map(|v| v * v).sum::<f64>() / f64::from(n);
        let fourth = values.iter().map(|v| v.powi(4)).sum::<f64>() / f64::from(n);
        let serial = values.windows(2).map(|v| v[0] * v[1]).sum::<f64>() / f64::from(n);
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03 && (fourth - 3.0).abs() < 0.2);
        assert!(serial.abs() < 0.02);
    }

    #[test]
    fn every_part_of_the_counter_matters() {
        let base = bits(1, 2, 3, 4);
        for other in [
            bits(2, 2, 3, 4),
            bits(1, 3, 3, 4),
            bits(1, 2, 4, 4),
            bits(1, 2, 3, 5),
            bits(1, 2, 4, 3),
        ] {
            assert_ne!(base, other);
        }
    }
}
