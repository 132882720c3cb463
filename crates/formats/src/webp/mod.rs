//! Lossless WebP images, read to the exact pixels.
//!
//! Written from the bitstream's specification (RFC 9649). A browser would decode them too, but hands pixels out through a
//! canvas, which multiplies colours by alpha, or a round trip through the graphics device; here they are bytes that tests
//! compare. Refuses lossy images and more pixels than the caller expects;
//! what it reads takes memory as it comes, not as a header says.

#[cfg(feature = "native")]
mod huffman;
mod prefix;
mod transform;
#[cfg(feature = "native")]
mod write;

use std::collections::BinaryHeap;

use crate::Error;
use prefix::{Bits, Code, damaged};
use transform::{Transform, add};
#[cfg(feature = "native")]
pub(crate) use write::encode;

/// Pixels, row after row: alpha, red, green and blue from the highest byte down.
pub(crate) type Pixels = Vec<u32>;

/// Most pixels of a side: no reader takes the last one that the format could name.
pub(crate) const MOST_SIDE: usize = (1 << 14) - 1;
/// Pixels that are read however few bytes code them,
const FREE_PIXELS: usize = 1 << 20;
/// and how many more for each byte: one value all over takes next to none.
const PIXELS_A_BYTE: usize = 1 << 12;
/// Literals and lengths in the first code of a group; colours of the cache follow.
const GREENS: usize = 256 + 24;
/// Distances that name a neighbour instead of a number of pixels.
const NEIGHBOURS: usize = 120;
/// Most groups of codes that an image uses; the reference encoder stops at 2600, whatever the size.
const MOST_GROUPS: usize = 4096;
/// Pixels that have room before any is read: what a header says costs nothing to write.
const ROOM: usize = 1 << 18;

/// A pixel: red, green, blue, alpha.
pub(crate) type Pixel = [u8; 4];

/// An image.
pub(crate) struct Image {
    pub(crate) width: usize,
    pub(crate) pixels: Pixels,
}

/// Red, green, blue and alpha.
pub(crate) fn channels(pixel: u32) -> Pixel {
    let [blue, green, red, alpha] = pixel.to_le_bytes();
    [red, green, blue, alpha]
}

fn of_channels([red, green, blue, alpha]: Pixel) -> u32 {
    u32::from_le_bytes([blue, green, red, alpha])
}

/// Reads a file of at most `most` pixels, and not more than its bytes can mean.
pub(crate) fn read(file: &[u8], most: usize) -> Result<Image, Error> {
    let data = lossless(file)?;
    let mut bits = Bits::new(data);
    let mark = bits.take(8);
    let (width, height) = (bits.take(14) + 1, bits.take(14) + 1);
    let has_alpha = bits.flag();
    if mark != 0x2f || bits.take(3) != 0 || bits.is_over() {
        return Err(damaged());
    }
    let most = most.min(PIXELS_A_BYTE.saturating_mul(file.len()).saturating_add(FREE_PIXELS));
    if width * height > most {
        return Err(Error::damaged(format!(
            "an image of {width} x {height} pixels is larger than what it can hold"
        )));
    }
    let mut transforms = Vec::new();
    let mut coded_width = width;
    let mut seen = [false; 4];
    while bits.flag() {
        let kind = bits.take(2);
        // Each kind comes once; otherwise a small file could have any number of them.
        if std::mem::replace(&mut seen[kind], true) {
            return Err(damaged());
        }
        let before = coded_width;
        let transform = match kind {
            0 | 1 => {
                let side = bits.take(3) as u32 + 2;
                let of = |length: usize| length.div_ceil(1 << side);
                let data = image(&mut bits, of(coded_width), of(height), false)?;
                match kind {
                    0 => Transform::Predict {
                        bits: side,
                        modes: data,
                    },
                    _ => Transform::Colour {
                        bits: side,
                        factors: data,
                    },
                }
            }
            2 => Transform::Green,
            _ => {
                let count = bits.take(8) + 1;
                // Each colour is coded by its difference from the one before.
                let mut colours = image(&mut bits, count, 1, false)?;
                for at in 1..count {
                    colours[at] = add(colours[at], colours[at - 1]);
                }
                let shift = match count {
                    ..=2 => 3,
                    3..=4 => 2,
                    5..=16 => 1,
                    _ => 0,
                };
                coded_width = coded_width.div_ceil(1 << shift);
                Transform::Palette { shift, colours }
            }
        };
        transforms.push((transform, before));
    }
    let mut pixels = image(&mut bits, coded_width, height, true)?;
    if bits.is_over() {
        return Err(damaged());
    }
    for (transform, width) in transforms.iter().rev() {
        pixels = transform.undo(pixels, *width);
    }
    if !has_alpha {
        pixels.iter_mut().for_each(|pixel| *pixel |= 0xff00_0000);
    }
    Ok(Image { width, pixels })
}

/// The lossless image in the container.
fn lossless(file: &[u8]) -> Result<&[u8], Error> {
    if !(file.starts_with(b"RIFF") && file.get(8..12) == Some(b"WEBP")) {
        return Err(Error::damaged("it is no WebP image"));
    }
    let mut at = 12;
    while let Some((head, rest)) = file.get(at..).and_then(<[u8]>::split_first_chunk::<8>) {
        let length = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
        match &head[..4] {
            b"VP8L" => return rest.get(..length).ok_or_else(damaged),
            b"VP8 " | b"ANIM" => {
                return Err(Error::damaged(
                    "an image is not lossless, so that its values are not those that were written",
                ));
            }
            _ => at = at.saturating_add(8).saturating_add(length.next_multiple_of(2)),
        }
    }
    Err(damaged())
}

