//! Expected depth as a picture.
//!
//! A depth rendering blends camera-space z as if it were a colour over nothing, so that a pixel holds the sum of
//! w_i z_i, where w_i is what Gaussian i blocks of the light. Divided by the sum of w_i, which is one minus the
//! transmittance, this is the depth expected where the light is blocked, in world units along the viewing axis.

use std::io;
use std::path::Path;

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder};

use super::PictureError;
use crate::export::{ExportError, write_atomic};

/// Light that must be blocked for a pixel to have a depth: one step of an 8-bit picture.
const LEAST_COVERAGE: f32 = 1.0 / 255.0;

/// A 16-bit picture of depths: `value * scale` is the depth, 0 says that there is nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct DepthPicture {
    size_px: [u32; 2],
    steps: Vec<u16>,
    /// World units of one step; 0 when the picture is empty.
    pub scale: f32,
    /// Least depth in the picture; 0 when it is empty.
    pub nearest: f32,
    /// Greatest depth in the picture; 0 when it is empty.
    pub farthest: f32,
}

impl DepthPicture {
    /// From a depth rendering: blended depth (three times) and transmittance, row by row.
    ///
    /// # Errors
    /// [`PictureError`] when there is not one value a pixel.
    pub fn new(size_px: [u32; 2], image: &[[f32; 4]]) -> Result<Self, PictureError> {
        let [width, height] = size_px;
        let wanted = width as usize * height as usize;
        if image.len() != wanted || wanted == 0 {
            return Err(PictureError {
                what: "the depth rendering",
                width,
                height,
                found: image.len(),
                wanted,
            });
        }
        let depths: Vec<Option<f32>> = image.iter().map(expected).collect();
        let known = || depths.iter().flatten().copied();
        let (nearest, farthest) = (known().reduce(f32::min), known().reduce(f32::max));
        let (nearest, farthest) = (nearest.unwrap_or(0.0), farthest.unwrap_or(0.0));
        let scale = farthest / f32::from(u16::MAX);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "casts from floats saturate, and no depth is above the farthest"
        )]
        let step = |depth: &Option<f32>| depth.map_or(0, |depth| ((depth / scale).round() as u16).max(1));
        Ok(Self {
            size_px,
            steps: depths.iter().map(step).collect(),
            scale,
            nearest,
            farthest,
        })
    }

    /// The values, row by row.
    #[must_use]
    pub fn steps(&self) -> &[u16] {
        &self.steps
    }

    /// Writes a 16-bit grey PNG file.
    ///
    /// # Errors
    /// [`ExportError`] when the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), ExportError> {
        write_atomic(path, |file| {
            let [width, height] = self.size_px;
            PngEncoder::new_with_quality(file, CompressionType::Fast, FilterType::Adaptive)
                .write_image(bytemuck::cast_slice(&self.steps), width, height, ExtendedColorType::L16)
                .map_err(|error| match error {
                    image::ImageError::IoError(error) => error,
                    other => io::Error::other(other),
                })
        })
    }
}

fn expected(pixel: &[f32; 4]) -> Option<f32> {
    let coverage = 1.0 - pixel[3];
    let depth = pixel[0] / coverage;
    (coverage >= LEAST_COVERAGE && depth.is_finite() && depth > 0.0).then_some(depth)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::scene::scratch::Scratch;

    #[test]
    fn depth_is_divided_by_coverage() {
        // Half covered at depth 4, fully at 8, nothing, too faint to count.
        let image = [
            [2.0, 2.0, 2.0, 0.5],
            [8.0, 8.0, 8.0, 0.0],
            [0.0, 0.0, 0.0, 1.0],
            [0.001, 0.0, 0.0, 0.999],
        ];
        let picture = DepthPicture::new([2, 2], &image).unwrap();
        assert_eq!((picture.nearest, picture.farthest), (4.0, 8.0));
        assert_eq!(picture.steps(), [32768, 65535, 0, 0]);
        assert!((f32::from(picture.steps()[0]) * picture.scale - 4.0).abs() < picture.scale);
    }

    #[test]
    fn files_read_back_and_sizes_are_checked() {
        let folder = Scratch::new();
        let path = folder.path().join("d.png");
        let image = [[3.0, 3.0, 3.0, 0.0], [1.0, 1.0, 1.0, 0.0]];
        let picture = DepthPicture::new([2, 1], &image).unwrap();
        picture.write(&path).unwrap();
        let back = image::open(&path).unwrap();
        assert_eq!(back.color(), image::ColorType::L16);
        assert_eq!(back.to_luma16().into_raw(), picture.steps());
        assert!(DepthPicture::new([2, 2], &image).is_err());
        let empty = DepthPicture::new([1, 1], &[[0.0, 0.0, 0.0, 1.0]]).unwrap();
        assert_eq!((empty.scale, empty.steps()), (0.0, &[0_u16][..]));
    }
}
