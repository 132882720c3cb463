//! Depths and normals as pictures.

use std::io;
use std::path::Path;

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder};

use super::{Picture, PictureError};
use crate::export::{ExportError, write_atomic};

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
    /// From depths along the viewing axis, world units, row by row; what is not above 0 is nothing.
    ///
    /// # Errors
    /// [`PictureError`] when there is not one value a pixel.
    pub fn new(size_px: [u32; 2], depths: &[f32]) -> Result<Self, PictureError> {
        check("the depths", size_px, depths.len())?;
        let known = |depth: &f32| (depth.is_finite() && *depth > 0.0).then_some(*depth);
        let depths: Vec<Option<f32>> = depths.iter().map(known).collect();
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

fn check(what: &'static str, [width, height]: [u32; 2], found: usize) -> Result<(), PictureError> {
    let wanted = width as usize * height as usize;
    match found == wanted && wanted > 0 {
        true => Ok(()),
        false => Err(PictureError {
            what,
            width,
            height,
            found,
            wanted,
        }),
    }
}

/// Normals in camera space as a picture: x to the right is red, y up is green, towards the camera is blue, from 0 at -1 to
/// 255 at 1; black is nothing. `normals` lie row by row with y down and z away from the camera, 0 for nothing.
///
/// # Errors
/// [`PictureError`] when there is not one normal a pixel.
pub fn normal_picture(size_px: [u32; 2], normals: &[[f32; 3]]) -> Result<Picture, PictureError> {
    check("the normals", size_px, normals.len())?;
    let color = |&[x, y, z]: &[f32; 3]| match [x, y, z] == [0.0; 3] {
        true => [0.0; 3],
        false => [x, -y, -z].map(|n| 0.5 * n + 0.5),
    };
    let colors: Vec<[f32; 3]> = normals.iter().map(color).collect();
    Picture::rendering(size_px, colors.as_flattened(), 3)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scratch::Scratch;

    #[test]
    fn steps_are_of_the_farthest_depth_and_nothing_is_zero() {
        let picture = DepthPicture::new([2, 2], &[4.0, 8.0, 0.0, f32::NAN]).unwrap();
        assert_eq!((picture.nearest, picture.farthest), (4.0, 8.0));
        assert_eq!(picture.steps(), [32768, 65535, 0, 0]);
        assert!((f32::from(picture.steps()[0]) * picture.scale - 4.0).abs() < picture.scale);
    }

    #[test]
    fn normals_towards_the_camera_are_blue() {
        let normals = [[0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0; 3]];
        let folder = Scratch::new();
        let path = folder.path().join("n.png");
        normal_picture([2, 2], &normals).unwrap().write(&path).unwrap();
        let back = image::open(&path).unwrap().to_rgb8().into_raw();
        assert_eq!(back, [128, 128, 255, 255, 128, 128, 128, 255, 128, 0, 0, 0]);
        assert!(normal_picture([2, 2], &normals[1..]).is_err());
    }

    #[test]
    fn files_read_back_and_sizes_are_checked() {
        let folder = Scratch::new();
        let path = folder.path().join("d.png");
        let image = [3.0, 1.0];
        let picture = DepthPicture::new([2, 1], &image).unwrap();
        picture.write(&path).unwrap();
        let back = image::open(&path).unwrap();
        assert_eq!(back.color(), image::ColorType::L16);
        assert_eq!(back.to_luma16().into_raw(), picture.steps());
        assert!(DepthPicture::new([2, 2], &image).is_err());
        let empty = DepthPicture::new([1, 1], &[0.0]).unwrap();
        assert_eq!((empty.scale, empty.steps()), (0.0, &[0_u16][..]));
    }
}
