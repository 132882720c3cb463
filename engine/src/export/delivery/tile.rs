//! A tile: a GLB file whose Gaussians are a stream of SPZ 2, `KHR_gaussian_splatting_compression_spz_2`.
//!
//! The extension is a draft, and CesiumJS, which draws no splats without it, sets what works: the stream is the first buffer view,
//! its axes are those of the file as they are (the draft lets its readers turn them by half a turn about y), and the
//! attributes are named without numbers. There are those that the draft maps: of degree 0 and opacities `COLOR_0`, because
//! CesiumJS takes the degree from how many names of coefficients there are. A kernel and a colour space would say that the
//! file follows the extension it stands in, with attributes of its own for both.

use std::io;

use kiln_formats::glb::{EXTENSION, FLOAT, SPZ_EXTENSION, UNSIGNED_BYTE};
use kiln_formats::sog::Splats;
use serde_json::{Value, json};

use super::super::PlyComments;
use super::glb::{ends, extras, padded, write_head};
use super::quantize::bounds;
use super::spz::{self, SpzVersion, steps_of};

/// The extensions that a tile needs.
pub(super) const EXTENSIONS: [&str; 2] = [EXTENSION, SPZ_EXTENSION];

/// The bytes of a tile of Gaussians in this order, and its step of position as [`spz::position_step`] has it.
pub(super) fn bytes(splats: &dyn Splats, comments: PlyComments) -> io::Result<(Vec<u8>, [f64; 2])> {
    let bits = spz::fraction_bits(splats);
    let mut stream = Vec::new();
    spz::write_stream(&mut stream, splats, SpzVersion::V2, bits, comments)?;
    let text = padded(&document(splats, bits, stream.len(), comments));
    let binary = stream.len().next_multiple_of(4);
    let mut bytes = Vec::with_capacity(28 + text.len() + binary);
    write_head(&mut bytes, &text, binary as u64)?;
    bytes.append(&mut stream);
    bytes.resize(28 + text.len() + binary, 0);
    Ok((bytes, spz::position_step(splats, bits)))
}

fn document(splats: &dyn Splats, fraction_bits: u32, stream_bytes: usize, comments: PlyComments) -> Value {
    let mut accessors = Vec::new();
    let mut attributes = serde_json::Map::new();
    let mut add = |name: String, kind: &str| {
        attributes.insert(name, accessors.len().into());
        accessors.push(json!({ "componentType": FLOAT, "count": splats.len(), "type": kind }));
    };
    add("POSITION".to_owned(), "VEC3");
    add("COLOR_0".to_owned(), "VEC4");
    add(format!("{EXTENSION}:SCALE"), "VEC3");
    add(format!("{EXTENSION}:ROTATION"), "VEC4");
    for degree in 1..=splats.sh_degree() {
        for order in 0..2 * degree + 1 {
            add(format!("{EXTENSION}:SH_DEGREE_{degree}_COEF_{order}"), "VEC3");
        }
    }
    // of the positions as they are read
    let rounded = |corner: [f32; 3]| {
        corner.map(|value| (f64::from(steps_of(value, fraction_bits)) * 0.5_f64.powi(fraction_bits as i32)) as f32)
    };
    let [low, high] = ends(bounds(splats)).map(rounded);
    accessors[0]["min"] = json!(low);
    accessors[0]["max"] = json!(high);
    accessors[1]["componentType"] = UNSIGNED_BYTE.into();
    accessors[1]["normalized"] = true.into();
    json!({
        "asset": { "version": "2.0", "generator": "kiln" },
        "extensionsUsed": EXTENSIONS,
        "extensionsRequired": EXTENSIONS,
        "scene": 0,
        "scenes": [{ "nodes": [0] }],
        "nodes": [{ "mesh": 0 }],
        "meshes": [{
            "primitives": [{
                "attributes": attributes,
                "mode": 0,
                "extensions": { EXTENSION: { "extensions": { SPZ_EXTENSION: { "bufferView": 0 } } } },
            }],
            "extras": extras(comments),
        }],
        "buffers": [{ "byteLength": stream_bytes }],
        "bufferViews": [{ "buffer": 0, "byteLength": stream_bytes }],
        "accessors": accessors,
    })
}
