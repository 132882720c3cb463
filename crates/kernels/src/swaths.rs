//! Images larger than a binding: passes over pixels run once for each swath of rows and bind its part of the tensors.
//!
//! A row of tiles, or of the loss's strips, belongs to the swath that its first pixel is in, so that each is worked on by
//! one pass and every pixel gets the value that a single pass would give it. What is bound reaches beyond the swath by the
//! rows that windows and neighbouring strips look at. Swaths are ranges of pixels and not of rows: views of all widths
//! share them, and programs are recorded once. An image that fits one binding is one swath.

use serde::{Deserialize, Serialize};

use super::views::Pixels;
use kiln_program::Span;

/// Pixel rows bound before a swath: a strip of 32 rows, half a window of SSIM, and the row that is fetched ahead.
const ROWS_BEFORE: u32 = 40;
/// Pixel rows bound behind the first pixel after a swath: two strips, half a window, and the row that is fetched ahead.
const ROWS_BEHIND: u32 = 72;
/// Swaths begin at whole units of as many pixels, so that slices of 3, 4 and 16 bytes a pixel begin where bindings may.
const UNIT: u32 = 256;

/// Sizes that images are cut by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swaths {
    /// Largest image, pixels.
    pub max_pixels: u32,
    /// Widest image, pixels.
    pub max_width_px: u32,
    /// Most bytes of a tensor that a pass may bind.
    pub binding_bytes: u64,
}

/// Part of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swath {
    /// Rows belong to it that begin at this pixel or behind it.
    pub begin: u32,
    /// And before this one.
    pub end: u32,
    /// First pixel that is bound.
    pub base: u32,
    /// Pixels that are bound.
    pub pixels: u32,
    whole: bool,
}

impl Swaths {
    /// Images of at most `max_pixels` pixels that every binding is large enough for.
    #[must_use]
    pub const fn whole(max_pixels: u32) -> Self {
        Self {
            max_pixels,
            max_width_px: max_pixels,
            binding_bytes: u64::MAX,
        }
    }

    /// The swaths of tensors with up to `bytes` bytes a pixel.
    #[must_use]
    pub fn of(&self, bytes: u64) -> Vec<Swath> {
        let most = u32::try_from(self.binding_bytes / bytes).unwrap_or(u32::MAX);
        if self.max_pixels <= most {
            return vec![Swath {
                begin: 0,
                end: u32::MAX,
                base: 0,
                pixels: self.max_pixels,
                whole: true,
            }];
        }
        let rows = |count: u32| self.max_width_px.saturating_mul(count);
        let beyond = rows(ROWS_BEFORE + ROWS_BEHIND).saturating_add(UNIT);
        // Images so wide that a few rows of theirs are larger than a binding are cut all the same; the plan refuses them.
        let step = (most.saturating_sub(beyond) / UNIT * UNIT).max(rows(16).next_multiple_of(UNIT));
        let mut list = Vec::new();
        let mut begin = 0;
        while begin < self.max_pixels {
            let end = begin.saturating_add(step);
            let base = begin.saturating_sub(rows(ROWS_BEFORE)) / UNIT * UNIT;
            let bound = end.saturating_add(rows(ROWS_BEHIND)).min(self.max_pixels);
            list.push(Swath {
                begin,
                end,
                base,
                pixels: bound - base,
                whole: false,
            });
            begin = end;
        }
        list
    }

    /// Most pixels that are bound at once of tensors with up to `bytes` bytes a pixel.
    #[must_use]
    pub fn most_pixels(&self, bytes: u64) -> u32 {
        self.of(bytes).iter().map(|swath| swath.pixels).max().unwrap_or(0)
    }
}

impl Swath {
    /// Its part of a tensor with `bytes` bytes a pixel.
    #[must_use]
    pub fn part(&self, tensor: Span, bytes: u64) -> Span {
        if self.whole {
            return tensor;
        }
        let from = bytes * u64::from(self.base);
        let length = (bytes * u64::from(self.pixels)).next_multiple_of(16);
        tensor.slice(from, length.min(tensor.bytes - from))
    }

    /// Its part of the ground truth, and the pixel that begins with: all of it where a binding holds that, and of photos
    /// with masks, whose mask lies behind all colours.
    #[must_use]
    pub fn target(&self, pixels: &Pixels) -> (Span, u32) {
        if pixels.masked || pixels.target.bytes <= pixels.swaths.binding_bytes {
            (pixels.target, 0)
        } else {
            (self.part(pixels.target, 3), self.base)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every row of tiles and strips is in one swath, and what is bound has all that the row's passes touch.
    #[test]
    fn swaths_take_every_row_once_and_bind_what_it_looks_at() {
        let sizes = [
            (4000, 3000),
            (3000, 4000),
            (6000, 4000),
            (8256, 5504),
            (1200, 1),
            (640, 480),
        ];
        let swaths = Swaths {
            max_pixels: 8256 * 5504,
            max_width_px: 8256,
            binding_bytes: 128 << 20,
        };
        for bytes in [3, 4, 16, 36] {
            let list = swaths.of(bytes);
            assert_eq!(
                list.len() > 1,
                bytes * u64::from(swaths.max_pixels) > swaths.binding_bytes
            );
            for swath in &list {
                assert!(u64::from(swath.pixels) * bytes <= swaths.binding_bytes, "{swath:?}");
                assert_eq!(swath.base % UNIT, 0);
            }
            for (width, height) in sizes {
                for strip in [16, 32] {
                    for y in (0..height).step_by(strip as usize) {
                        let owners = list.iter().filter(|s| (s.begin..s.end).contains(&(y * width)));
                        let [owner] = owners.collect::<Vec<_>>()[..] else {
                            unreachable!("row {y} of {width}x{height} is not in one swath");
                        };
                        // The strip's gradient needs the maps of its neighbours, and they the image around them.
                        let first = y.saturating_sub(strip + 6) * width;
                        let end = ((y + 2 * strip + 6) * width).min(width * height);
                        assert!(
                            first >= owner.base && end <= owner.base + owner.pixels,
                            "{y}: {owner:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn what_fits_a_binding_is_bound_as_it_is() {
        let swaths = Swaths {
            max_width_px: 1024,
            binding_bytes: 36 << 20,
            ..Swaths::whole(1 << 20)
        };
        let [swath] = swaths.of(36)[..] else {
            unreachable!("one swath");
        };
        assert_eq!(
            (swath.begin, swath.end, swath.base, swath.pixels),
            (0, u32::MAX, 0, 1 << 20)
        );
        assert!(swaths.of(37).len() > 1);
    }
}
