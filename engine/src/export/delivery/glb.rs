//! GLB (binary glTF 2.0) with the extension `KHR_gaussian_splatting`, kernel `ellipse`.
//!
//! One mesh of points, an accessor for every attribute, one after the other in the binary chunk: positions, unit rotations
//! (x, y, z, w), scales (linear, as the extension has them since its release candidate), opacities from 0 to 1 and the SH
//! coefficients as 32-bit floats, of which nothing is rounded; and colours in four bytes for viewers that know no splats and
//! draw points. Axes are those of glTF (y up).

use std::io::{self, Write};
use std::path::Path;

use kiln_formats::glb::{FLOAT, UNSIGNED_BYTE};
use kiln_formats::sog::Splats;
use serde_json::{Value, json};

use super::super::PlyComments;
use super::quantize::{bounds, byte};
use super::stop::File;
use super::{DeliveryError, axes};
use kiln_twins::sh::SH_C0;

/// Most bytes of a document that are read.
pub(super) const MAX_JSON_BYTES: u64 = 8 << 20;
const MAGIC: u32 = 0x4654_6c67;
pub(super) const JSON_CHUNK: u32 = 0x4e4f_534a;
pub(super) const BINARY_CHUNK: u32 = 0x004e_4942;
/// glTF's number for vertex attributes.
const ARRAY_BUFFER: u32 = 34_962;

/// The attributes in the order of the binary chunk.
#[derive(Clone, Copy)]
enum Attribute {
    Position,
    /// Linear colour from the front, and opacity.
    Color,
    Rotation,
    Scale,
    Opacity,
    /// Degree, order from the first of the degree, and place among all coefficients.
    Sh(u32, u32, usize),
}

impl Attribute {
    fn all(sh_degree: u32) -> Vec<Self> {
        let mut all = vec![Self::Position, Self::Color, Self::Rotation, Self::Scale, Self::Opacity];
        for degree in 0..=sh_degree {
            for order in 0..2 * degree + 1 {
                all.push(Self::Sh(degree, order, (degree * degree + order) as usize));
            }
        }
        all
    }

    fn name(self) -> String {
        match self {
            Self::Position => "POSITION".to_owned(),
            Self::Color => "COLOR_0".to_owned(),
            Self::Rotation => "KHR_gaussian_splatting:ROTATION".to_owned(),
            Self::Scale => "KHR_gaussian_splatting:SCALE".to_owned(),
            Self::Opacity => "KHR_gaussian_splatting:OPACITY".to_owned(),
            Self::Sh(degree, order, _) => format!("KHR_gaussian_splatting:SH_DEGREE_{degree}_COEF_{order}"),
        }
    }

    /// glTF's word for the shape, and its bytes.
    const fn shape(self) -> (&'static str, usize) {
        match self {
            Self::Opacity => ("SCALAR", 4),
            Self::Color => ("VEC4", 4),
            Self::Rotation => ("VEC4", 16),
            Self::Position | Self::Scale | Self::Sh(..) => ("VEC3", 12),
        }
    }

    /// Writes the values of a Gaussian.
    fn write(self, splats: &dyn Splats, index: usize, out: &mut impl Write) -> io::Result<()> {
        let vector = match self {
            Self::Position => axes::point(splats.mean(index)),
            Self::Color => {
                let [r, g, b] = splats.sh0(index).map(|dc| linear(f64::from(dc) * SH_C0 + 0.5));
                return out.write_all(&[r, g, b, f64::from(splats.opacity(index))].map(|share| byte(255.0 * share)));
            }
            Self::Rotation => return floats(&axes::rotation(splats.quat(index)), out),
            Self::Scale => splats
                .log_scales(index)
                .map(|log| (f64::from(log).exp() as f32).min(f32::MAX)),
            Self::Opacity => return floats(&[splats.opacity(index)], out),
            Self::Sh(_, _, 0) => splats.sh0(index),
            Self::Sh(_, _, place) => {
                let rest = &splats.rest(index)[3 * (place - 1)..];
                [0, 1, 2].map(|channel| axes::sh_sign(place - 1) * rest[channel])
            }
        };
        floats(&vector, out)
    }
}

fn floats(values: &[f32], out: &mut impl Write) -> io::Result<()> {
    values.iter().try_for_each(|value| out.write_all(&value.to_le_bytes()))
}

/// The linear value of one of sRGB, 0 to 1 (IEC 61966-2-1); glTF's vertex colours are linear.
fn linear(srgb: f64) -> f64 {
    match srgb.clamp(0.0, 1.0) {
        dark if dark <= 0.04045 => dark / 12.92,
        bright => ((bright + 0.055) / 1.055).powf(2.4),
    }
}

/// Bytes of the binary chunk.
fn binary_bytes(splats: &dyn Splats) -> u64 {
    let bytes: usize = Attribute::all(splats.sh_degree()).iter().map(|a| a.shape().1).sum();
    bytes as u64 * splats.len() as u64
}

