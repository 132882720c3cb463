//! GLB with `KHR_gaussian_splatting`. The crate `gltf` reads containers, checks the document against glTF 2.0 and finds
//! the values of accessors; of attributes it knows those of glTF itself and names that begin with `_`, so that those of
//! the extension get such names first.

use std::borrow::Cow;
use std::fs;

use gltf::accessor::Iter;
use gltf::accessor::util::Item;
use gltf::binary::Glb;
use gltf::mesh::Mode;
use gltf::{Gltf, Primitive, Semantic};
use kiln::export::{Chosen, Format, deliver};
use kiln_config::plugins::Subset;
use kiln_gaussians::Gaussians;
use kiln_tests::runs::Scratch;
use serde_json::{Value, json};

use crate::exports::model::{Errors, MIP, Splat, random, turned};

fn written(model: &Gaussians) -> Vec<u8> {
    let scratch = Scratch::new("glb");
    let path = scratch.join("model.glb");
    let chosen = Chosen::new(model, &Subset::default()).expect("Gaussians");
    deliver(&path, chosen, Format::Glb, MIP).expect("a file");
    fs::read(path).expect("the file")
}

fn document(file: &[u8]) -> Value {
    let glb = Glb::from_slice(file).expect("a GLB file");
    assert_eq!(glb.header.length as usize, file.len());
    serde_json::from_slice(&glb.json).expect("JSON")
}

/// The values of an attribute: `POSITION`, or one of the extension by the end of its name.
fn values<T: Item>(primitive: &Primitive<'_>, binary: &[u8], name: &str) -> Vec<T> {
    let semantic = match name {
        "POSITION" => Semantic::Positions,
        "COLOR_0" => Semantic::Colors(0),
        _ => Semantic::Extras(name.to_owned()),
    };
    let accessor = primitive.get(&semantic).unwrap_or_else(|| panic!("no {name}"));
    let iter = Iter::<T>::new(accessor, |_| Some(binary)).unwrap_or_else(|| panic!("no values of {name}"));
    iter.collect()
}

fn read(file: &[u8], sh_degree: u32) -> Vec<Splat> {
    let mut glb = Glb::from_slice(file).expect("a GLB file");
    let text = String::from_utf8(glb.json.to_vec()).expect("text");
    glb.json = Cow::Owned(text.replace("\"KHR_gaussian_splatting:", "\"_").into_bytes());
    let bytes = glb.to_vec().expect("a GLB file");
    let Gltf { document, blob } = Gltf::from_slice(&bytes).expect("a valid document");
    let binary = blob.expect("a binary chunk");
    let primitive = document
        .meshes()
        .next()
        .and_then(|mesh| mesh.primitives().next())
        .expect("a primitive");
    assert_eq!(primitive.mode(), Mode::Points);
    let wide = |v: [f32; 3]| v.map(f64::from);
    let means: Vec<[f32; 3]> = values(&primitive, &binary, "POSITION");
    let quats: Vec<[f32; 4]> = values(&primitive, &binary, "ROTATION");
    let scales: Vec<[f32; 3]> = values(&primitive, &binary, "SCALE");
    let opacities: Vec<f32> = values(&primitive, &binary, "OPACITY");
    let colors: Vec<[u8; 4]> = values(&primitive, &binary, "COLOR_0");
    let mut harmonics: Vec<Vec<[f32; 3]>> = Vec::new();
    for degree in 0..=sh_degree {
        for order in 0..2 * degree + 1 {
            harmonics.push(values(&primitive, &binary, &format!("SH_DEGREE_{degree}_COEF_{order}")));
        }
    }
    for (i, color) in colors.iter().enumerate() {
        for channel in 0..3 {
            // linear to sRGB
            let share = f64::from(color[channel]) / 255.0;
            let srgb = match share {
                dark if dark <= 0.003_130_8 => 12.92 * dark,
                bright => 1.055 * bright.powf(1.0 / 2.4) - 0.055,
            };
            let wanted = (f64::from(harmonics[0][i][channel]) * 0.282_094_791_773 + 0.5).clamp(0.0, 1.0);
            assert!(
                (srgb - wanted).abs() < 0.026,
                "{srgb} for {wanted}: half a step of linear 1/255 in the dark"
            );
        }
        assert!((f32::from(color[3]) / 255.0 - opacities[i]).abs() < 0.002);
    }
    let bounds = primitive.bounding_box();
    for axis in 0..3 {
        let of = means.iter().map(|mean| mean[axis]);
        assert_eq!(of.clone().fold(f32::INFINITY, f32::min), bounds.min[axis]);
        assert_eq!(of.fold(f32::NEG_INFINITY, f32::max), bounds.max[axis]);
    }
    (0..means.len())
        .map(|i| {
            let [x, y, z, w] = quats[i].map(f64::from);
            assert!(
                ([x, y, z, w].iter().map(|v| v * v).sum::<f64>() - 1.0).abs() < 1e-6,
                "unit"
            );
            turned(Splat {
                mean: wide(means[i]),
                quat: [w, x, y, z],
                log_scale: wide(scales[i]).map(f64::ln),
                opacity: opacities[i].into(),
                sh0: wide(harmonics[0][i]),
                rest: harmonics[1..].iter().map(|values| wide(values[i])).collect(),
            })
        })
        .collect()
}

