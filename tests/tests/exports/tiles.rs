//! Tiles of 3D Tiles: GLB files with Gaussians in SPZ. The crate `gltf` reads the containers, and the reader that was written from
//! the description of SPZ what is inside.

use std::fs;
use std::path::Path;

use gltf::binary::Glb;
use kiln::export::{Chosen, Delivered, Format, RenderMode, deliver, read_model, summarize_file};
use kiln_config::plugins::Subset;
use kiln_gaussians::Gaussians;
use kiln_tests::runs::Scratch;
use serde_json::{Value, json};

use crate::exports::model::{Errors, MIP, Splat, random, truth};
use crate::exports::spz_reader::{self, Header};

const NAMES: [&str; 2] = ["KHR_gaussian_splatting", "KHR_gaussian_splatting_compression_spz_2"];

/// The document of a tile, the header of its SPZ, and its splats in the scene's axes.
pub(crate) fn read(path: &Path) -> (Value, Header, Vec<Splat>) {
    let bytes = fs::read(path).expect("a tile");
    let glb = Glb::from_slice(&bytes).expect("a GLB file");
    assert_eq!(glb.header.length as usize, bytes.len());
    let document: Value = serde_json::from_slice(&glb.json).expect("JSON");
    for list in ["extensionsUsed", "extensionsRequired"] {
        assert_eq!(document[list], json!(NAMES));
    }
    let primitive = &document["meshes"][0]["primitives"][0];
    assert_eq!(primitive["mode"], 0);
    let inner = json!({ "extensions": { NAMES[1]: { "bufferView": 0 } } });
    assert_eq!(primitive["extensions"], json!({ NAMES[0]: inner }));
    let length = document["bufferViews"][0]["byteLength"].as_u64().expect("a length") as usize;
    let views = json!([{ "buffer": 0, "byteLength": length }]);
    assert_eq!(
        (&document["bufferViews"], &document["buffers"]),
        (&views, &json!([{ "byteLength": length }]))
    );
    let binary = glb.bin.expect("a binary chunk");
    assert_eq!(binary.len(), length.next_multiple_of(4));
    // the reader refuses what follows a stream
    let (header, splats) = spz_reader::read(&binary[..length]);
    assert_eq!(header.version, 2);
    (document, header, splats)
}

fn written(scratch: &Scratch, model: &Gaussians) -> (std::path::PathBuf, Delivered) {
    let folder = scratch.join("tiles");
    fs::remove_dir_all(&folder).ok();
    let chosen = Chosen::new(model, &Subset::default()).expect("Gaussians");
    let delivered = deliver(&folder, chosen, Format::Tiles, MIP).expect("a folder");
    (folder, delivered)
}

/// The errors that the guide states of SPZ 2, with positions in steps of 2^-`bits`.
fn stated(bits: u32) -> Errors {
    Errors {
        mean: 0.500_01 / f64::from(1_u32 << bits),
        quat: 0.12,
        log_scale: 1.0 / 32.0 + 1e-6,
        opacity: 0.5 / 255.0 + 1e-6,
        sh0: 0.5 / 255.0 / 0.15 + 1e-6,
        sh1: 1.0 / 32.0,
        sh: 1.0 / 16.0,
    }
}

#[test]
fn every_degree_comes_back_within_the_stated_errors() {
    let scratch = Scratch::new("tiles");
    for degree in 0..=3 {
        let model = random(900, degree, 40 + u64::from(degree));
        let (folder, delivered) = written(&scratch, &model);
        assert_eq!((delivered.levels, delivered.sh_degree), (vec![900], degree));
        let path = folder.join("0/0.glb");
        let (document, header, splats) = read(&path);
        let expected = Header {
            version: 2,
            count: 900,
            sh_degree: degree,
            fraction_bits: 12,
            flags: 1,
        };
        assert_eq!(header, expected);
        Errors::of(&model, &splats, degree).within(&stated(12));
        // the engine finds the same, and says what it is
        let (own, comments) = read_model(&path).expect("a model");
        assert_eq!((own.len(), comments), (900, MIP));
        let mut errors = Errors::default();
        for (at, other) in splats.iter().enumerate() {
            let mut other = other.clone();
            // three bytes may be longer than a unit quaternion
            let length = other.quat.iter().map(|v| v * v).sum::<f64>().sqrt();
            other.quat = other.quat.map(|v| v / length);
            errors.add(&truth(&own, at, degree), &other);
        }
        errors.within(&Errors {
            mean: 1e-6,
            quat: 1e-6,
            log_scale: 1e-6,
            // 0 and 1 come back half a step inside
            opacity: 0.5 / 255.0 + 1e-6,
            sh0: 1e-6,
            sh1: 1e-6,
            sh: 1e-6,
        });
        let found = summarize_file(&path).expect("a file").expect("a model");
        assert_eq!(found.format, "GLB with KHR_gaussian_splatting in SPZ");
        assert_eq!(
            (found.gaussians, found.sh_degree, found.antialiased),
            (900, degree, Some(true))
        );
        attributes(&document, &splats, degree);
    }
}

