//! Antialiased bicubic resizing of u8 RGB.
//!
//! Equal to Pillow's default to the last bit, because the figures of other trainers rest on it: the Keys cubic with
//! a = -0.5 (Keys 1981, eq. 8), stretched by the factor of reduction; a horizontal and then a vertical pass, each
//! with 22-bit fixed-point weights and rounded to 8 bits; a pass that would not change the size is left out.

/// Bits after the binary point of a weight.
const WEIGHT_BITS: u32 = 22;
/// Half the width of the cubic's support, source pixels at scale 1.
const SUPPORT: f64 = 2.0;

/// Resizes tightly packed RGB rows from `from` to `to`, both (width, height) in pixels.
///
/// Returns `None` when `pixels` is not `3 * width * height` bytes long or a side is 0.
#[must_use]
pub fn resize_rgb(pixels: &[u8], from: (u32, u32), to: (u32, u32)) -> Option<Vec<u8>> {
    let [width, height, new_width, new_height] = [from.0, from.1, to.0, to.1].map(|side| side as usize);
    let bytes = width.checked_mul(height)?.checked_mul(3)?;
    if bytes == 0 || new_width == 0 || new_height == 0 || pixels.len() != bytes {
        return None;
    }
    if width == new_width && height == new_height {
        return Some(pixels.to_vec());
    }
    let wide = (width != new_width).then(|| resize_rows(pixels, width, new_width));
    let pixels = wide.as_deref().unwrap_or(pixels);
    if height == new_height {
        return wide;
    }
    Some(resize_columns(pixels, new_width, height, new_height))
}

/// Resizes one byte a pixel from `from` to `to`, taking the source pixel whose area holds the centre of each new one.
///
/// `pixels` must hold a byte for each pixel of `from`; missing ones read as 0.
#[must_use]
pub(crate) fn resize_nearest(pixels: &[u8], from: (u32, u32), to: (u32, u32)) -> Vec<u8> {
    let at = |new: u32, from: u32, to: u32| (u64::from(2 * new + 1) * u64::from(from) / (2 * u64::from(to))) as usize;
    let columns: Vec<usize> = (0..to.0).map(|x| at(x, from.0, to.0)).collect();
    let mut out = Vec::with_capacity(to.0 as usize * to.1 as usize);
    for y in 0..to.1 {
        let start = at(y, from.1, to.1) * from.0 as usize;
        out.extend(columns.iter().map(|x| pixels.get(start + x).copied().unwrap_or(0)));
    }
    out
}

/// The source pixels that make one output pixel.
struct Taps {
    first: usize,
    weights: Vec<i32>,
}

/// The cubic, zero beyond two.
fn cubic(x: f64) -> f64 {
    const A: f64 = -0.5;
    let x = x.abs();
    if x < 1.0 {
        ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        (((x - 5.0) * x + 8.0) * x - 4.0) * A
    } else {
        0.0
    }
}

/// Taps of every output pixel along one axis.
fn taps(from: usize, to: usize) -> Vec<Taps> {
    let scale = from as f64 / to as f64;
    let stretch = scale.max(1.0);
    let support = SUPPORT * stretch;
    (0..to)
        .map(|index| {
            let centre = (index as f64 + 0.5) * scale;
            // casts clamp below zero, as the rule asks
            let first = (centre - support + 0.5) as usize;
            let end = ((centre + support + 0.5) as usize).min(from);
            let mut weights: Vec<f64> = (first..end)
                .map(|x| cubic((x as f64 - centre + 0.5) * (1.0 / stretch)))
                .collect();
            let sum: f64 = weights.iter().sum();
            if sum != 0.0 {
                weights.iter_mut().for_each(|weight| *weight *= 1.0 / sum);
            }
            let one = f64::from(1 << WEIGHT_BITS);
            let weights = weights.iter().map(|weight| (weight * one).round() as i32).collect();
            Taps { first, weights }
        })
        .collect()
}

/// Rounds a fixed-point sum that already holds one half.
fn to_u8(sum: i32) -> u8 {
    (sum >> WEIGHT_BITS).clamp(0, 255) as u8
}

