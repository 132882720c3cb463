//! Pictures of an evaluated view: the rendering, its error, how many Gaussians each tile holds, the photograph.
//!
//! All are 8-bit RGB PNG files written whole or not at all. Scales are fixed, so that pictures of different views and
//! iterations compare.

use std::io;
use std::path::Path;

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder};

use crate::export::{ExportError, write_atomic};

/// Side of a tile, pixels.
const TILE_PX: usize = 16;
/// log2(1 + n) of the count n at the light end of the density map.
const DENSITY_LOG2: f32 = 14.0;
/// Colours of the density map from none to many, evenly spaced; each is lighter than the one before.
const RAMP: [[f32; 3]; 6] = [
    [0.02, 0.02, 0.08],
    [0.21, 0.09, 0.40],
    [0.53, 0.14, 0.45],
    [0.83, 0.29, 0.29],
    [0.97, 0.60, 0.22],
    [0.99, 0.95, 0.68],
];

/// Pixels that do not fit the size they are said to have.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} holds {found} values and a picture of {width} x {height} pixels needs {wanted}")]
pub struct PictureError {
    /// Which input.
    pub what: &'static str,
    /// Width, pixels.
    pub width: u32,
    /// Height, pixels.
    pub height: u32,
    /// Values given.
    pub found: usize,
    /// Values needed.
    pub wanted: usize,
}

/// An 8-bit RGB picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    size_px: [u32; 2],
    rgb: Vec<u8>,
}

impl Picture {
    /// A photograph: 8-bit RGB, row by row.
    ///
    /// # Errors
    /// [`PictureError`] when the bytes are not three a pixel.
    pub fn photo(size_px: [u32; 2], rgb: &[u8]) -> Result<Self, PictureError> {
        check("the photograph", size_px, rgb.len(), pixels(size_px) * 3)?;
        Ok(Self {
            size_px,
            rgb: rgb.to_vec(),
        })
    }

    /// A rendering: each value becomes `255 v + 0.5`, cut off at 0 and 255. `values` holds 3 (RGB) or 4 (RGB and one
    /// that is ignored) words a pixel, as `stride` says.
    ///
    /// # Errors
    /// [`PictureError`] when the values are not `stride` a pixel.
    pub fn rendering(size_px: [u32; 2], values: &[f32], stride: usize) -> Result<Self, PictureError> {
        check_rendering(size_px, values, stride)?;
        let rgb = values.chunks_exact(stride).flat_map(|pixel| rgb8(first_three(pixel)));
        Ok(Self {
            size_px,
            rgb: rgb.collect(),
        })
    }

    /// The error: colour (e, 1 - e, 1 - e), where e is the mean over channels of the absolute difference between the
    /// rendering, cut off at 0 and 1, and the photograph. Cyan is right, red is wrong.
    ///
    /// # Errors
    /// [`PictureError`] when an input has not the picture's size.
    pub fn error(size_px: [u32; 2], values: &[f32], stride: usize, photo: &[u8]) -> Result<Self, PictureError> {
        check_rendering(size_px, values, stride)?;
        check("the photograph", size_px, photo.len(), pixels(size_px) * 3)?;
        let color = |(pixel, target): (&[f32], &[u8])| {
            let differences = pixel.iter().zip(target).map(|(value, byte)| {
                let difference = (value.clamp(0.0, 1.0) - f32::from(*byte) / 255.0).abs();
                // A value that is not a number is as wrong as can be.
                if difference.is_nan() { 1.0 } else { difference }
            });
            let e = differences.sum::<f32>() / 3.0;
            rgb8([e, 1.0 - e, 1.0 - e])
        };
        let rgb = values.chunks_exact(stride).zip(photo.chunks_exact(3)).flat_map(color);
        Ok(Self {
            size_px,
            rgb: rgb.collect(),
        })
    }

    /// The density: one colour a 16 x 16 tile for the Gaussians that touch it, dark to light over log2(1 + n) from 0
    /// to 14. `tiles` holds a count for each tile, row by row.
    ///
    /// # Errors
    /// [`PictureError`] when there is not one count a tile.
    pub fn density(size_px: [u32; 2], tiles: &[u32]) -> Result<Self, PictureError> {
        let [width, height] = size_px.map(|side| side as usize);
        let tiles_x = width.div_ceil(TILE_PX);
        check(
            "the tile counts",
            size_px,
            tiles.len(),
            tiles_x * height.div_ceil(TILE_PX),
        )?;
        let colors: Vec<[u8; 3]> = tiles
            .iter()
            .map(|count| {
                rgb8(ramp(
                    f64::from(*count).ln_1p() as f32 / std::f32::consts::LN_2 / DENSITY_LOG2,
                ))
            })
            .collect();
        let mut rgb = Vec::with_capacity(width * height * 3);
        for y in 0..height {
            for x in 0..width {
                rgb.extend_from_slice(&colors[y / TILE_PX * tiles_x + x / TILE_PX]);
            }
        }
        Ok(Self { size_px, rgb })
    }

