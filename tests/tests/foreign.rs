//! Kiln's files, read by splat-transform: no warning, as many Gaussians, and the values of the model within the errors that
//! `docs/guide/export.md` states. `cargo xtask foreign` installs the program.
#![expect(clippy::expect_used, clippy::panic, reason = "tests stop at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};

use kiln::export::{Chosen, Format, SpzVersion, deliver, read_model, read_ply};
use kiln_config::plugins::Subset;
use kiln_formats::sog::{INDEX, StreamedIndex};
use kiln_gaussians::Gaussians;
use kiln_tests::runs::Scratch;

use crate::exports::model::{Errors, MIP, Splat, random, truth};

const COUNT: usize = 600;

/// It writes logits of opacities 0 and 1 as infinite, which Kiln refuses; these have none that are rounded to them.
fn some(count: usize, degree: u32, seed: u64) -> Gaussians {
    let mut model = random(count, degree, seed);
    model.filter_3d.fill(0.0);
    for logit in &mut model.logit_opacities {
        *logit = logit.clamp(-5.0, 5.0);
    }
    model
}

fn written(scratch: &Scratch, model: &Gaussians, format: Format, name: &str) -> PathBuf {
    let path = scratch.join(name);
    let chosen = Chosen::new(model, &Subset::default()).expect("Gaussians");
    deliver(&path, chosen, format, MIP).expect("a file");
    path
}

/// What splat-transform makes of a file.
fn converted(path: &Path) -> Gaussians {
    let out = path.with_extension("converted.ply");
    let mut command = xtask::foreign::splat_transform(&xtask::root()).unwrap_or_else(|e| panic!("{}", e.message));
    // Its decoders need no graphics device.
    command.args(["--no-tty", "-w", "-g", "cpu"]).arg(path).arg(&out);
    let output = command.output().expect("the program");
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    let said = said.concat();
    let warned = said.lines().any(|line| line.trim_start().starts_with(['!', '✗']));
    assert!(output.status.success() && !warned, "{}: {said}", path.display());
    read_ply(&out).expect("a model").0
}

fn splats(model: &Gaussians) -> Vec<Splat> {
    let of = |number| truth(model, number, model.sh_degree);
    (0..model.len()).map(of).collect()
}

/// The two readers see the same numbers in the same order.
fn same(path: &Path, found: &Gaussians) {
    let own = read_model(path).expect("a model").0;
    assert_eq!((found.len(), found.sh_degree), (own.len(), own.sh_degree));
    let mut errors = Errors::default();
    for (a, b) in splats(found).iter().zip(&splats(&own)) {
        errors.add(a, b);
    }
    println!("{}: {errors:?}", path.display());
    errors.within(&Errors {
        mean: 1e-5,
        quat: 1e-5,
        log_scale: 1e-5,
        // Kiln takes 0 and 1 to be half a step inside.
        opacity: 0.5 / 255.0 + 1e-5,
        sh0: 1e-5,
        sh1: 1e-5,
        sh: 1e-5,
    });
}

fn check(format: Format, name: &str, stated: &Errors) {
    for degree in 0..=3 {
        let scratch = Scratch::new("foreign");
        let original = some(COUNT, degree, 11 + u64::from(degree));
        let path = written(&scratch, &original, format, name);
        let found = converted(&path);
        assert_eq!((found.len(), found.sh_degree), (COUNT, degree), "{name}");
        let errors = Errors::of(&original, &splats(&found), degree);
        println!("{name}, degree {degree}: {errors:?}");
        errors.within(stated);
        same(&path, &found);
    }
}

/// With ranges of 6 of centres and 5 of colours.
const COMPRESSED: Errors = Errors {
    mean: 6.0 / 2046.0 + 1e-6,
    quat: 0.0023,
    log_scale: 5.0 / 2046.0 + 1e-6,
    opacity: 0.5 / 255.0 + 1e-6,
    sh0: 5.0 / 510.0 + 1e-6,
    sh1: 1.0 / 64.0 + 1e-6,
    sh: 1.0 / 64.0 + 1e-6,
};

