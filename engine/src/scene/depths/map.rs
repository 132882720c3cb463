//! One plane of numbers out of a depth map's file.
//!
//! Grey PNG and TIFF files of 8 and 16 bits, as shares of their range; OpenEXR, of channel `Z`, `depth.Z`, `Y`, `R` or `V`, or the only
//! one; NumPy arrays. What is not finite, and 0, is no depth.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use image::DynamicImage;

use super::npy;
use crate::scene::SceneError;
use crate::scene::fence::Fence;
use crate::scene::photos::{exr, header, pixels};

/// Endings of depth maps, in the order they are looked for.
pub(super) const ENDINGS: [&str; 5] = ["png", "exr", "npy", "tif", "tiff"];
/// Channels that hold depths, in the order they are looked for.
const CHANNELS: [&str; 5] = ["Z", "depth.Z", "Y", "R", "V"];
/// Bytes of a NumPy array's start that its header is looked for in.
const START_BYTES: u64 = 1 << 17;
/// Bytes of a map's pixel while it is decoded: file, decoder and numbers.
pub(in crate::scene) const WORKING_BYTES_PER_PIXEL: u64 = 28;

/// Width and height of a file, pixels.
pub(super) fn size(path: &Path, fence: &Fence) -> Result<(u32, u32), SceneError> {
    if is_npy(path) {
        fence.check(path)?;
        let mut start = Vec::new();
        let file = File::open(path).map_err(|e| SceneError::io(path, "open", e))?;
        let read = file.take(START_BYTES).read_to_end(&mut start);
        read.map_err(|e| SceneError::io(path, "read", e))?;
        let size_px = npy::Header::read(&start).map_err(|detail| bad(path, detail))?.size_px;
        return match header::is_possible(size_px) {
            true => Ok(size_px),
            false => Err(bad(
                path,
                format!("its size of {}x{} is that of no photo", size_px.0, size_px.1),
            )),
        };
    }
    let found = header::read_all(&[PathBuf::from(path)], fence)?.pop();
    match found {
        Some(Ok(Some(header))) => Ok((header.width, header.height)),
        Some(Err(error)) => Err(error),
        Some(Ok(None)) | None => Err(bad(path, "it is gone".to_owned())),
    }
}

/// The numbers of a file that must have this size.
pub(super) fn values(path: &Path, size_px: (u32, u32)) -> Result<Vec<f32>, SceneError> {
    let pixels = u64::from(size_px.0) * u64::from(size_px.1);
    let bytes = pixels::read_file(path, pixels)?;
    let mut values = if is_npy(path) {
        let header = npy::Header::read(&bytes).map_err(|detail| bad(path, detail))?;
        header.values(&bytes).map_err(|detail| bad(path, detail))?
    } else if exr::is_exr(&bytes) {
        exr::plane(&bytes, size_px, &CHANNELS).map_err(|detail| bad(path, detail))?
    } else {
        let share = |value: u16| f32::from(value) / 65_536.0;
        match pixels::decode_other(path, bytes, size_px)? {
            DynamicImage::ImageLuma8(grey) => grey.into_raw().into_iter().map(|v| f32::from(v) / 256.0).collect(),
            DynamicImage::ImageRgb8(rgb) => rgb.pixels().map(|pixel| f32::from(pixel.0[0]) / 256.0).collect(),
            DynamicImage::ImageLuma16(grey) => grey.into_raw().into_iter().map(share).collect(),
            DynamicImage::ImageRgb16(rgb) => rgb.pixels().map(|pixel| share(pixel.0[0])).collect(),
            other => {
                let found = format!("its pixels are {:?}; depth maps have one channel", other.color());
                return Err(bad(path, found));
            }
        }
    };
    if values.len() as u64 != pixels {
        return Err(bad(path, "its size is another than when the scene was read".to_owned()));
    }
    for value in &mut values {
        *value = if value.is_finite() { *value } else { 0.0 };
    }
    Ok(values)
}

fn is_npy(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("npy"))
}

fn bad(path: &Path, detail: String) -> SceneError {
    SceneError::DepthMap {
        path: path.to_owned(),
        detail,
    }
}
