//! The normal map of a view, as the device reads it.

use super::axes::Axes;
use crate::SceneError;
use crate::maps::{MapFile, MapKind, Numbers, Over, numbers};
use crate::math::{norm, scale};

/// Lengths of what is a normal, before it is made 1. Black and white are none, and neither is grey.
const LENGTHS: [f32; 2] = [0.5, 1.5];
/// How far the length of a unit vector may be from 1 in a file.
const UNIT: f32 = 0.1;

/// The normal map of a view.
#[derive(Clone, Debug, PartialEq)]
pub struct NormalMap {
    /// Its files.
    pub map: MapFile,
    /// What its values are in.
    pub axes: Axes,
}

impl NormalMap {
    /// A word for each pixel of a photo at training resolution, see [`word`].
    pub(crate) fn words(&self, over: &Over<'_>) -> Result<Vec<u32>, SceneError> {
        let normals = self.normals(over)?;
        let trust = self.map.trust(over)?;
        let trust_of = |at: usize| trust.as_ref().map_or(u8::MAX, |trust| trust[at]);
        let words = normals
            .iter()
            .enumerate()
            .map(|(at, normal)| word(*normal, trust_of(at)));
        Ok(words.collect())
    }

    /// The normal of each pixel of a photo at training resolution: of length 1 in the camera's axes, x to the right, y down, z into
    /// the scene; 0 for none.
    pub(super) fn normals(&self, over: &Over<'_>) -> Result<Vec<[f32; 3]>, SceneError> {
        let file = &self.map.file;
        let found = numbers(MapKind::Normal, &file.path, file.size_px)?;
        let vectors = vectors(&found).map_err(|why| SceneError::map(MapKind::Normal, &file.path, why))?;
        let signs = self.axes.signs();
        let upright = |v: [f32; 3]| {
            let [x, y] = over.upright.turned_direction([signs[0] * v[0], signs[1] * v[1]]);
            [x, y, signs[2] * v[2]]
        };
        let vectors = vectors.into_iter().map(upright).collect();
        Ok(over.lay(vectors, file.size_px))
    }
}

/// What a file says of each pixel, of length 1 or 0.
fn vectors(found: &Numbers) -> Result<Vec<[f32; 3]>, String> {
    let (pixels, _) = found.values.as_chunks::<3>();
    let decoded = |pixel: &[f32; 3]| match found.most {
        Some(most) => pixel.map(|v| 2.0 * v / most - 1.0),
        None => *pixel,
    };
    let is_unit = |v: [f32; 3]| (norm(v) - 1.0).abs() < UNIT;
    if found.most.is_none() && found.values.iter().all(|v| *v >= 0.0) {
        let as_they_are = pixels.iter().filter(|v| is_unit(**v)).count();
        let encoded = pixels.iter().filter(|v| is_unit(v.map(|v| 2.0 * v - 1.0))).count();
        if encoded > as_they_are {
            return Err(
                "its numbers are (n + 1) / 2, which only pictures of whole numbers hold; save n, from -1 to 1"
                    .to_owned(),
            );
        }
    }
    let unit = |pixel: &[f32; 3]| {
        let v = decoded(pixel);
        let length = norm(v);
        match (LENGTHS[0]..=LENGTHS[1]).contains(&length) {
            true => scale(v, 1.0 / length),
            false => [0.0; 3],
        }
    };
    Ok(pixels.iter().map(unit).collect())
}

/// What the device reads of a pixel: the normal's x, y and z in 1/127, signed bytes from the lowest on, and above them how far it is
/// trusted, 0 to 255; 0 for nothing.
fn word(normal: [f32; 3], trust: u8) -> u32 {
    if normal == [0.0; 3] {
        return 0;
    }
    let [x, y, z] = normal.map(|v| ((127.0 * v).round() as i8).cast_unsigned());
    u32::from_le_bytes([x, y, z, trust])
}
