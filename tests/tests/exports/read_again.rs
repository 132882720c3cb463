//! Models out of files for viewers, as the engine reads them itself.

use std::fs;

use kiln::export::{Chosen, Format, RenderMode, SpzVersion, deliver, read_model};
use kiln::gaussians::Gaussians;
use kiln::plugins::Subset;
use kiln_tests::runs::Scratch;

use crate::model::{Errors, MIP, Splat, random, truth};
use crate::spz_reader;

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

/// What is cut short is an error, wherever.
#[test]
fn cut_files_are_errors() {
    let formats = [
        Format::Spz(SpzVersion::V2),
        Format::Spz(SpzVersion::V3),
        Format::Spz(SpzVersion::V4),
        Format::CompressedPly,
    ];
    for format in formats {
        let scratch = Scratch::new("read-cut");
        let path = written(&scratch, &random(40, 1, 7), format);
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