/// The text of the file, padded as it is written.
pub(super) fn document(path: &Path, splats: &dyn Splats, comments: PlyComments) -> Result<Vec<u8>, DeliveryError> {
    let text = padded(&gltf(splats, comments));
    // Two headers of chunks and that of the file.
    let bytes = 28 + text.len() as u64 + binary_bytes(splats);
    match u32::try_from(bytes) {
        Ok(_) => Ok(text),
        Err(_) => Err(DeliveryError::TooLarge {
            path: path.to_owned(),
            gaussians: splats.len(),
            bytes,
        }),
    }
}

/// Writes the file with the text of [`document`].
pub(super) fn write(file: &mut File<'_>, splats: &dyn Splats, text: &[u8]) -> io::Result<()> {
    let binary = binary_bytes(splats);
    file.reserve(28 + text.len() as u64 + binary)?;
    write_head(file, text, binary)?;
    for attribute in Attribute::all(splats.sh_degree()) {
        for index in 0..splats.len() {
            attribute.write(splats, index, file)?;
        }
    }
    Ok(())
}

/// Writes what comes before the bytes of the binary chunk: headers, and the text, which is padded to four bytes.
pub(super) fn write_head(file: &mut impl Write, text: &[u8], binary: u64) -> io::Result<()> {
    // whoever calls made sure that all of them fit
    let word = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
    let total = 28 + text.len() as u64 + binary;
    for value in [MAGIC, 2, word(total), word(text.len() as u64), JSON_CHUNK] {
        file.write_all(&value.to_le_bytes())?;
    }
    file.write_all(text)?;
    for value in [word(binary), BINARY_CHUNK] {
        file.write_all(&value.to_le_bytes())?;
    }
    Ok(())
}

/// The text of a document, padded as it is written.
pub(super) fn padded(document: &Value) -> Vec<u8> {
    let mut text = document.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    text
}

/// Smallest and largest position of a box in the scene's axes.
pub(super) fn ends(bounds: [[f32; 3]; 2]) -> [[f32; 3]; 2] {
    let [low, high] = bounds.map(axes::point);
    // The turn swaps the ends of two axes.
    [[low[0], high[1], high[2]], [high[0], low[1], low[2]]]
}

/// What the mesh says of the Gaussians in Kiln's own words.
pub(super) fn extras(comments: PlyComments) -> serde_json::Map<String, Value> {
    let mut extras = serde_json::Map::new();
    if let Some(mode) = comments.render_mode {
        extras.insert("renderMode".to_owned(), mode.name().into());
    }
    if let Some(size) = comments.kernel_size {
        extras.insert("kernelSize".to_owned(), size.into());
    }
    if let Some(iteration) = comments.iteration {
        extras.insert("iteration".to_owned(), iteration.into());
    }
    if let Some(origin) = comments.origin {
        extras.insert("origin".to_owned(), json!(origin));
    }
    extras
}

/// The node of the mesh, moved to where the scene's origin is.
fn node(comments: PlyComments) -> Value {
    match comments.origin {
        Some(origin) => json!({ "mesh": 0, "translation": axes::point(origin) }),
        None => json!({ "mesh": 0 }),
    }
}

fn gltf(splats: &dyn Splats, comments: PlyComments) -> Value {
    let (mut views, mut accessors) = (Vec::new(), Vec::new());
    let mut attributes = serde_json::Map::new();
    let mut offset = 0;
    for attribute in Attribute::all(splats.sh_degree()) {
        let (shape, each) = attribute.shape();
        let bytes = each as u64 * splats.len() as u64;
        let number = accessors.len();
        attributes.insert(attribute.name(), number.into());
        views.push(json!({ "buffer": 0, "byteOffset": offset, "byteLength": bytes, "target": ARRAY_BUFFER }));
        let mut accessor =
            json!({ "bufferView": number, "componentType": FLOAT, "count": splats.len(), "type": shape });
        if let Attribute::Color = attribute {
            accessor["componentType"] = UNSIGNED_BYTE.into();
            accessor["normalized"] = true.into();
        }
        if let Attribute::Position = attribute {
            let [low, high] = ends(bounds(splats));
            accessor["min"] = json!(low);
            accessor["max"] = json!(high);
        }
        accessors.push(accessor);
        offset += bytes;
    }
    json!({
        "asset": { "version": "2.0", "generator": "kiln" },
        "extensionsUsed": ["KHR_gaussian_splatting"],
        "scene": 0,
        "scenes": [{ "nodes": [0] }],
        "nodes": [node(comments)],
        "meshes": [{
            "primitives": [{
                "attributes": attributes,
                "mode": 0,
                "extensions": {
                    "KHR_gaussian_splatting": { "kernel": "ellipse", "colorSpace": "srgb_rec709_display" },
                },
            }],
            "extras": extras(comments),
        }],
        "buffers": [{ "byteLength": offset }],
        "bufferViews": views,
        "accessors": accessors,
    })
}
