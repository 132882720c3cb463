//! Splats as words of textures: 32 bytes of geometry and up to 64 of spherical harmonics.
//!
//! Owns the layout that the shaders in `web/shaders` read. Every value has the precision its use needs: positions in
//! 32-bit floats, opacity and base colour in half floats, logarithms of the scales in 16-bit steps of 0.0005,
//! rotations as the three smallest components in 15 bits, further SH coefficients in 10 bits of a half-float scale that
//! each splat has for degree 1 and for degrees 2 and 3. Numbers are rounded to even, which is one instruction in the
//! browser. With the draw order (4 bytes) a splat of degree 3 takes 100 bytes on the GPU; those that a picture shows take 24
//! more, once for all models.

use crate::math::Vec3;
use crate::splat::{Splat, rest_count};

/// Splats in a row of the textures.
pub(crate) const ROW: u32 = 512;
/// Most rows in a layer.
const LAYER_ROWS: u32 = 512;
/// Words of geometry a splat.
pub(crate) const GEOMETRY_WORDS: usize = 8;
/// Smallest logarithm of a scale, and the width of the range that 16 bits divide.
const LOG_SCALE_MIN: f32 = -24.0;
const LOG_SCALE_RANGE: f32 = 32.0;
/// Bytes of the draw order.
const ORDER_BYTES: u64 = 4;

/// How the textures of a model are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// SH degree, 0 to 3.
    pub(crate) degree: u32,
    /// Array layers.
    pub(crate) layers: u32,
    /// Rows of each layer.
    pub(crate) rows: u32,
}

impl Layout {
    /// A cut for `count` splats with as many rows in every layer, so that less than a row a layer is left over.
    pub(crate) fn new(count: u32, degree: u32) -> Self {
        let rows = count.div_ceil(ROW).max(1);
        let layers = rows.div_ceil(LAYER_ROWS);
        Self {
            degree,
            layers,
            rows: rows.div_ceil(layers),
        }
    }

    /// Four-word texels of spherical harmonics a splat.
    pub(crate) fn sh_texels(self) -> usize {
        sh_words(self.degree).div_ceil(4)
    }

    /// Splats that fit.
    pub(crate) fn capacity(self) -> u64 {
        u64::from(ROW) * u64::from(self.rows) * u64::from(self.layers)
    }

    /// Bytes of GPU memory for all that is kept a splat.
    pub(crate) fn gpu_bytes(self) -> u64 {
        let splat = (GEOMETRY_WORDS * 4 + self.sh_texels() * 16) as u64 + ORDER_BYTES;
        splat * self.capacity()
    }

    /// Layer and row of the texture row number `row`.
    pub(crate) fn place(self, row: u32) -> (u32, u32) {
        (row / self.rows, row % self.rows)
    }
}

/// Words that hold the coefficients beyond the constant one: one of scales, one a coefficient.
fn sh_words(degree: u32) -> usize {
    match rest_count(degree) {
        0 => 0,
        rest => rest + 1,
    }
}

/// Bits of the nearest half float; too large becomes the largest finite.
pub(crate) fn half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude >= 0x477f_f000 {
        return sign | 0x7bff;
    }
    if magnitude < 0x3880_0000 {
        // Below the smallest normal half: a multiple of 2^-24, ties to even.
        let steps = f32::from_bits(magnitude) * 16_777_216.0;
        return sign | steps.round_ties_even() as u16;
    }
    let rounded = magnitude + 0x0fff + (magnitude >> 13 & 1);
    sign | ((rounded - 0x3800_0000) >> 13) as u16
}

/// Value of a half float.
pub(crate) fn from_half(bits: u16) -> f32 {
    let magnitude = u32::from(bits & 0x7fff);
    let value = if magnitude < 0x400 {
        magnitude as f32 / 16_777_216.0
    } else {
        f32::from_bits((magnitude << 13) + 0x3800_0000)
    };
    if bits & 0x8000 == 0 { value } else { -value }
}

