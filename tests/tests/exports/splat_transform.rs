//! Files that splat-transform wrote of one small model, in `tests/golden/splat_transform`, against that model.
//!
//! Errors are those of the formats, as that program writes them: SOG has everything cut to a step instead of rounded, SPZ has
//! coefficients rounded twice. That it reads them the same is tested in `tests/tests/foreign.rs`.

use std::fs;
use std::path::PathBuf;

use kiln::export::{read_model, read_ply};
use kiln_formats::sog::StreamedIndex;
use kiln_gaussians::Gaussians;
use kiln_tests::runs::kiln;

use crate::exports::compressed_ply;
use crate::exports::model::{Errors, Splat, truth};

/// Gaussians of the model,
const COUNT: usize = 120;
/// and those that stand in four copies in the streamed folder; the others are its environment.
const N_NEAR: usize = 100;
const N_COPIES: usize = 4;
const APART: f32 = -10.0;

fn path(name: &str) -> PathBuf {
    xtask::root().join("tests/golden/splat_transform").join(name)
}

fn source() -> Gaussians {
    let model = read_ply(&path("source.ply")).expect("a model").0;
    assert_eq!((model.len(), model.sh_degree), (COUNT, 3));
    model
}

fn splats(model: &Gaussians) -> Vec<Splat> {
    let of = |number| truth(model, number, model.sh_degree);
    (0..model.len()).map(of).collect()
}

/// Of a file with all of the model.
fn errors(name: &str, degree: u32) -> Errors {
    let (model, _) = read_model(&path(name)).expect(name);
    assert_eq!((model.len(), model.sh_degree), (COUNT, degree), "{name}");
    let errors = Errors::of(&source(), &splats(&model), degree);
    println!("{name}: {errors:?}");
    errors
}

/// The logarithm of z spans 4 and z goes to 11; scales span 4, colours 3.2 and harmonics 1.8.
const SOG: Errors = Errors {
    mean: 4.0 * 12.0 / 65_535.0,
    quat: 2.0 * 0.0084,
    log_scale: 4.0 / 128.0,
    opacity: 1.0 / 255.0 + 1e-6,
    sh0: 3.2 / 128.0,
    sh1: 1.8 / 128.0,
    sh: 1.8 / 128.0,
};

#[test]
fn sog_is_read() {
    errors("model.sog", 3).within(&SOG);
    errors("folder/meta.json", 1).within(&SOG);
}

#[test]
fn spz_is_read() {
    let stated = Errors {
        mean: 0.5 / 4096.0 + 1e-6,
        quat: 0.0023,
        log_scale: 1.0 / 32.0 + 1e-6,
        opacity: 0.5 / 255.0 + 1e-6,
        sh0: 0.0131 + 1e-6,
        sh1: 1.0 / 32.0 + 1.0 / 256.0 + 1e-6,
        sh: 1.0 / 16.0 + 1.0 / 256.0 + 1e-6,
    };
    errors("model.spz", 3).within(&stated);
    errors("model-3.spz", 2).within(&stated);
}

/// By the engine and by the viewer.
#[test]
fn compressed_ply_is_read() {
    let stated = Errors {
        // one chunk; z has eleven bits and spans 14
        mean: 14.0 / 4094.0 + 1e-6,
        quat: 0.0023,
        log_scale: 4.0 / 2046.0 + 1e-6,
        opacity: 0.5 / 255.0 + 1e-6,
        sh0: 3.2 / 510.0 + 1e-6,
        sh1: 1.0 / 64.0 + 1e-6,
        sh: 1.0 / 64.0 + 1e-6,
    };
    let name = "model.compressed.ply";
    errors(name, 3).within(&stated);
    let (_, splats) = compressed_ply::read(&fs::read(path(name)).expect("the file"));
    assert_eq!(splats.len(), COUNT);
    Errors::of(&source(), &splats, 3).within(&Errors {
        log_scale: stated.log_scale + 1.0 / 4096.0,
        opacity: stated.opacity + 1.0 / 2048.0,
        sh0: stated.sh0 + 1.6 / 2048.0,
        sh1: stated.sh1 + 0.001,
        sh: stated.sh + 0.001,
        ..stated
    });
}

/// Finest level and environment: four copies with degree 1, and the rest with degree 0.
#[test]
fn streamed_sog_is_read_with_an_environment_of_another_degree() {
    let name = "streamed/lod-meta.json";
    let (model, _) = read_model(&path(name)).expect("a model");
    assert_eq!((model.len(), model.sh_degree), (N_COPIES * N_NEAR + COUNT - N_NEAR, 1));
    let source = source();
    let mut wanted = Gaussians {
        sh_degree: 1,
        ..Gaussians::default()
    };
    let mut add = |number: usize, moved: f32, rest: &[f32]| {
        let [x, y, z] = source.means[number];
        wanted.means.push([x + moved, y, z]);
        wanted.quats.push(source.quats[number]);
        wanted.log_scales.push(source.log_scales[number]);
        wanted.logit_opacities.push(source.logit_opacities[number]);
        wanted.sh0.push(source.sh0[number]);
        wanted.sh_rest.extend(rest);
        wanted.filter_3d.push(0.0);
    };
    for number in 0..COUNT {
        match number < N_NEAR {
            true => (0..N_COPIES).for_each(|copy| {
                add(
                    number,
                    APART * copy as f32,
                    &source.sh_rest[45 * number..45 * number + 9],
                );
            }),
            false => add(number, 0.0, &[0.0; 9]),
        }
    }
    let errors = Errors::of(&wanted, &splats(&model), 1);
    println!("{errors:?}");
    errors.within(&Errors {
        // the logarithm of x spans 5, and x goes to 33
        mean: 5.0 * 34.5 / 65_535.0,
        ..SOG
    });
    // Levels below are chunks like any other.
    let index = StreamedIndex::parse(&fs::read(path(name)).expect("a file")).expect("a description");
    let [coarser] = index.chunks(1).expect("a level")[..] else {
        panic!("one chunk")
    };
    let coarser = read_model(&path("streamed").join(coarser)).expect("a model").0;
    assert_eq!((coarser.len(), coarser.sh_degree), (200, 1));
}

/// What people ask first of a file that somebody gave them.
#[test]
fn inspect_says_what_they_are() {
    for (name, format, counts) in [
        ("model.sog", "SOG 2", "120, SH degree 3"),
        ("folder/meta.json", "SOG in a folder", "120, SH degree 1"),
        ("model.spz", "SPZ 4", "120, SH degree 3"),
        ("model-3.spz", "SPZ 3", "120, SH degree 2"),
        ("model.compressed.ply", "compressed PLY", "120, SH degree 3"),
        ("streamed/lod-meta.json", "streamed SOG", "420, SH degree 1"),
    ] {
        let output = kiln().arg("inspect").arg(path(name)).output().expect("the program");
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{name}: {said}");
        assert!(said.contains(format) && said.contains(counts), "{name}: {said}");
    }
}