/// Names, shapes and ends of the attributes, which have no numbers of their own.
fn attributes(document: &Value, splats: &[Splat], degree: u32) {
    let places = document["meshes"][0]["primitives"][0]["attributes"]
        .as_object()
        .expect("names");
    let mut wanted = vec![
        ("POSITION".to_owned(), 5126, "VEC3"),
        ("COLOR_0".to_owned(), 5121, "VEC4"),
        (format!("{}:SCALE", NAMES[0]), 5126, "VEC3"),
        (format!("{}:ROTATION", NAMES[0]), 5126, "VEC4"),
    ];
    for degree in 1..=degree {
        wanted.extend((0..=2 * degree).map(|order| {
            let name = format!("{}:SH_DEGREE_{degree}_COEF_{order}", NAMES[0]);
            (name, 5126, "VEC3")
        }));
    }
    let accessors = document["accessors"].as_array().expect("accessors");
    assert_eq!((places.len(), accessors.len()), (wanted.len(), wanted.len()));
    for (name, component, shape) in wanted {
        let accessor = &accessors[places[&name].as_u64().expect("a place") as usize];
        let found = (accessor["componentType"].as_u64(), accessor["type"].as_str());
        assert_eq!(found, (Some(component), Some(shape)), "{name}");
        assert_eq!(accessor["count"].as_u64(), Some(splats.len() as u64));
        assert_eq!(accessor.get("bufferView"), None);
        assert_eq!(accessor["normalized"].as_bool(), (name == "COLOR_0").then_some(true));
        assert_eq!(accessor.get("min").is_some(), name == "POSITION");
    }
    let position = &accessors[places["POSITION"].as_u64().expect("a place") as usize];
    for axis in 0..3 {
        // y and z are those of the scene turned over
        let sign = if axis == 0 { 1.0 } else { -1.0 };
        let of = || splats.iter().map(|splat| sign * splat.mean[axis]);
        let ends = (
            of().fold(f64::INFINITY, f64::min),
            of().fold(f64::NEG_INFINITY, f64::max),
        );
        let said = ["min", "max"].map(|end| position[end][axis].as_f64().expect("a number"));
        assert_eq!(ends, (said[0], said[1]), "as they are read");
    }
}

/// Every tile has its own step of position; the worst of a leaf is reported.
#[test]
fn steps_of_position_are_those_of_a_tile() {
    let scratch = Scratch::new("tile-steps");
    let mut model = random(20_000, 0, 7);
    let (folder, delivered) = written(&scratch, &model);
    let bits = |folder: &Path, uri: &str| read(&folder.join(uri)).1.fraction_bits;
    assert_eq!(["0/0.glb", "0/1.glb", "1/0.glb"].map(|uri| bits(&folder, uri)), [12; 3]);
    assert!(!delivered.is_coarse());
    assert_eq!(delivered.position_step.expect("a step")[0], 1.0 / 4096.0);
    // one far out: the leaf without it, and nothing else, stays as it was
    model.means[11] = [900_000.0, 0.0, 0.0];
    let (folder, delivered) = written(&scratch, &model);
    assert_eq!(["0/0.glb", "0/1.glb"].map(|uri| bits(&folder, uri)), [12, 3]);
    // above it has become one with another, less far out
    assert!((3..12).contains(&bits(&folder, "1/0.glb")));
    assert!(delivered.is_coarse(), "{delivered:?}");
    assert_eq!(delivered.position_step.expect("a step")[0], 1.0 / 8.0);
}

/// What leads out of a tile, or is no SPZ, is an error and no panic.
#[test]
fn damaged_tiles_are_refused() {
    let scratch = Scratch::new("tile-damage");
    let (folder, _) = written(&scratch, &random(50, 1, 8));
    let bytes = fs::read(folder.join("0/0.glb")).expect("a tile");
    let glb = Glb::from_slice(&bytes).expect("a GLB file");
    let document = String::from_utf8(glb.json.to_vec()).expect("text");
    let path = scratch.join("tile.glb");
    let of = |from: &str, to: &str, binary: &[u8]| {
        let mut glb = glb.clone();
        assert!(document.contains(from));
        glb.json = document.replace(from, to).into_bytes().into();
        glb.bin = Some(binary.to_vec().into());
        fs::write(&path, glb.to_vec().expect("a GLB file")).expect("a file");
        read_model(&path).map(|(model, comments)| (model.len(), comments.render_mode))
    };
    let binary = glb.bin.as_deref().expect("numbers");
    // without the extras, what SPZ says of the filter counts
    assert_eq!(
        of("renderMode", "other", binary).expect("a model"),
        (50, Some(RenderMode::Mip))
    );
    let refused = |from: &str, to: &str, binary: &[u8]| of(from, to, binary).expect_err("refused").to_string();
    assert!(refused("{\"bufferView\":0}", "{\"bufferView\":9}", binary).contains("its SPZ is missing"));
    for lie in [
        "\"byteLength\":99999,\"byteOffset\":7",
        "\"byteLength\":9,\"byteOffset\":18446744073709551615",
    ] {
        let view = document
            .split("\"bufferViews\":[{\"buffer\":0,")
            .nth(1)
            .expect("a view");
        let from = view.split('}').next().expect("a length");
        let said = refused(from, lie, binary);
        assert!(said.contains("its SPZ leads out of the file"), "{said}");
    }
    let mut wrong = binary.to_vec();
    let middle = wrong.len() / 2;
    wrong[middle..middle + 9].fill(0xff);
    assert!(refused("renderMode", "renderMode", &wrong).contains("tile.glb"));
}