const SPZ: Errors = Errors {
    mean: 0.5 / 4096.0 + 1e-6,
    quat: 0.0023,
    log_scale: 1.0 / 32.0 + 1e-6,
    opacity: 0.5 / 255.0 + 1e-6,
    sh0: 0.0131 + 1e-6,
    sh1: 1.0 / 32.0 + 1e-6,
    sh: 1.0 / 16.0 + 1e-6,
};

const SOG: Errors = Errors {
    mean: 0.5 * 2.8 / 65_535.0 * 4.0 + 1e-6,
    quat: 0.0084,
    log_scale: 5.0 / 128.0 + 1e-6,
    opacity: 0.5 / 255.0 + 1e-6,
    sh0: 5.0 / 128.0,
    // no bound: the palette has an entry for four Gaussians, and these have nothing in common
    sh1: 1.8,
    sh: 1.8,
};

#[test]
fn ply() {
    for degree in 0..=3 {
        let scratch = Scratch::new("foreign");
        let original = some(COUNT, degree, 3);
        let found = converted(&written(&scratch, &original, Format::Ply, "model.ply"));
        let of: Vec<Splat> = splats(&found);
        assert_eq!(of.len(), COUNT);
        let exact = 1e-5;
        Errors::of(&original, &of, degree).within(&Errors {
            mean: exact,
            quat: exact,
            log_scale: exact,
            opacity: exact,
            sh0: exact,
            sh1: exact,
            sh: exact,
        });
    }
}

#[test]
fn compressed_ply() {
    check(Format::CompressedPly, "model.compressed.ply", &COMPRESSED);
}

#[test]
fn spz() {
    check(Format::Spz(SpzVersion::V3), "model.spz", &SPZ);
    check(Format::Spz(SpzVersion::V4), "model.spz", &SPZ);
}

#[test]
fn sog() {
    check(Format::Sog, "model.sog", &SOG);
}

/// What it wrote itself it reads as Kiln does.
#[test]
fn its_own_files() {
    let scratch = Scratch::new("foreign");
    let golden = xtask::root().join("tests/golden/splat_transform");
    for (from, to) in [
        ("model.sog", "model.sog"),
        ("model.spz", "model.spz"),
        ("model-3.spz", "model-3.spz"),
        ("model.compressed.ply", "model.compressed.ply"),
        ("folder", "folder/meta.json"),
        ("streamed/0_0", "0_0/meta.json"),
        ("streamed/1_0", "1_0/meta.json"),
        ("streamed/env", "env/meta.json"),
    ] {
        let path = scratch.join(to);
        if to.ends_with("meta.json") {
            let folder = path.parent().expect("a folder");
            fs::create_dir_all(folder).expect("a folder");
            for entry in fs::read_dir(golden.join(from)).expect("a folder") {
                let entry = entry.expect("an entry");
                fs::copy(entry.path(), folder.join(entry.file_name())).expect("a copy");
            }
        } else {
            fs::copy(golden.join(from), &path).expect("a copy");
        }
        same(&path, &converted(&path));
    }
}

/// It reads no `lod-meta.json`, but each of the chunks.
#[test]
fn every_chunk_of_streamed_sog() {
    let scratch = Scratch::new("foreign");
    let original = some(20_000, 2, 17);
    let folder = written(&scratch, &original, Format::StreamedSog, "model");
    let text = fs::read(folder.join(INDEX)).expect("a file");
    let index = StreamedIndex::parse(&text).expect("a description");
    let told: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let told: Vec<u64> = serde_json::from_value(told["counts"].clone()).expect("numbers");
    let mut counts = Vec::new();
    for level in 0..told.len() as u32 {
        let mut count = 0;
        for chunk in index.chunks(level).expect("a level") {
            let path = folder.join(chunk);
            let found = converted(&path);
            count += found.len() as u64;
            same(&path, &found);
        }
        counts.push(count);
    }
    assert_eq!(counts, told);
    assert_eq!((counts.len(), counts[0]), (4, 20_000));
}
