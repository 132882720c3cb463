//! Images, read.

use std::io::Cursor;

use image_webp::WebPDecoder;

use super::Error;
use super::webp::Pixel;

/// Pixels that are read however few bytes code them,
const FREE_PIXELS: u64 = 1 << 20;
/// and how many more for each byte: one value all over takes next to none.
const PIXELS_A_BYTE: u64 = 1 << 12;

/// An image in memory.
pub(crate) struct Image {
    pub(crate) width: usize,
    /// Row after row.
    pub(crate) pixels: Vec<Pixel>,
}

/// Reads a WebP image of at most `most` pixels.
///
/// # Errors
/// [`Error::Damaged`] when it is no such image, or announces more pixels than its bytes can mean.
pub(crate) fn decode(bytes: &[u8], most: u64) -> Result<Image, Error> {
    if !(bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP")) {
        return Err(Error::damaged("it is no WebP image"));
    }
    let damaged = |e: image_webp::DecodingError| Error::damaged(e.to_string());
    let mut decoder = WebPDecoder::new(Cursor::new(bytes)).map_err(damaged)?;
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    let most = most.min(FREE_PIXELS + PIXELS_A_BYTE * bytes.len() as u64);
    if pixels > most {
        return Err(Error::damaged(format!(
            "an image of {width} x {height} pixels is larger than what it can hold"
        )));
    }
    if decoder.is_animated() || decoder.is_lossy() {
        return Err(Error::damaged(
            "an image is not lossless, so that its values are not those that were written",
        ));
    }
    let channels = if decoder.has_alpha() { 4 } else { 3 };
    let mut values = vec![0; pixels as usize * channels];
    decoder.read_image(&mut values).map_err(damaged)?;
    let pixels = match channels {
        4 => values.as_chunks::<4>().0.to_vec(),
        _ => values
            .as_chunks::<3>()
            .0
            .iter()
            .map(|&[r, g, b]| [r, g, b, 255])
            .collect(),
    };
    Ok(Image {
        width: width as usize,
        pixels,
    })
}
