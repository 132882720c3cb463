//! Numbers out of a map's file.
//!
//! PNG and TIFF files of 8 and 16 bits and of floating-point values, OpenEXR and NumPy arrays, with one number a pixel or three.
//! What is not finite is 0.

use std::path::{Path, PathBuf};

use image::DynamicImage;
use kiln_files::read_start;

use super::{MapKind, npy};
use crate::SceneError;
use crate::fence::Fence;
use crate::photos::{decode, exr, header};

/// Channels that hold depths, in the order they are looked for.
const DEPTH_CHANNELS: [&str; 5] = ["Z", "depth.Z", "Y", "R", "V"];
/// Channels that hold normals, likewise.
const NORMAL_CHANNELS: [[&str; 3]; 4] = [
    ["R", "G", "B"],
    ["X", "Y", "Z"],
    ["N.X", "N.Y", "N.Z"],
    ["normal.X", "normal.Y", "normal.Z"],
];
/// Bytes of a NumPy array's start that its header is looked for in.
const START_BYTES: u64 = 1 << 17;

/// The numbers of a file.
pub(crate) struct Numbers {
    /// Pixel by pixel, row by row, those of a pixel together. Of pictures of depth they are shares of their range.
    pub(crate) values: Vec<f32>,
    /// The largest number of the type, where it holds whole ones.
    pub(crate) most: Option<f32>,
    /// What a value of 1 is in the file: 256 in pictures of depth with 8 bits and 65 536 with 16, else 1.
    pub(crate) one: f32,
}

/// Width and height of a file, pixels.
pub(super) fn size(kind: MapKind, path: &Path, fence: &Fence) -> Result<(u32, u32), SceneError> {
    if is_npy(path) {
        fence.check(path)?;
        let start = read_start(path, START_BYTES).map_err(|e| SceneError::io(path, "read", e))?;
        let header =
            npy::Header::read(&start, kind.channels()).map_err(|detail| SceneError::map(kind, path, detail))?;
        let size_px = header.size_px;
        return match header::is_possible(size_px) {
            true => Ok(size_px),
            false => Err(SceneError::map(
                kind,
                path,
                format!("its size of {}x{} is that of no photo", size_px.0, size_px.1),
            )),
        };
    }
    let found = header::read_all(&[PathBuf::from(path)], fence)?.pop();
    match found {
        Some(Ok(Some(header))) => Ok((header.width, header.height)),
        Some(Err(error)) => Err(error),
        Some(Ok(None)) | None => Err(SceneError::map(kind, path, "it is gone".to_owned())),
    }
}

/// The numbers of a file that must have this size, one a pixel or three.
pub(crate) fn numbers(kind: MapKind, path: &Path, size_px: (u32, u32)) -> Result<Numbers, SceneError> {
    let pixels = u64::from(size_px.0) * u64::from(size_px.1);
    let bytes = decode::read_file(path, pixels)?;
    let bad = |detail: String| SceneError::map(kind, path, detail);
    let mut found = if is_npy(path) {
        let header = npy::Header::read(&bytes, kind.channels()).map_err(bad)?;
        Numbers {
            values: header.values(&bytes).map_err(bad)?,
            most: header.most(),
            one: 1.0,
        }
    } else if exr::is_exr(&bytes) {
        let values = match kind {
            MapKind::Depth => exr::plane(&bytes, size_px, &DEPTH_CHANNELS),
            MapKind::Normal => exr::triples(&bytes, size_px, &NORMAL_CHANNELS),
        };
        Numbers {
            values: values.map_err(bad)?,
            most: None,
            one: 1.0,
        }
    } else {
        let picture = decode::decode_other(path, bytes, size_px)?;
        match kind {
            MapKind::Depth => grey(picture),
            MapKind::Normal => colors(picture),
        }
        .map_err(bad)?
    };
    if found.values.len() as u64 != u64::from(kind.channels()) * pixels {
        return Err(bad("its size is another than when the scene was read".to_owned()));
    }
    for value in &mut found.values {
        *value = if value.is_finite() { *value } else { 0.0 };
    }
    Ok(found)
}

fn whole<T: Into<f32>>(values: Vec<T>, most: f32) -> Numbers {
    Numbers {
        values: values.into_iter().map(Into::into).collect(),
        most: Some(most),
        one: 1.0,
    }
}

/// One number a pixel.
fn grey(picture: DynamicImage) -> Result<Numbers, String> {
    let (stored, one): (Vec<f32>, f32) = match picture {
        DynamicImage::ImageLuma8(grey) => (grey.into_raw().into_iter().map(f32::from).collect(), 256.0),
        DynamicImage::ImageRgb8(rgb) => (rgb.pixels().map(|pixel| f32::from(pixel.0[0])).collect(), 256.0),
        DynamicImage::ImageLuma16(grey) => (grey.into_raw().into_iter().map(f32::from).collect(), 65_536.0),
        DynamicImage::ImageRgb16(rgb) => (rgb.pixels().map(|pixel| f32::from(pixel.0[0])).collect(), 65_536.0),
        other => {
            return Err(format!(
                "its pixels are {:?}; depth maps have one channel",
                other.color()
            ));
        }
    };
    Ok(Numbers {
        values: stored.into_iter().map(|value| value / one).collect(),
        most: None,
        one,
    })
}

/// Three numbers a pixel; transparent ones are black.
fn colors(picture: DynamicImage) -> Result<Numbers, String> {
    Ok(match picture {
        DynamicImage::ImageRgb8(rgb) => whole(rgb.into_raw(), 255.0),
        DynamicImage::ImageRgb16(rgb) => whole(rgb.into_raw(), 65_535.0),
        DynamicImage::ImageRgba8(rgba) => {
            let shown = |p: &image::Rgba<u8>| [p.0[0], p.0[1], p.0[2]].map(|v| if p.0[3] >= 128 { v } else { 0 });
            whole(rgba.pixels().flat_map(shown).collect(), 255.0)
        }
        DynamicImage::ImageRgba16(rgba) => {
            let shown = |p: &image::Rgba<u16>| [p.0[0], p.0[1], p.0[2]].map(|v| if p.0[3] >= 32_768 { v } else { 0 });
            whole(rgba.pixels().flat_map(shown).collect(), 65_535.0)
        }
        DynamicImage::ImageRgb32F(rgb) => Numbers {
            values: rgb.into_raw(),
            most: None,
            one: 1.0,
        },
        other => {
            return Err(format!(
                "its pixels are {:?}; normal maps have three channels",
                other.color()
            ));
        }
    })
}

fn is_npy(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("npy"))
}
