//! Picture files, decoded whole or not at all, in memory that their size justifies.

use std::io::{BufReader, Cursor, Read};
use std::path::Path;

use image::{DynamicImage, ImageReader, Limits};
use kiln_files::open_regular;

use super::{display, exr, header, jpeg, room};
use crate::SceneError;

/// What a decoder may need beside the picture itself, bytes.
const DECODER_SLACK_BYTES: u64 = 64 << 20;
/// Bytes a pixel may take inside a decoder: 16-bit RGBA, twice.
const DECODER_BYTES_PER_PIXEL: u64 = 16;
/// A file may not be larger than its decoded picture by more than this, bytes (colour profiles, metadata).
const FILE_SLACK_BYTES: u64 = 64 << 20;

/// A picture of 8 bits a channel that must have `size_px`.
pub(crate) fn decode(path: &Path, size_px: (u32, u32)) -> Result<DynamicImage, SceneError> {
    let bad = |detail: String| SceneError::Image {
        path: path.to_owned(),
        detail,
    };
    let bytes = read_file(path, area(size_px))?;
    let picture = if jpeg::is_jpeg(&bytes) {
        // its decoder has no limit but that of the sides
        room::check(bytes.len() as u64, size_px, header::JPEG_BYTES).map_err(bad)?;
        jpeg::decode(&bytes, size_px).map_err(bad)?
    } else if exr::is_exr(&bytes) {
        exr::decode(&bytes, size_px).map_err(bad)?
    } else if is_cut_webp(&bytes) {
        return Err(bad("the file ends before its picture does; copy it again".to_owned()));
    } else {
        decode_other(path, bytes, size_px)?
    };
    if (picture.width(), picture.height()) != size_px {
        let (now, was) = ((picture.width(), picture.height()), size_px);
        return Err(bad(format!(
            "it is {}x{} now but was {}x{} when the scene was read",
            now.0, now.1, was.0, was.1
        )));
    }
    Ok(display::to_8_bits(picture))
}

/// True for the start of a WebP file that is longer, by its own account, than what is there; its decoder makes up the rest.
fn is_cut_webp(bytes: &[u8]) -> bool {
    match bytes {
        [b'R', b'I', b'F', b'F', a, b, c, d, rest @ ..] if rest.starts_with(b"WEBP") => {
            u64::from(u32::from_le_bytes([*a, *b, *c, *d])) > rest.len() as u64
        }
        _ => false,
    }
}

/// A picture of a format other than those.
pub(crate) fn decode_other(path: &Path, bytes: Vec<u8>, size_px: (u32, u32)) -> Result<DynamicImage, SceneError> {
    let file_bytes = bytes.len() as u64;
    let mut reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|e| SceneError::io(path, "read", e))?;
    let mut limits = Limits::default();
    (limits.max_image_width, limits.max_image_height) = (Some(size_px.0), Some(size_px.1));
    let most = area(size_px) * DECODER_BYTES_PER_PIXEL + DECODER_SLACK_BYTES;
    limits.max_alloc = Some(most.min(room::room(file_bytes)));
    reader.limits(limits);
    reader.decode().map_err(|e| SceneError::Image {
        path: path.to_owned(),
        detail: e.to_string(),
    })
}

/// Reads a whole file that should hold a picture of so many pixels.
pub(crate) fn read_file(path: &Path, pixels: u64) -> Result<Vec<u8>, SceneError> {
    let io = |action| move |e| SceneError::io(path, action, e);
    let file = open_regular(path).map_err(io("open"))?;
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

fn area((width, height): (u32, u32)) -> u64 {
    u64::from(width) * u64::from(height)
}