/// Colours seen lately, by a hash of them.
struct Cache {
    shift: u32,
    colours: Pixels,
}

impl Cache {
    fn of(&self, pixel: u32) -> usize {
        (pixel.wrapping_mul(0x1e35_a7bd) >> self.shift) as usize
    }
}

/// Reads pixels that are coded; only the `main` image may have other codes in each part of it.
fn image(bits: &mut Bits<'_>, width: usize, height: usize, main: bool) -> Result<Pixels, Error> {
    let mut cache = None;
    if bits.flag() {
        let n = bits.take(4) as u32;
        if !(1..=11).contains(&n) {
            return Err(damaged());
        }
        cache = Some(Cache {
            shift: 32 - n,
            colours: vec![0; 1 << n],
        });
    }
    let n_cached = cache.as_ref().map_or(0, |cache| cache.colours.len());
    let mut parts = None;
    let mut used = vec![true];
    if main && bits.flag() {
        let side = bits.take(3) as u32 + 2;
        let columns = width.div_ceil(1 << side);
        let chosen = image(bits, columns, height.div_ceil(1 << side), false)?;
        used = groups_of(&chosen)?;
        parts = Some((side, columns, chosen));
    }
    let mut groups = Vec::new();
    for used in used {
        let mut codes = Vec::new();
        for n_symbols in [GREENS + n_cached, 256, 256, 256, 40] {
            let code = Code::read(bits, n_symbols)?;
            if used {
                codes.push(code);
            }
        }
        if bits.is_over() {
            return Err(damaged());
        }
        groups.push(codes);
    }
    let neighbours = neighbours(width);
    let n_pixels = width * height;
    let mut pixels = Vec::with_capacity(n_pixels.min(ROOM));
    while pixels.len() < n_pixels && !bits.is_over() {
        let place = pixels.len();
        let group = parts.as_ref().map_or(0, |(side, columns, chosen)| {
            let part = ((place / width) >> side) * columns + ((place % width) >> side);
            group_of(chosen[part])
        });
        let [greens, reds, blues, alphas, distances] = groups[group].as_slice() else {
            return Err(damaged());
        };
        let symbol = greens.next(bits);
        if let Some(cached) = symbol.checked_sub(GREENS) {
            let colour = cache.as_ref().and_then(|cache| cache.colours.get(cached));
            pixels.push(*colour.ok_or_else(damaged)?);
        } else if let Some(length) = symbol.checked_sub(256) {
            let length = number(bits, length).min(n_pixels - place);
            let symbol = distances.next(bits);
            let distance = match number(bits, symbol) {
                near @ 1..=NEIGHBOURS => neighbours[near - 1],
                far => far - NEIGHBOURS,
            };
            let from = place.checked_sub(distance).ok_or_else(damaged)?;
            for at in from..from + length {
                pixels.push(pixels[at]);
            }
        } else {
            let [red, blue, alpha] = [reds, blues, alphas].map(|code| code.next(bits) as u8);
            pixels.push(of_channels([red, symbol as u8, blue, alpha]));
        }
        if let Some(cache) = &mut cache {
            for pixel in &pixels[place..] {
                let at = cache.of(*pixel);
                cache.colours[at] = *pixel;
            }
        }
    }
    if bits.is_over() {
        return Err(damaged());
    }
    Ok(pixels)
}

/// Number of the group that a pixel chooses for its part.
fn group_of(pixel: u32) -> usize {
    (pixel >> 8 & 0xffff) as usize
}

/// Which groups of codes are used, up to the last; the others are read too, and passed over.
fn groups_of(chosen: &[u32]) -> Result<Vec<bool>, Error> {
    let last = chosen.iter().map(|pixel| group_of(*pixel)).max().unwrap_or(0);
    let mut used = vec![false; last + 1];
    chosen.iter().for_each(|pixel| used[group_of(*pixel)] = true);
    match used.iter().filter(|used| **used).count() {
        ..=MOST_GROUPS => Ok(used),
        n => Err(Error::damaged(format!(
            "an image has {n} groups of codes, and at most {MOST_GROUPS} are read"
        ))),
    }
}

/// A length or a distance: the symbol has its highest bits, and how many follow.
fn number(bits: &mut Bits<'_>, symbol: usize) -> usize {
    if symbol < 4 {
        return symbol + 1;
    }
    let n = (symbol as u32 - 2) >> 1;
    ((2 + (symbol & 1)) << n) + bits.take(n) + 1
}

/// How many pixels back each of the neighbours lies, the nearest first.
fn neighbours(width: usize) -> Vec<usize> {
    let above = (0..8_i32).flat_map(|y| (-7..=8_i32).map(move |x| (x, y)));
    let before = above.filter(|(x, y)| *y > 0 || *x > 0);
    // No two are of one rank. The heap is one that the viewer's lists are sorted with.
    let ranked = before.map(|(x, y)| {
        let rank = ((x * x + y * y) << 5) + 2 * x.abs() + i32::from(x < 0);
        (i64::from(rank), (y * width as i32 + x).max(1) as usize)
    });
    let near: BinaryHeap<(i64, usize)> = ranked.collect();
    near.into_sorted_vec().into_iter().map(|(_, back)| back).collect()
}

#[cfg(test)]
mod tests;
