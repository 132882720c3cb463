//! Pictures as PNG files.

use std::io;
use std::path::Path;

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder as _};
use kiln::export::{AtomicFile, ExportError, write_atomic};

/// Writes a picture of a size and a kind of pixels, with EXIF if there is any.
pub(super) fn png(
    path: &Path,
    bytes: &[u8],
    ([width, height], color): ([u32; 2], ExtendedColorType),
    exif: Option<Vec<u8>>,
) -> Result<(), ExportError> {
    write_atomic(path, |out: &mut AtomicFile| {
        let mut encoder = PngEncoder::new_with_quality(out, CompressionType::Fast, FilterType::Adaptive);
        if let Some(exif) = exif {
            encoder.set_exif_metadata(exif).map_err(io::Error::other)?;
        }
        encoder
            .write_image(bytes, width, height, color)
            .map_err(io::Error::other)
    })
}