    /// A proxy for density that needs the rendering only: colour (d, 0, 1 - d), where d is five times the standard
    /// deviation over the channels of the rendering (with 2 = 3 - 1 in the denominator), cut off at 0 and 1.
    ///
    /// # Errors
    /// [`PictureError`] when the values are not `stride` a pixel.
    pub fn density_proxy(size_px: [u32; 2], values: &[f32], stride: usize) -> Result<Self, PictureError> {
        check_rendering(size_px, values, stride)?;
        let color = |pixel: &[f32]| {
            let rgb = first_three(pixel);
            let mean = rgb.iter().sum::<f32>() / 3.0;
            let variance = rgb.iter().map(|c| (c - mean) * (c - mean)).sum::<f32>() / 2.0;
            let d = (5.0 * variance.sqrt()).clamp(0.0, 1.0);
            rgb8([d, 0.0, 1.0 - d])
        };
        let rgb = values.chunks_exact(stride).flat_map(color);
        Ok(Self {
            size_px,
            rgb: rgb.collect(),
        })
    }

    /// The picture with its longest side at most `longest_px`: blocks of pixels become their mean, those at the right
    /// and lower edge of what there is of them. A picture that is small enough stays as it is.
    #[must_use]
    pub fn reduced(&self, longest_px: u32) -> Self {
        let [width, height] = self.size_px;
        let block = width.max(height).div_ceil(longest_px.max(1)).max(1);
        let size_px = [width.div_ceil(block), height.div_ceil(block)];
        if block == 1 {
            return self.clone();
        }
        let mut rgb = Vec::with_capacity(pixels(size_px) * 3);
        for y in 0..size_px[1] {
            for x in 0..size_px[0] {
                let rows = y * block..(y * block + block).min(height);
                let columns = x * block..(x * block + block).min(width);
                let count = (rows.len() * columns.len()) as u32;
                let mut sums = [0u32; 3];
                for at in rows.flat_map(|row| columns.clone().map(move |column| row * width + column)) {
                    let pixel = self.rgb.iter().skip(3 * at as usize);
                    sums.iter_mut()
                        .zip(pixel)
                        .for_each(|(sum, value)| *sum += u32::from(*value));
                }
                rgb.extend(sums.map(|sum| ((sum + count / 2) / count) as u8));
            }
        }
        Self { size_px, rgb }
    }

    /// Width and height, pixels.
    #[must_use]
    pub const fn size_px(&self) -> [u32; 2] {
        self.size_px
    }

    /// Three bytes a pixel, row by row.
    #[must_use]
    pub fn rgb(&self) -> &[u8] {
        &self.rgb
    }

    /// Writes a PNG file.
    ///
    /// # Errors
    /// [`ExportError`] when the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), ExportError> {
        write_atomic(path, |file| self.encode(file))
    }

    /// The bytes of a PNG file.
    ///
    /// # Errors
    /// What the encoder refuses; nothing is known to make it.
    pub fn png(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.encode(&mut bytes)?;
        Ok(bytes)
    }

    fn encode(&self, out: impl io::Write) -> io::Result<()> {
        let [width, height] = self.size_px;
        PngEncoder::new_with_quality(out, CompressionType::Fast, FilterType::Adaptive)
            .write_image(&self.rgb, width, height, ExtendedColorType::Rgb8)
            .map_err(|error| match error {
                image::ImageError::IoError(error) => error,
                other => io::Error::other(other),
            })
    }
}

fn pixels(size_px: [u32; 2]) -> usize {
    size_px[0] as usize * size_px[1] as usize
}

fn check(what: &'static str, size_px: [u32; 2], found: usize, wanted: usize) -> Result<(), PictureError> {
    let [width, height] = size_px;
    if found == wanted && wanted > 0 {
        return Ok(());
    }
    Err(PictureError {
        what,
        width,
        height,
        found,
        wanted,
    })
}

/// A stride below 3 is reported as the missing values that it means.
fn check_rendering(size_px: [u32; 2], values: &[f32], stride: usize) -> Result<(), PictureError> {
    check("the rendering", size_px, values.len(), pixels(size_px) * stride.max(3))
}

fn first_three(pixel: &[f32]) -> [f32; 3] {
    std::array::from_fn(|c| pixel.get(c).copied().unwrap_or_default())
}

/// Rounds to bytes; casts from floats saturate, and not-a-number becomes 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturating is what is wanted"
)]
fn rgb8(color: [f32; 3]) -> [u8; 3] {
    color.map(|value| (value * 255.0 + 0.5) as u8)
}

