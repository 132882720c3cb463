//! From image and mask files to a [`Photo`] at training resolution.

use std::path::{Path, PathBuf};

use image::DynamicImage;

use super::decode::decode;
use super::resize::{resize_nearest, resize_rgb};
use super::upright::Upright;
use crate::depths::DepthMap;
use crate::maps::{MapFile, MapKind, Over};
use crate::normals::NormalMap;
use crate::{Alpha, MaskFile, Photo, PhotoParts, SceneError, View, photo_bytes};

/// Bytes of a pixel while it is decoded, at least: what progressive JPEG keeps of it, and the file.
const WORKING_BYTES_PER_PIXEL: u64 = 12;
/// How often a pixel's bytes are there while it is decoded: in the file, in the decoder and in the picture.
const WORKING_COPIES: u64 = 3;

/// Everything that makes the photo of one view, so that a decoding thread needs nothing else.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    image: PathBuf,
    /// What is done to the file's picture first.
    upright: Upright,
    /// Width and height after that, pixels.
    source_px: (u32, u32),
    size_px: (u32, u32),
    alpha: Alpha,
    /// Colour behind transparent pixels, 0..=1.
    background: [f32; 3],
    mask: Option<MaskFile>,
    depth: Option<DepthMap>,
    normal: Option<NormalMap>,
    /// What the photo carries, also where no file has it.
    parts: PhotoParts,
}

impl Recipe {
    /// The recipe of a view in a scene whose photos have these parts.
    pub(crate) fn new(view: &View, background: [f32; 3], parts: PhotoParts) -> Self {
        Self {
            image: view.image_path.clone(),
            upright: view.upright.clone(),
            source_px: (view.source_width, view.source_height),
            size_px: (view.camera.width_px, view.camera.height_px),
            alpha: view.alpha,
            background,
            mask: view.mask.clone(),
            depth: view.depth.clone(),
            normal: view.normal.clone(),
            parts,
        }
    }

    /// The image file.
    pub(crate) fn path(&self) -> &Path {
        &self.image
    }

    /// Bytes of the photo.
    pub(crate) fn photo_bytes(&self) -> u64 {
        photo_bytes(area(self.size_px), self.parts)
    }

    /// The most memory [`Recipe::cook`] needs at once, bytes; the photo is part of it.
    pub(crate) fn working_bytes(&self) -> u64 {
        let (file, source) = (area(self.upright.file_px), area(self.source_px));
        let decoding = u64::from(self.upright.pixel_bytes) * WORKING_COPIES;
        // turning and undistorting hold the picture twice
        let upright = match self.upright.is_nothing() {
            true => 0,
            false => file * 8 + source * 3,
        };
        let between = area((self.size_px.0, self.source_px.1));
        let shown = if self.upright.shows_empty() { source } else { 0 };
        let mask = shown + self.mask.as_ref().map_or(0, |mask| 2 * area(mask.size_px));
        let of_map = |kind: MapKind, map: Option<&MapFile>| {
            map.map_or(0, |map| kind.working_bytes_per_pixel() * area(map.file.size_px))
        };
        let depth = of_map(MapKind::Depth, self.depth.as_ref().map(|depth| &depth.map));
        let normal = of_map(MapKind::Normal, self.normal.as_ref().map(|normal| &normal.map));
        // decoding, then the picture, the half-resized one and the result; or the result and the mask
        let result = self.photo_bytes();
        (file * decoding.max(WORKING_BYTES_PER_PIXEL))
            .max(upright)
            .max(source * 3 + between * 3 + 2 * result)
            .max(2 * result + mask)
            .max(2 * result + depth.max(normal))
    }

