//! Models out of files for viewers, as the engine reads them itself.

use std::fs;

use kiln::export::{Chosen, Format, RenderMode, SpzVersion, deliver, read_model};
use kiln_config::plugins::Subset;
use kiln_gaussians::Gaussians;
use kiln_tests::runs::Scratch;
use serde_json::{Value, json};

use crate::exports::model::{Errors, MIP, Splat, random, truth};
use crate::exports::spz_reader;

fn written(scratch: &Scratch, model: &Gaussians, format: Format) -> std::path::PathBuf {
    let path = scratch.join("model");
    let chosen = Chosen::new(model, &Subset::default()).expect("Gaussians");
    deliver(&path, chosen, format, MIP).expect("a file");
    path
}

fn splats(model: &Gaussians) -> Vec<Splat> {
    (0..model.len())
        .map(|number| truth(model, number, model.sh_degree))
        .collect()
}

/// The reader that was written from the description of the format finds the same.
#[test]
fn spz_is_read_as_by_another_reader() {
    for version in [SpzVersion::V2, SpzVersion::V3, SpzVersion::V4] {
        for degree in 0..=3 {
            let scratch = Scratch::new("read-spz");
            let path = written(&scratch, &random(300, degree, 5), Format::Spz(version));
            let (model, comments) = read_model(&path).expect("a model");
            assert_eq!((model.sh_degree, comments.render_mode), (degree, Some(RenderMode::Mip)));
            let (_, mut others) = spz_reader::read(&fs::read(&path).expect("the file"));
            assert_eq!(others.len(), model.len());
            for other in &mut others {
                // three bytes of version 2 may be longer than a unit quaternion
                let length = other.quat.iter().map(|v| v * v).sum::<f64>().sqrt();
                other.quat = other.quat.map(|v| v / length);
            }
            let mut errors = Errors::default();
            for (splat, other) in splats(&model).iter().zip(&others) {
                errors.add(splat, other);
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
        }
    }
}

#[test]
fn compressed_ply_comes_back_within_its_steps() {
    for degree in 0..=3 {
        let scratch = Scratch::new("read-compressed");
        let original = random(700, degree, 6);
        let path = written(&scratch, &original, Format::CompressedPly);
        let (model, comments) = read_model(&path).expect("a model");
        assert_eq!((model.len(), model.sh_degree, comments), (700, degree, MIP));
        Errors::of(&original, &splats(&model), degree).within(&Errors {
            mean: 6.0 / 1023.0 / 2.0 + 1e-6,
            quat: 0.0023,
            log_scale: 5.0 / 1023.0 / 2.0 + 1e-6,
            opacity: 0.5 / 255.0 + 1e-6,
            sh0: 5.0 / 255.0 / 2.0 + 1e-6,
            sh1: 1.0 / 64.0 + 1e-6,
            sh: 1.0 / 64.0 + 1e-6,
        });
    }
}

/// Nothing is rounded beyond 32-bit floats, and what the file says of the filter comes back.
#[test]
fn glb_comes_back_as_it_was() {
    for degree in 0..=3 {
        let scratch = Scratch::new("read-glb");
        let original = random(300, degree, 8);
        let path = written(&scratch, &original, Format::Glb);
        let (model, comments) = read_model(&path).expect("a model");
        assert_eq!((model.len(), model.sh_degree, comments), (300, degree, MIP));
        Errors::of(&original, &splats(&model), degree).within(&Errors {
            mean: 0.0,
            quat: 1e-6,
            log_scale: 1e-5,
            opacity: 1e-6,
            sh0: 0.0,
            sh1: 0.0,
            sh: 0.0,
        });
    }
}

/// Two parts of different degree, one of them in normalised integers and interleaved, are one model; a part that a node turns,
/// colours of another space and scales of a draft are refused by name.
#[test]
fn glb_files_of_others_are_read_or_refused_by_name() {
    let scratch = Scratch::new("read-glb-others");
    let path = scratch.join("model");
    let name = |end: &str| format!("KHR_gaussian_splatting:{end}");
    let file = |change: &dyn Fn(&mut Value, &mut Vec<u8>)| {
        // bytes 0 to 15: a rotation in shorts and an opacity in a byte, 16 bytes a Gaussian; then floats for all else
        let mut bytes = Vec::new();
        for opacity in [51_u8, 204] {
            for part in [0_i16, 0, 32767, 0] {
                bytes.extend(part.to_le_bytes());
            }
            bytes.extend([opacity, 0, 0, 0, 0, 0, 0, 0]);
        }
        bytes.extend((1..=12).flat_map(|value| (value as f32).to_le_bytes()));
        let accessor = |view: u64, offset: u64, kind: u64, shape: &str| json!({ "bufferView": view, "byteOffset": offset, "componentType": kind, "count": 2, "type": shape });
        let attributes = |rest: bool| {
            let mut all = json!({
                "POSITION": 2, name("SCALE"): 3, name("ROTATION"): 0, name("OPACITY"): 1, name("SH_DEGREE_0_COEF_0"): 2,
            });
            for order in (0..3).filter(|_| rest) {
                all[name(&format!("SH_DEGREE_1_COEF_{order}"))] = 3.into();
            }
            all
        };
        let primitive = |rest: bool| {
            let about = json!({ "kernel": "ellipse", "colorSpace": "srgb_rec709_display" });
            json!({ "attributes": attributes(rest), "mode": 0, "extensions": { "KHR_gaussian_splatting": about } })
        };
        let mut document = json!({
            "asset": { "version": "2.0" },
            "nodes": [{ "mesh": 0 }],
            "meshes": [{ "primitives": [primitive(false), primitive(true)] }],
            "buffers": [{ "byteLength": bytes.len() }],
            "bufferViews": [
                { "buffer": 0, "byteLength": 32, "byteStride": 16 },
                { "buffer": 0, "byteOffset": 32, "byteLength": 48 },
            ],
            "accessors": [
                accessor(0, 0, 5122, "VEC4"), accessor(0, 8, 5121, "SCALAR"), accessor(1, 0, 5126, "VEC3"), accessor(1, 24, 5126, "VEC3"),
            ],
        });
        change(&mut document, &mut bytes);
        let mut text = document.to_string().into_bytes();
        text.resize(text.len().next_multiple_of(4), b' ');
        let mut out = Vec::new();
        let word = |bytes: &[u8]| u32::try_from(bytes.len()).expect("a small file");
        let total = 28 + word(&text) + word(&bytes);
        for value in [0x4654_6c67, 2, total, word(&text), 0x4e4f_534a] {
            out.extend(value.to_le_bytes());
        }
        out.extend(&text);
        out.extend([word(&bytes), 0x004e_4942].map(u32::to_le_bytes).as_flattened());
        out.extend(&bytes);
        fs::write(&path, out).expect("a file");
        read_model(&path)
    };
    let (model, comments) = file(&|_, _| ()).expect("a model");
    assert_eq!((model.len(), model.sh_degree, comments.render_mode), (4, 1, None));
    assert_eq!(model.means[1], [4.0, -5.0, -6.0]);
    assert_eq!(model.quats[2], [0.0, 0.0, -0.0, -1.0]);
    let close = |a: f32, b: f32| (a - b).abs() < 1e-6;
    assert!(close(model.logit_opacities[0], 0.25_f32.ln()) && close(model.logit_opacities[3], 4_f32.ln()));
    assert!(close(model.log_scales[0][2], 9_f32.ln()));
    assert_eq!(&model.sh_rest[..18], &[0.0; 18], "the first part has degree 0");
    assert_eq!(
        &model.sh_rest[18..27],
        &[-7.0, -8.0, -9.0, -7.0, -8.0, -9.0, 7.0, 8.0, 9.0]
    );
    let refused = |what: &str, change: &dyn Fn(&mut Value, &mut Vec<u8>)| {
        let error = file(change).expect_err(what).to_string();
        assert!(
            error.contains(what) && error.contains("read-glb-others"),
            "{what}: {error}"
        );
    };
    let extension = |document: &mut Value, key: &str, value: &str| {
        document["meshes"][0]["primitives"][1]["extensions"]["KHR_gaussian_splatting"][key] = value.into();
    };
    refused("a node moves the splats", &|d, _| {
        d["nodes"][0]["rotation"] = json!([1, 0, 0, 0])
    });
    refused("`srgb_rec709_display`", &|d, _| {
        extension(d, "colorSpace", "lin_rec709_display")
    });
    refused("`ellipse`", &|d, _| extension(d, "kernel", "customShape"));
    refused("logarithms", &|_, bytes| {
        let scales = bytes[56..].as_chunks_mut::<4>().0;
        scales[..6].fill((-3.0_f32).to_le_bytes());
    });
    refused("it requires EXT_meshopt_compression, KHR_other", &|d, _| {
        let names = ["KHR_gaussian_splatting", "EXT_meshopt_compression", "KHR_other"];
        d["extensionsRequired"] = json!(names);
    });
    refused("is sparse", &|d, _| d["accessors"][2]["sparse"] = json!({ "count": 1 }));
    refused("leads out of the file", &|d, _| d["accessors"][3]["count"] = 3.into());
    // What cannot be drawn is left out, of both parts that share it, and not the whole file.
    for (at, value) in [(32, f32::NAN), (56, -3.0), (56, f32::INFINITY)] {
        let (model, _) = file(&|_, bytes| bytes[at..at + 4].copy_from_slice(&value.to_le_bytes())).expect("a model");
        assert_eq!(model.len(), 2, "{value} at {at}");
    }
    refused("none of its 4 Gaussians", &|_, bytes| {
        bytes[32..56].as_chunks_mut::<4>().0.fill(f32::NAN.to_le_bytes());
    });
    refused("same number of Gaussians", &|d, _| {
        d["accessors"][1]["count"] = 1.into()
    });
    refused("without KHR_gaussian_splatting", &|d, _| {
        d["meshes"][0]["primitives"] = json!([])
    });
}

/// SOG within the errors that the guide states, as an archive, and as a folder that names files elsewhere.
#[test]
fn sog_comes_back_within_its_errors() {
    for degree in 0..=3 {
        let scratch = Scratch::new("read-sog");
        let original = random(300, degree, 9);
        let path = written(&scratch, &original, Format::Sog);
        let (model, comments) = read_model(&path).expect("a model");
        assert_eq!((model.len(), model.sh_degree), (300, degree));
        assert_eq!(comments.render_mode, Some(RenderMode::Mip));
        let rest = if degree == 0 { 0.0 } else { 1.8 / 128.0 };
        Errors::of(&original, &splats(&model), degree).within(&Errors {
            mean: 0.5 * 2.0 * 4.0_f64.ln() / 65_535.0 * 4.0 + 1e-6,
            quat: 0.0084,
            log_scale: 5.0 / 128.0 + 1e-6,
            opacity: 0.5 / 255.0 + 1e-6,
            sh0: 5.0 / 128.0,
            sh1: rest,
            sh: rest,
        });
        let folder = scratch.join("folder");
        fs::create_dir_all(&folder).expect("a folder");
        let whole = fs::read(&path).expect("the file");
        let mut archive = kiln_formats::sog::Archive::open(std::io::Cursor::new(&whole)).expect("an archive");
        let names: Vec<String> = archive.names().map(str::to_owned).collect();
        for name in &names {
            fs::write(folder.join(name), archive.file(name).expect("a file")).expect("a file");
        }
        let meta = folder.join("meta.json");
        assert_eq!(read_model(&meta).expect("a model").0, model);
        let text = fs::read_to_string(&meta).expect("text");
        for (name, words) in [
            ("../folder/quats.webp", "it lies outside of"),
            ("none.webp", "cannot be read"),
        ] {
            fs::write(&meta, text.replace("quats.webp", name)).expect("a file");
            let error = read_model(&meta).expect_err("no such file").to_string();
            assert!(error.contains(name) && error.contains(words), "{error}");
        }
    }
}

/// What is cut short is an error, wherever.
#[test]
fn cut_files_are_errors() {
    let formats = [
        Format::Spz(SpzVersion::V2),
        Format::Spz(SpzVersion::V3),
        Format::Spz(SpzVersion::V4),
        Format::CompressedPly,
        Format::Glb,
        Format::Sog,
    ];
    for format in formats {
        let scratch = Scratch::new("read-cut");
        let path = written(&scratch, &random(6, 1, 7), format);
        let whole = fs::read(&path).expect("the file");
        for kept in 0..whole.len() {
            fs::write(&path, &whole[..kept]).expect("a file");
            assert!(
                read_model(&path).is_err(),
                "{format:?}: {kept} of {} bytes",
                whole.len()
            );
        }
    }
}
