//! From an image file to u8 RGB at training resolution.

use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::Path;

use image::{DynamicImage, ImageReader, Limits};

use super::resize::resize_rgb;
use super::{Alpha, SceneError, View};

/// What a decoder may need beside the picture itself, bytes.
const DECODER_SLACK_BYTES: u64 = 64 << 20;
/// Bytes a pixel may take inside a decoder: 16-bit RGBA, twice.
const DECODER_BYTES_PER_PIXEL: u64 = 16;
/// A file may not be larger than its decoded picture by more than this, bytes (colour profiles, metadata).
const FILE_SLACK_BYTES: u64 = 64 << 20;

/// Decodes a view's image: alpha over `background`, then resized, tightly packed RGB rows.
///
/// # Errors
/// [`SceneError`] naming the image when it is damaged or no longer has the size the index saw.
pub(super) fn load(view: &View, background: [f32; 3]) -> Result<Vec<u8>, SceneError> {
    let path = &view.image_path;
    let bad = |detail: String| SceneError::Image {
        path: path.clone(),
        detail,
    };
    let (width, height) = view.upright.file_px;
    let pixels = u64::from(width) * u64::from(height);
    let bytes = read_file(path, pixels)?;
    let mut reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|e| SceneError::io(path, "read", e))?;
    let mut limits = Limits::default();
    (limits.max_image_width, limits.max_image_height) = (Some(width), Some(height));
    limits.max_alloc = Some(pixels * DECODER_BYTES_PER_PIXEL + DECODER_SLACK_BYTES);
    reader.limits(limits);
    let mut picture = reader.decode().map_err(|e| bad(e.to_string()))?;
    if (picture.width(), picture.height()) != (width, height) {
        let now = format!("{}x{}", picture.width(), picture.height());
        return Err(bad(format!(
            "it is {now} now but was {width}x{height} when the scene was read"
        )));
    }
    view.upright.turn(&mut picture);
    let rgb = view.upright.undistort::<3>(to_rgb(picture, view.alpha, background));
    let source = (view.source_width, view.source_height);
    let to = (view.camera.width_px, view.camera.height_px);
    if to == source {
        return Ok(rgb);
    }
    resize_rgb(&rgb, source, to).ok_or_else(|| bad(format!("it cannot be resized to {to:?}")))
}

/// The most memory [`load`] needs at once for this view, bytes.
pub(super) fn working_bytes(view: &View) -> u64 {
    let area = |(width, height): (u32, u32)| u64::from(width) * u64::from(height);
    let source = area((view.source_width, view.source_height));
    // turning and undistorting hold the picture twice
    let upright = match view.upright.is_nothing() {
        true => 0,
        false => area(view.upright.file_px) * 8 + source * 3,
    };
    let between = u64::from(view.camera.width_px) * u64::from(view.source_height);
    // the file and its picture with alpha, then the picture, the half-resized one and the result
    (area(view.upright.file_px) * 8)
        .max(source * 3 + between * 3 + 2 * view.rgb_bytes())
        .max(upright)
}

/// Reads a whole file that should hold a picture of so many pixels.
fn read_file(path: &Path, pixels: u64) -> Result<Vec<u8>, SceneError> {
    let io = |action| move |e| SceneError::io(path, action, e);
    let file = File::open(path).map_err(io("open"))?;
    let size = file.metadata().map_err(io("inspect"))?.len();
    let limit = pixels * DECODER_BYTES_PER_PIXEL + FILE_SLACK_BYTES;
    if size > limit {
        return Err(SceneError::TooLarge {
            path: path.to_owned(),
            bytes: size,
            limit,
        });
    }
    let mut bytes = Vec::with_capacity(size as usize);
    BufReader::new(file)
        .take(limit)
        .read_to_end(&mut bytes)
        .map_err(io("read"))?;
    Ok(bytes)
}

fn to_rgb(picture: DynamicImage, alpha: Alpha, background: [f32; 3]) -> Vec<u8> {
    if alpha == Alpha::Ignore || !picture.color().has_alpha() {
        return picture.into_rgb8().into_raw();
    }
    composite(picture.into_rgba8().into_raw(), background)
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