    /// Decodes: alpha as the view asks, then resized; the mask takes the nearest of its own pixels.
    ///
    /// # Errors
    /// [`SceneError`] naming image or mask when it is damaged or no longer has the size the index saw.
    pub(crate) fn cook(&self) -> Result<Photo, SceneError> {
        let mut picture = decode(&self.image, self.upright.file_px)?;
        let stored_opaque = opacity(&picture, self.alpha);
        self.upright.turn(&mut picture);
        let rgb = self
            .upright
            .undistort::<3>(colours(picture, self.alpha, self.background));
        let rgb = if self.size_px == self.source_px {
            rgb
        } else {
            resize_rgb(&rgb, self.source_px, self.size_px).ok_or_else(|| SceneError::Image {
                path: self.image.clone(),
                detail: format!("it cannot be resized to {:?}", self.size_px),
            })?
        };
        let mask = self.parts.masked.then(|| self.mask(stored_opaque)).transpose()?;
        let depths = self.parts.depths.then(|| self.depths()).transpose()?;
        let normals = self.parts.normals.then(|| self.normals()).transpose()?;
        Ok(Photo::with_maps(
            rgb,
            mask.as_deref(),
            depths.as_deref(),
            normals.as_deref(),
        ))
    }

    /// 255 where a pixel at training resolution counts, else 0.
    fn mask(&self, stored_opaque: Option<Vec<u8>>) -> Result<Vec<u8>, SceneError> {
        let mut mask = match stored_opaque {
            Some(opaque) => resize_nearest(&self.upright.mask(opaque), self.source_px, self.size_px),
            None => match self.upright.shown() {
                Some(shown) => resize_nearest(&shown, self.source_px, self.size_px),
                None => vec![u8::MAX; self.pixels()],
            },
        };
        if let Some(file) = &self.mask {
            let values = read_mask(file)?;
            let values = match self.upright.is_nothing() {
                true => resize_nearest(&values, file.size_px, self.size_px),
                false => {
                    let stored = resize_nearest(&values, file.size_px, self.upright.file_px);
                    resize_nearest(&self.upright.mask(stored), self.source_px, self.size_px)
                }
            };
            for (value, of_file) in mask.iter_mut().zip(values) {
                *value = (*value).min(of_file);
            }
        }
        if !mask.contains(&u8::MAX) {
            return Err(SceneError::AllMasked {
                path: self.image.clone(),
            });
        }
        Ok(mask)
    }

    /// The unit of inverse depth, as bits, and a word for each pixel at training resolution.
    fn depths(&self) -> Result<Vec<u32>, SceneError> {
        match &self.depth {
            Some(depth) => {
                let mut words = vec![(depth.fit.unit as f32).to_bits()];
                words.extend(depth.words(&self.over())?);
                Ok(words)
            }
            None => Ok(vec![0; self.pixels() + 1]),
        }
    }

    /// A word for each pixel at training resolution.
    fn normals(&self) -> Result<Vec<u32>, SceneError> {
        match &self.normal {
            Some(normal) => normal.words(&self.over()),
            None => Ok(vec![0; self.pixels()]),
        }
    }

    /// The photo, for maps to be laid over.
    fn over(&self) -> Over<'_> {
        Over {
            upright: &self.upright,
            source_px: self.source_px,
            size_px: self.size_px,
        }
    }

    /// Pixels at training resolution.
    fn pixels(&self) -> usize {
        usize::try_from(area(self.size_px)).unwrap_or(usize::MAX)
    }
}

fn area((width, height): (u32, u32)) -> u64 {
    u64::from(width) * u64::from(height)
}

/// A mask at its own size: 255 where a pixel counts, else 0. What is transparent does not count.
///
/// # Errors
/// [`SceneError`] when it is damaged, or no longer of the size that the index saw.
pub fn read_mask(file: &MaskFile) -> Result<Vec<u8>, SceneError> {
    let picture = decode(&file.path, file.size_px)?;
    let opaque = opacity(&picture, Alpha::Mask);
    let mut values = picture.into_luma8().into_raw();
    // label images hold 0 and 1
    let least = if values.iter().all(|value| *value <= 1) { 1 } else { 128 };
    for value in &mut values {
        *value = if *value >= least { u8::MAX } else { 0 };
    }
    for (value, opaque) in values.iter_mut().zip(opaque.iter().flatten()) {
        *value &= opaque;
    }
    Ok(values)
}