fn pair(low: u16, high: u16) -> u32 {
    u32::from(low) | u32::from(high) << 16
}

fn log_scale16(value: f32) -> u16 {
    let share = (value - LOG_SCALE_MIN) / LOG_SCALE_RANGE;
    (share.clamp(0.0, 1.0) * 65_535.0).round_ties_even() as u16
}

/// The three smaller components in 15 bits each, in order, and the index of the largest, which is made positive.
fn quat48(quat: [f32; 4]) -> (u16, u32) {
    let largest = (1..4).fold(0, |best, i| if quat[i].abs() > quat[best].abs() { i } else { best });
    let sign = if quat[largest] < 0.0 { -1.0 } else { 1.0 };
    let mut small = (0..4).filter(|&i| i != largest).map(|i| {
        let unit = (quat[i] * sign * std::f32::consts::SQRT_2).clamp(-1.0, 1.0);
        ((unit * 0.5 + 0.5) * 32_767.0).round_ties_even() as u32
    });
    let mut next = || small.next().unwrap_or(0);
    let (a, b, c) = (next(), next(), next());
    (c as u16, a | b << 15 | (largest as u32) << 30)
}

/// Appends the geometry of a splat.
pub(crate) fn push_geometry(splat: &Splat, out: &mut Vec<u32>) {
    let [x, y, z] = splat.log_scale.map(log_scale16);
    let [r, g, b] = splat.dc.map(half);
    let (quat_low, quat_high) = quat48(splat.quat);
    out.extend(splat.mean.map(f32::to_bits));
    out.extend([
        pair(half(splat.opacity), x),
        pair(y, z),
        pair(r, g),
        pair(b, quat_low),
        quat_high,
    ]);
}

/// Centre and largest standard deviation of the splats that words of geometry hold.
pub(crate) fn balls(geometry: &[u32]) -> impl Iterator<Item = (Vec3, f32)> {
    geometry.as_chunks::<GEOMETRY_WORDS>().0.iter().map(|words| {
        let largest = (words[3] >> 16).max(words[4] & 0xffff).max(words[4] >> 16);
        let log = largest as f32 * (LOG_SCALE_RANGE / 65_535.0) + LOG_SCALE_MIN;
        ([words[0], words[1], words[2]].map(f32::from_bits), log.exp())
    })
}

