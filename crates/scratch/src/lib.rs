//! A folder for one test, removed when the test ends, and small pictures in it.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
#![allow(clippy::missing_panics_doc, reason = "see `Scratch::new`")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A fresh folder under the system's temporary folder.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    ///
    /// # Panics
    /// When it cannot be made, as all functions here do: a test that cannot write has nothing to say.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it makes a folder")]
    pub fn new() -> Self {
        let name = format!(
            "kiln-test-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file, making its folders.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Writes a PNG of RGB (3) or RGBA (4) pixels.
    pub fn write_png(&self, name: &str, width: u32, height: u32, channels: u32, pixels: &[u8]) -> PathBuf {
        let path = self.write(name, []);
        let color = if channels == 4 {
            image::ColorType::Rgba8
        } else {
            image::ColorType::Rgb8
        };
        image::save_buffer(&path, pixels, width, height, color).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // a folder left behind must not hide the failure that the test is reporting
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// A grey JPEG of this size with an EXIF orientation; 0 writes no tag.
#[must_use]
pub fn jpeg_with_orientation(width: u32, height: u32, orientation: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    let pixels: Vec<u8> = (0..height)
        .flat_map(|y| {
            (0..width).flat_map(move |x| [if x < width / 2 { 20 } else { 220 }, (y * 255 / height) as u8, 90])
        })
        .collect();
    let encoder = image::codecs::jpeg::JpegEncoder::new_with_quality(&mut bytes, 95);
    image::ImageEncoder::write_image(encoder, &pixels, width, height, image::ExtendedColorType::Rgb8).unwrap();
    if orientation > 0 {
        // little-endian TIFF header, one directory with one entry: tag 0x112, a short, once
        let mut exif = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0".to_vec();
        exif.extend([orientation as u8, 0, 0, 0, 0, 0, 0, 0]);
        let length = (exif.len() as u16 + 2).to_be_bytes();
        let segment = [&[0xff, 0xe1][..], &length, &exif].concat();
        bytes.splice(2..2, segment);
    }
    bytes
}
