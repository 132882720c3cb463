//! Images to splats.

use std::f64::consts::SQRT_2;

use super::meta::{Meta, Palette};
use crate::splat::{REST_MAX, with_largest};
use crate::webp::{self, Image, MOST_SIDE, channels};
use crate::{Error, Opacity, Splat, rest_count};

/// Steps of a centre's coordinate.
pub(super) const STEPS: f64 = 65_535.0;
/// Alpha of a rotation whose largest component is w; x, y and z follow.
pub(super) const LARGEST_W: u8 = 252;
/// Entries of the palette in a row of its image.
pub(super) const PALETTE_ROW: usize = 64;

impl Meta {
    /// Hands out the splats of images, which come in the order of [`Self::images`]. They are decoded before the first splat comes.
    ///
    /// # Errors
    /// [`Error::Damaged`], which says what is wrong: an image, or a pixel that means nothing.
    pub fn splats<F: AsRef<[u8]>>(&self, files: &[F], mut each: impl FnMut(&Splat)) -> Result<(), Error> {
        let count = usize::try_from(self.count).unwrap_or(usize::MAX);
        let mut files = self.images().zip(files);
        let mut next = |most: usize| {
            let (name, file) = files.next().ok_or_else(|| Error::damaged("an image is missing"))?;
            let image = webp::read(file.as_ref(), most).map_err(|e| match e {
                Error::Damaged(what) => Error::damaged(format!("{name}: {what}")),
                other => other,
            })?;
            Ok((name, image))
        };
        // Images are as large as they need be, up to what rounds their sides.
        let most = count.saturating_mul(2).saturating_add(4 * MOST_SIDE);
        let pixels = |(name, image): (&str, Image)| match image.pixels.get(..count) {
            Some(_) => Ok(image.pixels),
            None => Err(Error::damaged(format!(
                "{name} has {} pixels for {count} Gaussians",
                image.pixels.len()
            ))),
        };
        let [low, high, quats, scales, colours] = {
            let mut next = || pixels(next(most)?);
            [next()?, next()?, next()?, next()?, next()?]
        };
        let harmonics = match &self.sh_rest {
            Some(palette) => Some((palette.entries(&mut next)?, pixels(next(most)?)?)),
            None => None,
        };
        let n_rest = 3 * rest_count(self.sh_degree());
        let [scale_book, colour_book] = [&self.scales, &self.sh0].map(|coded| Book::new(&coded.codebook));
        for at in 0..count {
            let [low, high, quat, scale, colour] =
                [&low, &high, &quats, &scales, &colours].map(|all| channels(all[at]));
            let mut rest = [[0.0; 3]; REST_MAX];
            if let Some((entries, places)) = &harmonics {
                let [low, high, ..] = channels(places[at]);
                let start = usize::from(u16::from_le_bytes([low, high])) * n_rest;
                let entry = entries.get(start..start + n_rest);
                let entry = entry.ok_or_else(|| Error::damaged("a pixel names an entry that its palette has not"))?;
                rest.as_flattened_mut()[..n_rest].copy_from_slice(entry);
            }
            each(&Splat {
                mean: std::array::from_fn(|axis| {
                    let share = f64::from(u16::from_le_bytes([low[axis], high[axis]])) / STEPS;
                    let [from, to] = [self.means.mins[axis], self.means.maxs[axis]];
                    from_log(from + (to - from) * share) as f32
                }),
                quat: quaternion(quat).ok_or_else(|| Error::damaged("a pixel of its rotations names no component"))?,
                log_scale: scale_book.values(scale)?,
                opacity: Opacity::Steps(colour[3]),
                sh0: colour_book.values(colour)?,
                rest,
            });
        }
        Ok(())
    }
}

impl Palette {
    /// Values of its entries, one after the other, of the image that `next` gives.
    fn entries<'a>(&self, next: &mut impl FnMut(usize) -> Result<(&'a str, Image), Error>) -> Result<Vec<f32>, Error> {
        let of_one = rest_count(self.bands);
        let row = PALETTE_ROW * of_one;
        let n_rows = self.count.div_ceil(PALETTE_ROW);
        let (name, image) = next((n_rows + 4) * row)?;
        if image.width != row || image.pixels.len() < n_rows * row {
            return Err(Error::damaged(format!(
                "{name} has {} pixels in rows of {}, and {} entries take rows of {row}",
                image.pixels.len(),
                image.width,
                self.count
            )));
        }
        let book = Book::new(&self.codebook);
        let mut values = Vec::with_capacity(3 * self.count * of_one);
        for pixel in &image.pixels[..self.count * of_one] {
            values.extend(book.values(channels(*pixel))?);
        }
        Ok(values)
    }
}

/// Values of a codebook, which are finite; places without one are NaN.
struct Book([f32; 256]);

impl Book {
    fn new(values: &[f32]) -> Self {
        Self(std::array::from_fn(|at| values.get(at).copied().unwrap_or(f32::NAN)))
    }

    /// Values that three bytes name.
    fn values(&self, [r, g, b, _]: [u8; 4]) -> Result<[f32; 3], Error> {
        let values = [r, g, b].map(|place| self.0[usize::from(place)]);
        match values.iter().any(|value| value.is_nan()) {
            true => Err(Error::damaged("a pixel names a value that its codebook has not")),
            false => Ok(values),
        }
    }
}

/// The coordinate of a spread one.
pub(super) fn from_log(value: f64) -> f64 {
    value.signum() * libm::expm1(value.abs())
}

/// The quaternion (w, x, y, z) of a pixel; none when its alpha names no component.
pub(super) fn quaternion([r, g, b, tag]: [u8; 4]) -> Option<[f32; 4]> {
    let largest = usize::from(tag.checked_sub(LARGEST_W)?);
    let others = [r, g, b].map(|byte| (f64::from(byte) / 255.0 - 0.5) * SQRT_2);
    Some(with_largest(largest, others).map(|value| value as f32))
}
