//! What was done to an image before it was coded, and how it is undone.

use super::{Pixels, channels, of_channels};

/// Opaque black.
const BLACK: u32 = 0xff00_0000;

/// A transform and its data; those by blocks have a pixel for each square of `1 << bits`.
pub(super) enum Transform {
    Predict {
        bits: u32,
        modes: Pixels,
    },
    Colour {
        bits: u32,
        factors: Pixels,
    },
    Green,
    /// Colours of a palette, so many to a pixel as 8 bits hold.
    Palette {
        shift: u32,
        colours: Pixels,
    },
}

impl Transform {
    /// Gives the image of before; `width` is that of the image that comes out.
    pub(super) fn undo(&self, mut pixels: Pixels, width: usize) -> Pixels {
        match self {
            Self::Predict { bits, modes } => predict(pixels, width, *bits, modes),
            Self::Colour { bits, factors } => {
                let columns = width.div_ceil(1 << bits);
                for (y, row) in pixels.chunks_mut(width).enumerate() {
                    let factors = &factors[(y >> bits) * columns..];
                    for (x, pixel) in row.iter_mut().enumerate() {
                        *pixel = colour(*pixel, factors[x >> bits]);
                    }
                }
                pixels
            }
            Self::Green => pixels.into_iter().map(green).collect(),
            Self::Palette { shift, colours } => {
                let packed = width.div_ceil(1 << shift);
                let mut out = Vec::with_capacity(pixels.len() << shift);
                for row in pixels.chunks(packed.max(1)) {
                    for x in 0..width {
                        let word = row[x >> shift] >> 8 & 0xff;
                        let bits = 8 >> shift;
                        let index = word >> (bits * (x as u32 & ((1 << shift) - 1))) & ((1 << bits) - 1);
                        out.push(colours.get(index as usize).copied().unwrap_or(0));
                    }
                }
                out
            }
        }
    }
}

fn green(pixel: u32) -> u32 {
    let green = pixel >> 8 & 0xff;
    add(pixel, green << 16 | green)
}

fn colour(pixel: u32, factors: u32) -> u32 {
    let [red, green, blue, alpha] = channels(pixel);
    let [red_to_blue, green_to_blue, green_to_red, _] = channels(factors);
    let part = |factor: u8, of: u8| ((i32::from(factor as i8) * i32::from(of as i8)) >> 5) as u8;
    let red = red.wrapping_add(part(green_to_red, green));
    let blue = blue
        .wrapping_add(part(green_to_blue, green))
        .wrapping_add(part(red_to_blue, red));
    of_channels([red, green, blue, alpha])
}

/// The sum of each channel, without a carry into the next.
pub(super) fn add(a: u32, b: u32) -> u32 {
    let odd = (a & 0xff00_ff00).wrapping_add(b & 0xff00_ff00) & 0xff00_ff00;
    odd | (a & 0x00ff_00ff).wrapping_add(b & 0x00ff_00ff) & 0x00ff_00ff
}

fn predict(mut pixels: Pixels, width: usize, bits: u32, modes: &[u32]) -> Pixels {
    let columns = width.div_ceil(1 << bits);
    for (y, start) in (0..pixels.len()).step_by(width).enumerate() {
        let modes = &modes[(y >> bits) * columns..];
        let above = start.checked_sub(width);
        let mut left = add(pixels[start], above.map_or(BLACK, |above| pixels[above]));
        pixels[start] = left;
        for x in 1..width {
            let guess = above.map_or(left, |above| {
                // The last of a row has the first of its own row above right.
                let [corner, top, right] = [above + x - 1, above + x, above + x + 1].map(|at| pixels[at]);
                guess(modes[x >> bits] >> 8 & 15, left, top, right, corner)
            });
            left = add(pixels[start + x], guess);
            pixels[start + x] = left;
        }
    }
    pixels
}

/// What a mode makes of the neighbours: left, top, top right and top left.
fn guess(mode: u32, left: u32, top: u32, right: u32, corner: u32) -> u32 {
    match mode {
        1 => left,
        2 => top,
        3 => right,
        4 => corner,
        5 => mean(mean(left, right), top),
        6 => mean(left, corner),
        7 => mean(left, top),
        8 => mean(corner, top),
        9 => mean(top, right),
        10 => mean(mean(left, corner), mean(top, right)),
        11 => {
            let [left_by, top_by] = [top, left].map(|other| distance(other, corner));
            if left_by < top_by { left } else { top }
        }
        12 => each([left, top, corner], |[left, top, corner]| left + top - corner),
        13 => {
            let middle = mean(left, top);
            each([middle, corner, 0], |[middle, corner, _]| {
                middle + (middle - corner) / 2
            })
        }
        _ => BLACK,
    }
}

/// The mean of each channel, rounded down.
fn mean(a: u32, b: u32) -> u32 {
    (a & b) + ((a ^ b) >> 1 & 0x7f7f_7f7f)
}

/// How far two pixels are apart, all channels together.
fn distance(a: u32, b: u32) -> u32 {
    let pairs = channels(a).into_iter().zip(channels(b));
    pairs.map(|(a, b)| u32::from(a.abs_diff(b))).sum()
}

/// A value of each channel, held within a byte.
fn each(pixels: [u32; 3], value: impl Fn([i32; 3]) -> i32) -> u32 {
    let of = pixels.map(channels);
    of_channels(std::array::from_fn(|channel| {
        value(of.map(|channels| i32::from(channels[channel]))).clamp(0, 255) as u8
    }))
}
