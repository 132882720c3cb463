//! Image sizes from file headers, without decoding.

use std::io;
use std::path::{Path, PathBuf};

use image::{ImageError, ImageReader};

use super::SceneError;
use super::resolution::MAX_SIDE_PX;

/// Most pixels an image may have: 2^28, a gigabyte as RGBA.
const MAX_PIXELS: u64 = 1 << 28;
/// Header reads wait on the disk, so a few more threads than cores pay.
const THREADS: usize = 8;

/// What a header said: the size in pixels, or `None` when there is no such file.
pub(super) type Size = Option<(u32, u32)>;

/// Sizes of many files, read by a few threads; the result has the order of `paths`.
pub(super) fn sizes(paths: &[PathBuf]) -> Result<Vec<Size>, SceneError> {
    let share = paths.len().div_ceil(THREADS).max(1);
    let parts: Vec<Result<Vec<Size>, SceneError>> = std::thread::scope(|scope| {
        let threads: Vec<_> = paths
            .chunks(share)
            .map(|part| scope.spawn(move || part.iter().map(|path| size(path)).collect()))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err(decoder_panic(paths))))
            .collect()
    });
    let mut sizes = Vec::with_capacity(paths.len());
    for part in parts {
        sizes.extend(part?);
    }
    Ok(sizes)
}

fn decoder_panic(paths: &[PathBuf]) -> SceneError {
    let path = paths.first().cloned().unwrap_or_default();
    SceneError::Image {
        path,
        detail: "the decoder failed on the header of this image or one after it".to_owned(),
    }
}

fn size(path: &Path) -> Result<Size, SceneError> {
    let bad = |detail: String| SceneError::Image {
        path: path.to_owned(),
        detail,
    };
    let reader = match ImageReader::open(path) {
        Ok(reader) => reader,
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(e) => return Err(SceneError::io(path, "open", e)),
    };
    // formats are known by content: a JPEG named .png is common and harmless
    let reader = reader
        .with_guessed_format()
        .map_err(|e| SceneError::io(path, "read", e))?;
    let (width, height) = reader.into_dimensions().map_err(|e| match e {
        ImageError::IoError(e) => bad(format!("the header is cut short ({e})")),
        e => bad(e.to_string()),
    })?;
    let sides = 1..=MAX_SIDE_PX;
    let pixels = u64::from(width) * u64::from(height);
    if !sides.contains(&width) || !sides.contains(&height) || pixels > MAX_PIXELS {
        return Err(bad(format!(
            "its size of {width}x{height} pixels is outside 1..={MAX_SIDE_PX} or above 2^28 pixels"
        )));
    }
    Ok(Some((width, height)))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::super::scratch::Scratch;
    use super::*;

    #[test]
    fn sizes_keep_their_order_and_missing_files_are_none() {
        let folder = Scratch::new();
        let mut paths: Vec<PathBuf> = (1..30)
            .map(|n| folder.write_png(&format!("{n}.png"), n, 2, 3, &vec![0; n as usize * 6]))
            .collect();
        paths.push(folder.path().join("absent.png"));
        let sizes = sizes(&paths).unwrap();
        assert!((1..30).all(|n| sizes[n as usize - 1] == Some((n, 2))));
        assert_eq!(sizes[29], None);
        assert_eq!(super::sizes(&[]).unwrap(), []);
    }

    #[test]
    fn broken_headers_name_the_file() {
        let folder = Scratch::new();
        for bytes in [&b"not an image"[..], b"", b"\x89PNG\r\n\x1a\n\0\0"] {
            let path = folder.write("broken.png", bytes);
            let message = sizes(&[path]).unwrap_err().to_string();
            assert!(message.contains("broken.png"), "{message}");
        }
    }

    /// Nothing is allocated for a picture whose header claims more pixels than any camera has.
    #[test]
    fn bombs_are_refused_by_their_header() {
        let folder = Scratch::new();
        let path = folder.write_png("bomb.png", 4, 4, 3, &[0; 48]);
        let mut bytes = std::fs::read(&path).unwrap();
        for (width, height) in [(100_000_u32, 100_000_u32), (65_000, 65_000), (u32::MAX >> 1, 1)] {
            bytes[16..20].copy_from_slice(&width.to_be_bytes());
            bytes[20..24].copy_from_slice(&height.to_be_bytes());
            let crc = crc32(&bytes[12..29]);
            bytes[29..33].copy_from_slice(&crc.to_be_bytes());
            std::fs::write(&path, &bytes).unwrap();
            let message = sizes(std::slice::from_ref(&path)).unwrap_err().to_string();
            assert!(message.contains("bomb.png"), "{message}");
        }
    }

    /// The checksum of a PNG chunk.
    fn crc32(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(u32::MAX, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
                (crc >> 1) ^ (0xedb8_8320 & 0_u32.wrapping_sub(crc & 1))
            })
        })
    }
}
