//! A folder for one test, removed when the test ends.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A fresh folder under the system's temporary folder.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        let name = format!(
            "kiln-test-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file, making its folders.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Writes a PNG of RGB (3) or RGBA (4) pixels.
    pub(crate) fn write_png(&self, name: &str, width: u32, height: u32, channels: u32, pixels: &[u8]) -> PathBuf {
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