/// For [`Alpha::Mask`], what is at least half opaque: 255, else 0.
fn opacity(picture: &DynamicImage, alpha: Alpha) -> Option<Vec<u8>> {
    if alpha != Alpha::Mask || !picture.color().has_alpha() {
        return None;
    }
    let rgba = picture.to_rgba8();
    let opaque = rgba.pixels().map(|p| if p.0[3] >= 128 { u8::MAX } else { 0 });
    Some(opaque.collect())
}

/// Colours, blended over the background for [`Alpha::Composite`].
fn colours(picture: DynamicImage, alpha: Alpha, background: [f32; 3]) -> Vec<u8> {
    if alpha == Alpha::Ignore || !picture.color().has_alpha() {
        return picture.into_rgb8().into_raw();
    }
    let rgba = picture.into_rgba8().into_raw();
    match alpha {
        Alpha::Composite => composite(rgba, background),
        _ => drop_alpha(rgba),
    }
}

/// RGB of RGBA, in place.
fn drop_alpha(mut rgba: Vec<u8>) -> Vec<u8> {
    let pixels = rgba.len() / 4;
    for pixel in 0..pixels {
        rgba.copy_within(4 * pixel..4 * pixel + 3, 3 * pixel);
    }
    rgba.truncate(pixels * 3);
    rgba
}

/// Blends straight-alpha RGBA over a background and drops alpha, in place.
///
/// Computed in f64 and truncated to 8 bits, as the readers of NeRF-synthetic scenes do.
fn composite(mut rgba: Vec<u8>, background: [f32; 3]) -> Vec<u8> {
    let background = background.map(f64::from);
    let pixels = rgba.len() / 4;
    for pixel in 0..pixels {
        let alpha = f64::from(rgba[4 * pixel + 3]) / 255.0;
        for (channel, behind) in background.iter().enumerate() {
            let value = f64::from(rgba[4 * pixel + channel]) / 255.0;
            let blended = value * alpha + behind * (1.0 - alpha);
            // writes never overtake reads: 3 p + c <= 4 p + c
            rgba[3 * pixel + channel] = (blended * 255.0).clamp(0.0, 255.0) as u8;
        }
    }
    rgba.truncate(pixels * 3);
    rgba.shrink_to_fit();
    rgba
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alpha_splits_off_as_a_mask() {
        let rgba = image::RgbaImage::from_raw(3, 1, vec![1, 2, 3, 128, 4, 5, 6, 127, 7, 8, 9, 255]);
        let picture = DynamicImage::from(rgba.unwrap_or_default());
        let opaque = opacity(&picture, Alpha::Mask);
        let rgb = colours(picture, Alpha::Mask, [0.5; 3]);
        assert_eq!((rgb, opaque), ((1..10).collect(), Some(vec![255, 0, 255])));
    }

    #[test]
    fn compositing_truncates_like_the_reference() {
        // recorded with NumPy 2.4: uint8((c / 255 * a / 255 + bg * (1 - a / 255)) * 255)
        let rgba = vec![200, 100, 50, 255, 200, 100, 50, 128, 200, 100, 50, 0, 7, 77, 177, 3];
        assert_eq!(composite(rgba.clone(), [1.0; 3]), GOLDEN_WHITE);
        assert_eq!(composite(rgba, [0.0; 3]), GOLDEN_BLACK);
        for value in 0..=255 {
            assert_eq!(composite(vec![value, value, value, 255], [0.3; 3]), [value; 3]);
        }
    }

    const GOLDEN_WHITE: [u8; 12] = [200, 100, 50, 227, 177, 152, 255, 255, 255, 252, 252, 254];
    const GOLDEN_BLACK: [u8; 12] = [200, 100, 50, 100, 50, 25, 0, 0, 0, 0, 0, 2];
}