/// Appends the coefficients beyond the constant one, padded to whole texels; nothing at degree 0.
pub(crate) fn push_sh(splat: &Splat, degree: u32, out: &mut Vec<u32>) {
    let rest = &splat.rest[..rest_count(degree)];
    if rest.is_empty() {
        return;
    }
    let (first, others) = rest.split_at(3);
    let scale_of = |coefficients: &[[f32; 3]]| {
        let largest = coefficients.as_flattened().iter().fold(0.0_f32, |m, v| m.max(v.abs()));
        half(largest)
    };
    let scales = [scale_of(first), scale_of(others)];
    let steps = scales.map(|scale| match from_half(scale) {
        0.0 => 0.0,
        scale => 511.0 / scale,
    });
    let end = out.len() + sh_words(degree).next_multiple_of(4);
    out.push(pair(scales[0], scales[1]));
    for (k, coefficient) in rest.iter().enumerate() {
        let steps = steps[usize::from(k >= 3)];
        let step = |value: f32| (value * steps).clamp(-511.0, 511.0).round_ties_even() as i32 + 511;
        let [r, g, b] = coefficient.map(|value| step(value) as u32);
        out.push(r | g << 10 | b << 20);
    }
    out.resize(end, 0);
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::math::close;
    use crate::splat::plain;

    #[test]
    fn halves_round_to_nearest_and_come_back() {
        for (value, bits) in [
            (0.0, 0),
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (65_504.0, 0x7bff),
            (1e9, 0x7bff),
            (5.960_464_5e-8, 1),
            (6.103_515_6e-5, 0x400),
            (0.333_251_95, 0x3555),
        ] {
            assert_eq!(half(value), bits, "{value}");
        }
        assert_eq!(half(1.0 + 1.0 / 2048.0), 0x3c00, "ties go to even");
        for bits in (0..0x7c00).chain(0x8000..0xfc00) {
            assert_eq!(half(from_half(bits)), bits);
        }
    }

    #[test]
    fn a_packed_splat_unpacks_to_itself_within_its_precision() {
        let mut found = plain();
        found.quat = [0.1, -0.7, 0.3, 0.2];
        for (k, coefficient) in found.rest.iter_mut().enumerate() {
            *coefficient = [0.02 * k as f32 - 0.1, -0.3, 0.001 * k as f32];
        }
        let splat = Splat::of(&found).unwrap();
        let (mut geometry, mut sh) = (Vec::new(), Vec::new());
        push_geometry(&splat, &mut geometry);
        push_sh(&splat, 3, &mut sh);
        assert_eq!((geometry.len(), sh.len()), (8, 16));
        let (mean, radius) = balls(&geometry).next().unwrap();
        assert_eq!(mean, splat.mean);
        assert!(close(&[radius.ln()], &[-3.0], 3e-4), "the largest");
        let low = |word: u32| word as u16;
        let high = |word: u32| (word >> 16) as u16;
        assert_eq!(
            geometry[..3].iter().map(|&w| f32::from_bits(w)).collect::<Vec<_>>(),
            splat.mean
        );
        assert_eq!(from_half(low(geometry[3])), 0.5);
        let log = |bits: u16| f32::from(bits) / 65_535.0 * 32.0 - 24.0;
        let scales = [log(high(geometry[3])), log(low(geometry[4])), log(high(geometry[4]))];
        assert!(close(&scales, &splat.log_scale, 3e-4));
        let small = |steps: u32| (steps as f32 / 32_767.0 * 2.0 - 1.0) / std::f32::consts::SQRT_2;
        let three = [
            small(geometry[7] & 0x7fff),
            small(geometry[7] >> 15 & 0x7fff),
            small(u32::from(high(geometry[6]))),
        ];
        assert_eq!(geometry[7] >> 30, 1, "x is the largest component");
        // The largest was negative, so all signs turn.
        let want = [-splat.quat[0], -splat.quat[2], -splat.quat[3]];
        assert!(close(&three, &want, 3e-5));
        for (k, coefficient) in splat.rest.iter().enumerate() {
            let scale = from_half(if k < 3 { low(sh[0]) } else { high(sh[0]) });
            let value = |shift: u32| ((sh[1 + k] >> shift & 1023) as f32 - 511.0) / 511.0 * scale;
            assert!(
                close(&[value(0), value(10), value(20)], coefficient, scale / 1000.0),
                "{k}"
            );
        }
    }

    #[test]
    fn a_degree_3_splat_takes_100_bytes_at_any_size() {
        for count in [300_000, 1_000_000, 3_000_000, 8_400_000] {
            let layout = Layout::new(count, 3);
            assert!(layout.capacity() >= u64::from(count));
            let bytes = layout.gpu_bytes() as f64 / f64::from(count);
            assert!(bytes <= 101.0, "{count}: {bytes}");
        }
        assert_eq!(Layout::new(0, 0).capacity(), 512);
        let words: Vec<_> = (0..4).map(|degree| Layout::new(1, degree).sh_texels() * 4).collect();
        assert_eq!(words, [0, 4, 12, 16]);
        let splat = Splat::of(&plain()).unwrap();
        for (degree, wanted) in words.into_iter().enumerate() {
            let mut sh = Vec::new();
            push_sh(&splat, degree as u32, &mut sh);
            assert_eq!(sh.len(), wanted);
        }
        assert_eq!(
            Layout {
                degree: 3,
                layers: 2,
                rows: 300
            }
            .place(301),
            (1, 1)
        );
    }
}
