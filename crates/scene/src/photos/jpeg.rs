//! JPEG files, decoded strictly.
//!
//! A file that ends early, or whose picture data stops making sense, is an error here: decoders made for showing pictures
//! fill the rest with grey, which a trainer would learn.

use image::{DynamicImage, GrayImage, RgbImage};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// The start of every JPEG file: a marker and the first byte of the next.
const START: [u8; 3] = [0xff, 0xd8, 0xff];
/// The marker at the end of the picture.
const END: [u8; 2] = [0xff, 0xd9];
/// The marker before picture data.
const SCAN: u8 = 0xda;

/// True for the bytes of a JPEG file.
pub(crate) fn is_jpeg(bytes: &[u8]) -> bool {
    bytes.starts_with(&START)
}

/// The picture of a JPEG file of at most this many pixels a side: grey where the file is grey, else RGB.
///
/// # Errors
/// What is wrong with the file, for people.
pub(crate) fn decode(bytes: &[u8], most_px: (u32, u32)) -> Result<DynamicImage, String> {
    if !has_end(bytes) {
        return Err("the file ends before its picture does; copy it again".to_owned());
    }
    let options = DecoderOptions::default()
        .set_strict_mode(true)
        .set_max_width(most_px.0 as usize)
        .set_max_height(most_px.1 as usize);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    let wrong = |error: zune_jpeg::errors::DecodeErrors| error.to_string();
    decoder.decode_headers().map_err(wrong)?;
    let colors = match decoder.input_colorspace() {
        Some(ColorSpace::Luma) => ColorSpace::Luma,
        _ => ColorSpace::RGB,
    };
    decoder.set_options(options.jpeg_set_out_colorspace(colors));
    let (width, height) = decoder.dimensions().ok_or("it has no frame header")?;
    let side = |side: usize| u32::try_from(side).unwrap_or(u32::MAX);
    let (width, height) = (side(width), side(height));
    let pixels = decoder.decode().map_err(wrong)?;
    let picture = match colors {
        ColorSpace::Luma => GrayImage::from_raw(width, height, pixels).map(DynamicImage::from),
        _ => RgbImage::from_raw(width, height, pixels).map(DynamicImage::from),
    };
    picture.ok_or_else(|| "its picture data is shorter than its size".to_owned())
}

/// True when an end marker follows the first picture data. Thumbnails have their own, in the segments before.
fn has_end(bytes: &[u8]) -> bool {
    let mut at = 2;
    loop {
        let Some(rest) = bytes.get(at..) else { return false };
        match rest {
            // fill bytes, and markers without content
            [0xff, 0xff, ..] => at += 1,
            [0xff, 0x01 | 0xd0..=0xd7, ..] => at += 2,
            [0xff, SCAN, data @ ..] => return data.windows(2).any(|pair| pair == END),
            [0xff, _, high, low, ..] => at += 2 + usize::from(u16::from_be_bytes([*high, *low])).max(2),
            // bytes that belong to no segment are passed over, as decoders do
            [_, _, _, _, ..] => at += 1,
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scratch::jpeg_with_orientation;

    const MOST: (u32, u32) = (4096, 4096);

    #[test]
    fn whole_files_decode_as_everywhere() {
        for tag in [0, 6] {
            let bytes = jpeg_with_orientation(64, 48, tag);
            assert!(is_jpeg(&bytes));
            let strict = decode(&bytes, MOST).unwrap();
            assert_eq!(strict, image::load_from_memory(&bytes).unwrap());
        }
        let mut grey = Vec::new();
        let encoder = image::codecs::jpeg::JpegEncoder::new(&mut grey);
        let pixels: Vec<u8> = (0..64 * 48).map(|n| (n % 251) as u8).collect();
        image::ImageEncoder::write_image(encoder, &pixels, 64, 48, image::ExtendedColorType::L8).unwrap();
        let strict = decode(&grey, MOST).unwrap();
        assert_eq!(strict, image::load_from_memory(&grey).unwrap());
        assert!(decode(&grey, (32, 48)).is_err());
    }

    /// Wherever a file is cut, and with zeros where its rest should be, as copies that were interrupted have them.
    #[test]
    fn cut_files_are_errors() {
        let whole = jpeg_with_orientation(64, 48, 6);
        for kept in (3..whole.len()).step_by(7).chain([whole.len() - 1, whole.len() - 2]) {
            assert!(decode(&whole[..kept], MOST).is_err(), "{kept} of {} bytes", whole.len());
            let mut zeroed = whole.clone();
            zeroed[kept..].fill(0);
            assert!(
                decode(&zeroed, MOST).is_err(),
                "{kept} of {} bytes, then zeros",
                whole.len()
            );
        }
    }

    #[test]
    fn a_thumbnail_is_not_the_picture() {
        let whole = jpeg_with_orientation(64, 48, 0);
        let thumbnail = jpeg_with_orientation(8, 8, 0);
        let length = (thumbnail.len() as u16 + 2).to_be_bytes();
        let segment = [&[0xff, 0xe2][..], &length, &thumbnail].concat();
        let mut bytes = whole.clone();
        bytes.splice(2..2, segment);
        assert!(decode(&bytes, MOST).is_ok());
        let cut = bytes.len() - 20;
        assert!(decode(&bytes[..cut], MOST).is_err());
    }
}
