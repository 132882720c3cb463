//! Adam on values that are stored in fewer than 32 bits: what `update.half` and `update.compact` do to one Gaussian.
//!
//! Moments are read from their codes, updated as [`adam`](super::adam) does, and stored again; the step itself is taken
//! with the moments before they are rounded. The geometry's values are f32 and not in here, nor are its moments where they
//! are f32.

use super::adam::{Factors, update};
use super::codes::{
    CHANNEL_GEOMETRY, CHANNEL_SH, CHANNEL_SH_MOMENTS, Rounding, Seconds, half_code, half_value, ratio8_code,
    ratio8_value, ratio16_code, ratio16_value, wide_second_code, wide_second_value,
};
use kiln_gaussians::layout::GEOMETRY_PLANES;

/// `count` colours as words of two.
#[must_use]
pub fn color_words(values: &[f32], rounding: Rounding) -> Vec<u32> {
    let words = (0_u32..).zip(values.chunks(2));
    let word = |(index, pair): (u32, &[f32])| {
        let draws = rounding.draw(CHANNEL_SH + index);
        let codes = pair.iter().zip(draws).map(|(value, draw)| half_code(*value, draw));
        codes.rev().fold(0, |word, code| word << 16 | code)
    };
    words.map(word).collect()
}

/// Colour `index` of words of two.
#[must_use]
pub fn color_value(words: &[u32], index: usize) -> f32 {
    half_value(field(words, index, 16))
}

/// The words of one Gaussian that hold codes, in the order of their planes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// Two colours a word.
    pub sh: Vec<u32>,
    /// First moments of colours.
    pub sh_m: Vec<u32>,
    /// The scale, f32; then second moments of colours.
    pub sh_v: Vec<u32>,
    /// First moments of the geometry, two a word; unused where they are f32.
    pub geometry_m: Vec<u32>,
    /// Second moments of the geometry, the same.
    pub geometry_v: Vec<u32>,
}

/// One group of parameters in one step; `None` leaves it alone.
pub type Run = Option<Factors<f32>>;

impl Words {
    /// First and second moment of every colour; moments have 16 or 8 `bits`.
    #[must_use]
    pub fn color_moments(&self, bits: usize) -> Vec<[f32; 2]> {
        let codes = seconds(bits, self.scale());
        (0..self.sh_m.len() * (32 / bits))
            .map(|i| {
                let v = codes.value(field(&self.sh_v[1..], i, bits));
                [
                    ratio_value(signed(field(&self.sh_m, i, bits), bits), bits) * v.sqrt(),
                    v,
                ]
            })
            .collect()
    }

    /// First and second moment of every value of the geometry, where they are codes.
    #[must_use]
    pub fn geometry_moments(&self) -> Vec<[f32; 2]> {
        (0..GEOMETRY_PLANES as usize)
            .map(|i| {
                let v = wide_second_value(field(&self.geometry_v, i, 16));
                [ratio16_value(signed(field(&self.geometry_m, i, 16), 16)) * v.sqrt(), v]
            })
            .collect()
    }

    /// Upper bound of all second moments of colours.
    #[must_use]
    pub fn scale(&self) -> f32 {
        f32::from_bits(self.sh_v[0])
    }

    /// Updates the colours of which there are gradients, degree 0 first; moments have 16 or 8 `bits`. The two runs are of
    /// degree 0 and of all others.
    pub fn update_colors(&mut self, bits: usize, [sh0, rest]: [Run; 2], gradients: &[f32], rounding: Rounding) {
        let Some(any) = sh0.or(rest) else { return };
        let largest = gradients.iter().fold(0.0_f32, |most, g| most.max(g.abs()));
        // The scale decays only where all moments do.
        let decay = if sh0.is_some() && rest.is_some() {
            any.beta2
        } else {
            1.0
        };
        let scale = decay * self.scale() + (1.0 - any.beta2) * largest * largest;
        if scale <= 0.0 {
            return;
        }
        let (old, new) = (seconds(bits, self.scale()), seconds(bits, scale));
        self.sh_v[0] = scale.to_bits();
        for (i, &gradient) in gradients.iter().enumerate() {
            let mut v = old.value(field(&self.sh_v[1..], i, bits));
            let mut m = ratio_value(signed(field(&self.sh_m, i, bits), bits), bits) * v.sqrt();
            if let Some(factors) = if i < 3 { sh0 } else { rest } {
                let mut value = color_value(&self.sh, i);
                update(&factors, &mut value, &mut m, &mut v, gradient);
                let draws = rounding.draw(CHANNEL_SH + i as u32 / 2);
                set_field(&mut self.sh, i, 16, half_code(value, draws[i % 2]));
            }
            let [first, second] = rounding.draw(CHANNEL_SH_MOMENTS + i as u32);
            let v_code = new.code(v, second);
            let m_code = ratio_code(m * over_root(new.value(v_code)), first, bits);
            set_field(&mut self.sh_v[1..], i, bits, v_code);
            set_field(&mut self.sh_m, i, bits, m_code as u32);
        }
    }

    /// Updates the geometry `values` where its moments are codes; `runs` has an entry for each value.
    pub fn update_geometry(&mut self, runs: &[Run], values: &mut [f32], gradients: &[f32], rounding: Rounding) {
        for (i, ((run, value), &gradient)) in runs.iter().zip(values).zip(gradients).enumerate() {
            let Some(factors) = run else { continue };
            let mut v = wide_second_value(field(&self.geometry_v, i, 16));
            let mut m = ratio16_value(signed(field(&self.geometry_m, i, 16), 16)) * v.sqrt();
            update(factors, value, &mut m, &mut v, gradient);
            let [first, second] = rounding.draw(CHANNEL_GEOMETRY + i as u32);
            let v_code = wide_second_code(v, second);
            let m_code = ratio16_code(m * over_root(wide_second_value(v_code)), first);
            set_field(&mut self.geometry_v, i, 16, v_code);
            set_field(&mut self.geometry_m, i, 16, m_code as u32);
        }
    }
}

pub(super) const fn seconds(bits: usize, scale: f32) -> Seconds {
    match bits {
        8 => Seconds::of_8(scale),
        _ => Seconds::of_16(scale),
    }
}

pub(super) fn ratio_code(ratio: f32, random16: u32, bits: usize) -> i32 {
    match bits {
        8 => ratio8_code(ratio, random16),
        _ => ratio16_code(ratio, random16),
    }
}

pub(super) fn ratio_value(code: i32, bits: usize) -> f32 {
    match bits {
        8 => ratio8_value(code),
        _ => ratio16_value(code),
    }
}

pub(super) fn over_root(v: f32) -> f32 {
    if v > 0.0 { 1.0 / v.sqrt() } else { 0.0 }
}

/// Field `index` of `bits` bits each, lowest first.
pub(super) fn field(words: &[u32], index: usize, bits: usize) -> u32 {
    let per_word = 32 / bits;
    words[index / per_word] >> (index % per_word * bits) & ((1 << bits) - 1)
}

/// The same as a number in two's complement.
pub(super) const fn signed(code: u32, bits: usize) -> i32 {
    ((code << (32 - bits)) as i32) >> (32 - bits)
}

pub(super) fn set_field(words: &mut [u32], index: usize, bits: usize, code: u32) {
    let per_word = 32 / bits;
    let (shift, mask) = (index % per_word * bits, (1_u32 << bits) - 1);
    let word = &mut words[index / per_word];
    *word = *word & !(mask << shift) | (code & mask) << shift;
}

#[cfg(test)]
mod tests;