#[test]
fn every_degree_comes_back_as_it_was() {
    for degree in 0..=3 {
        let model = random(700, degree, 20 + u64::from(degree));
        let file = written(&model);
        let splats = read(&file, degree);
        assert_eq!(splats.len(), 700);
        Errors::of(&model, &splats, degree).within(&Errors {
            mean: 0.0,
            quat: 1e-7,
            log_scale: 1e-6,
            opacity: 1e-6,
            sh0: 0.0,
            sh1: 0.0,
            sh: 0.0,
        });
        let words = 3 + 1 + 4 + 3 + 1 + 3 * (degree as usize + 1).pow(2);
        let beside = file.len() - 700 * 4 * words;
        assert!(beside < 8000, "{beside} bytes of text");
    }
}

#[test]
fn the_document_says_what_the_extension_asks_for() {
    let document = document(&written(&random(9, 1, 5)));
    assert_eq!(document["asset"]["version"], "2.0");
    assert_eq!(document["extensionsUsed"], json!(["KHR_gaussian_splatting"]));
    let mesh = &document["meshes"][0];
    let primitive = &mesh["primitives"][0];
    let extension = json!({ "kernel": "ellipse", "colorSpace": "srgb_rec709_display" });
    assert_eq!(primitive["extensions"]["KHR_gaussian_splatting"], extension);
    let names: Vec<&String> = primitive["attributes"].as_object().expect("names").keys().collect();
    assert_eq!(
        names,
        [
            "COLOR_0",
            "KHR_gaussian_splatting:OPACITY",
            "KHR_gaussian_splatting:ROTATION",
            "KHR_gaussian_splatting:SCALE",
            "KHR_gaussian_splatting:SH_DEGREE_0_COEF_0",
            "KHR_gaussian_splatting:SH_DEGREE_1_COEF_0",
            "KHR_gaussian_splatting:SH_DEGREE_1_COEF_1",
            "KHR_gaussian_splatting:SH_DEGREE_1_COEF_2",
            "POSITION",
        ]
    );
    assert_eq!(
        (&mesh["extras"]["renderMode"], &mesh["extras"]["iteration"]),
        (&json!("mip"), &json!(30_000))
    );
}

#[test]
fn huge_scales_stay_numbers() {
    let mut model = random(2, 0, 6);
    model.filter_3d.fill(0.0);
    model.log_scales[0] = [500.0, -500.0, 0.0];
    let splats = read(&written(&model), 0);
    let logs = splats[0].log_scale;
    assert_eq!(logs[0], f64::from(f32::MAX).ln());
    assert!(
        logs[1] == f64::NEG_INFINITY && logs[2] == 0.0,
        "a scale of 0 and one of 1: {logs:?}"
    );
}