/// The colour at `t` of [`RAMP`], 0 to 1.
fn ramp(t: f32) -> [f32; 3] {
    let last = RAMP.len() - 1;
    let at = t.clamp(0.0, 1.0) * last as f32;
    let below = (at as usize).min(last - 1);
    let share = at - below as f32;
    std::array::from_fn(|c| RAMP[below][c] * (1.0 - share) + RAMP[below + 1][c] * share)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scratch::Scratch;

    #[test]
    fn renderings_are_rounded_and_cut_off() {
        let values = [0.0, 0.5, 1.0, 9.0, -0.1, 1.5, f32::NAN, 9.0];
        let picture = Picture::rendering([2, 1], &values, 4).unwrap();
        assert_eq!(picture.rgb(), [0, 128, 255, 0, 255, 0]);
        let picture = Picture::rendering([1, 1], &[0.002, 0.001, 0.3], 3).unwrap();
        assert_eq!(picture.rgb(), [1, 0, 77]);
    }

    #[test]
    fn errors_go_from_cyan_to_red() {
        let photo = [255, 255, 255, 0, 0, 0, 255, 0, 0, 0, 0, 0];
        let values = [
            1.0,
            1.0,
            7.0,
            0.0,
            1.0,
            1.0,
            1.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            f32::NAN,
            f32::NAN,
            f32::NAN,
            0.0,
        ];
        let picture = Picture::error([4, 1], &values, 4, &photo).unwrap();
        let third = [85, 170, 170];
        assert_eq!(
            picture.rgb().chunks(3).collect::<Vec<_>>(),
            [[0, 255, 255], [255, 0, 0], third, [255, 0, 0]]
        );
    }

    #[test]
    fn density_fills_tiles_and_grows_lighter() {
        let picture = Picture::density([17, 18], &[0, 10, 1000, u32::MAX]).unwrap();
        let at = |x: usize, y: usize| &picture.rgb()[(y * 17 + x) * 3..][..3];
        assert_eq!(at(0, 0), at(15, 15));
        let light = |rgb: &[u8]| 0.21 * f32::from(rgb[0]) + 0.72 * f32::from(rgb[1]) + 0.07 * f32::from(rgb[2]);
        assert!(light(at(0, 0)) < light(at(16, 0)));
        assert!(light(at(16, 0)) < light(at(0, 16)));
        assert!(light(at(0, 16)) < light(at(16, 17)));
        let mut before = -1.0;
        for step in 0..=100 {
            let now = light(&rgb8(ramp(step as f32 / 100.0)));
            assert!(now >= before);
            before = now;
        }
    }

    #[test]
    fn the_proxy_goes_from_blue_to_red() {
        // grey; a deviation of 0.05; one beyond the scale; not a number
        let values = [
            0.4,
            0.4,
            0.4,
            0.0,
            0.45,
            0.5,
            0.55,
            0.0,
            0.0,
            1.0,
            0.0,
            0.0,
            f32::NAN,
            0.0,
            0.0,
            0.0,
        ];
        let picture = Picture::density_proxy([4, 1], &values, 4).unwrap();
        assert_eq!(
            picture.rgb().chunks(3).collect::<Vec<_>>(),
            [[0, 0, 255], [64, 0, 191], [255, 0, 0], [0, 0, 0]]
        );
    }

    #[test]
    fn reduction_takes_the_mean_of_blocks() {
        let gray = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100];
        let rgb: Vec<u8> = gray.iter().flat_map(|v| [*v, *v, v + 1]).collect();
        let picture = Picture::photo([5, 2], &rgb).unwrap();
        let small = picture.reduced(3);
        assert_eq!(small.size_px(), [3, 1]);
        assert_eq!(small.rgb(), [40, 40, 41, 60, 60, 61, 75, 75, 76]);
        assert_eq!(picture.reduced(5), picture);
        assert_eq!(picture.reduced(1).size_px(), [1, 1]);
        let png = image::load_from_memory(&small.png().unwrap()).unwrap().to_rgb8();
        assert_eq!(png.into_raw(), small.rgb());
    }

    #[test]
    fn wrong_sizes_are_refused() {
        let error = Picture::rendering([2, 2], &[0.0; 12], 4).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the rendering holds 12 values and a picture of 2 x 2 pixels needs 16"
        );
        assert!(Picture::rendering([2, 2], &[0.0; 8], 2).is_err());
        assert!(Picture::photo([0, 0], &[]).is_err());
        assert!(Picture::density([17, 16], &[1]).is_err());
        assert!(Picture::error([1, 1], &[0.0; 3], 3, &[0]).is_err());
    }

    #[test]
    fn files_read_back() {
        let folder = Scratch::new();
        let path = folder.path().join("error/test/view.png");
        let picture = Picture::photo([2, 1], &[1, 2, 3, 4, 5, 6]).unwrap();
        picture.write(&path).unwrap();
        let back = image::open(&path).unwrap().to_rgb8();
        assert_eq!((back.dimensions(), back.into_raw()), ((2, 1), vec![1, 2, 3, 4, 5, 6]));
    }
}