const HALF: i32 = 1 << (WEIGHT_BITS - 1);

fn resize_rows(pixels: &[u8], width: usize, new_width: usize) -> Vec<u8> {
    let taps = taps(width, new_width);
    let mut out = Vec::with_capacity(pixels.len() / width * new_width);
    for row in pixels.chunks_exact(width * 3) {
        for Taps { first, weights } in &taps {
            let mut sums = [HALF; 3];
            for (pixel, weight) in row[first * 3..].chunks_exact(3).zip(weights) {
                for (sum, &value) in sums.iter_mut().zip(pixel) {
                    *sum += i32::from(value) * weight;
                }
            }
            out.extend(sums.map(to_u8));
        }
    }
    out
}

fn resize_columns(pixels: &[u8], width: usize, height: usize, new_height: usize) -> Vec<u8> {
    let stride = width * 3;
    let mut out = Vec::with_capacity(stride * new_height);
    let mut sums = vec![HALF; stride];
    for Taps { first, weights } in taps(height, new_height) {
        sums.fill(HALF);
        for (row, weight) in pixels[first * stride..].chunks_exact(stride).zip(&weights) {
            for (sum, &value) in sums.iter_mut().zip(row) {
                *sum += i32::from(value) * weight;
            }
        }
        out.extend(sums.iter().map(|&sum| to_u8(sum)));
    }
    out
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[derive(serde::Deserialize)]
    struct Golden {
        cases: Vec<Case>,
    }

    #[derive(serde::Deserialize)]
    struct Case {
        from: (u32, u32),
        to: (u32, u32),
        rows: Vec<(usize, Vec<u8>)>,
    }

    /// The picture that the recording script makes too.
    fn picture(width: u32, height: u32) -> Vec<u8> {
        let value =
            |x: u32, y: u32, c: u32| (x * 37 + y * 91 + c * 53 + (x * y) % 17 * 9 + (x / 5 + y / 3) % 2 * 120) % 256;
        (0..height)
            .flat_map(|y| (0..width).flat_map(move |x| (0..3).map(move |c| value(x, y, c) as u8)))
            .collect()
    }

    #[test]
    fn rows_equal_pillow() {
        let text = include_str!("../../../../tests/golden/pillow_bicubic.json");
        let golden: Golden = serde_json::from_str(text).unwrap();
        assert!(golden.cases.len() >= 6);
        for Case { from, to, rows } in golden.cases {
            let out = resize_rgb(&picture(from.0, from.1), from, to).unwrap();
            let stride = to.0 as usize * 3;
            assert_eq!(out.len(), stride * to.1 as usize);
            for (y, row) in rows {
                assert_eq!(out[y * stride..][..stride], row[..], "{from:?} -> {to:?}, row {y}");
            }
        }
    }

    #[test]
    fn flat_colours_stay_and_bad_sizes_are_refused() {
        let flat = [9, 200, 255].repeat(31 * 17);
        assert_eq!(
            resize_rgb(&flat, (31, 17), (7, 40)).unwrap(),
            [9, 200, 255].repeat(7 * 40)
        );
        assert_eq!(resize_rgb(&flat, (31, 17), (1, 1)).unwrap(), [9, 200, 255]);
        assert!(resize_rgb(&flat, (31, 18), (7, 40)).is_none());
        assert!(resize_rgb(&flat, (31, 17), (0, 40)).is_none());
        assert!(resize_rgb(&[], (0, 17), (1, 1)).is_none());
    }

    #[test]
    fn the_nearest_pixel_is_taken() {
        let pixels: Vec<u8> = (0..12).collect();
        assert_eq!(resize_nearest(&pixels, (4, 3), (4, 3)), pixels);
        assert_eq!(resize_nearest(&pixels, (4, 3), (2, 1)), [5, 7]);
        assert_eq!(resize_nearest(&[1, 2], (2, 1), (4, 2)), [1, 1, 2, 2, 1, 1, 2, 2]);
        assert_eq!(resize_nearest(&pixels, (4, 3), (1, 1)), [6]);
    }
}
