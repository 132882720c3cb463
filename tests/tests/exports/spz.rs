//! SPZ, all versions.

use std::fs;

use kiln::export::{Chosen, Format, PlyComments, SpzVersion, deliver};
use kiln_config::plugins::Subset;
use kiln_gaussians::Gaussians;
use kiln_tests::runs::Scratch;

use crate::exports::model::{Errors, MIP, Splat, random};
use crate::exports::spz_reader::{Header, read};

const VERSIONS: [SpzVersion; 3] = [SpzVersion::V2, SpzVersion::V3, SpzVersion::V4];

/// Stated errors with positions in steps of 2^-`bits`.
fn stated(version: SpzVersion, bits: u32) -> Errors {
    Errors {
        mean: 0.500_01 / f64::from(1_u32 << bits),
        // w follows from three bytes of half a step of 1/255 each, and is the less known the smaller it is
        quat: match version {
            SpzVersion::V2 => 0.12,
            SpzVersion::V3 | SpzVersion::V4 => 0.0023,
        },
        log_scale: 1.0 / 32.0 + 1e-6,
        opacity: 0.5 / 255.0 + 1e-6,
        sh0: 0.5 / 255.0 / 0.15 + 1e-6,
        sh1: 1.0 / 32.0,
        sh: 1.0 / 16.0,
    }
}

fn written(model: &Gaussians, version: SpzVersion, subset: &Subset, comments: PlyComments) -> Vec<u8> {
    let scratch = Scratch::new("spz");
    let path = scratch.join("model.spz");
    let chosen = Chosen::new(model, subset).expect("Gaussians");
    deliver(&path, chosen, Format::Spz(version), comments).expect("a file");
    fs::read(path).expect("the file")
}

#[test]
fn every_degree_comes_back_within_the_stated_errors() {
    for version in VERSIONS {
        for degree in 0..=3 {
            let model = random(1500, degree, u64::from(degree));
            let file = written(&model, version, &Subset::default(), MIP);
            let (header, splats) = read(&file);
            let expected = Header {
                version: version.number(),
                count: 1500,
                sh_degree: degree,
                fraction_bits: 12,
                flags: 1,
            };
            assert_eq!((header, splats.len()), (expected, 1500));
            Errors::of(&model, &splats, degree).within(&stated(version, 12));
        }
    }
}

#[test]
fn both_versions_hold_the_same_and_are_smaller_than_their_values() {
    let model = random(20_000, 3, 9);
    let [oldest, old, new] = VERSIONS.map(|version| written(&model, version, &Subset::default(), MIP));
    assert_eq!(read(&old).1, read(&new).1);
    // version 2 differs in rotations alone, and there x, y and z are known to half a step of 2/255
    for (two, three) in read(&oldest).1.iter().zip(&read(&old).1) {
        let same = |splat: &Splat| {
            (
                splat.mean,
                splat.log_scale,
                splat.opacity,
                splat.sh0,
                splat.rest.clone(),
            )
        };
        assert_eq!(same(two), same(three));
        let dot: f64 = two.quat.iter().zip(three.quat).map(|(a, b)| a * b).sum();
        for k in 1..4 {
            let near = (two.quat[k] - dot.signum() * three.quat[k]).abs();
            assert!(near < 1.0 / 255.0 + 0.0023, "{near}");
        }
    }
    // Random numbers compress by their empty bits only: those of the coefficients.
    for file in [&oldest, &old, &new] {
        assert!(file.len() < 20_000 * 50, "{}", file.len());
    }
    assert_eq!(
        old,
        written(&model, SpzVersion::V3, &Subset::default(), MIP),
        "the same each time"
    );
    assert_eq!(
        new,
        written(&model, SpzVersion::V4, &Subset::default(), MIP),
        "the same each time"
    );
}

#[test]
fn position_steps_follow_the_model() {
    for version in VERSIONS {
        // a small one: half of the Gaussians are narrower than eight of the usual steps
        let mut small = random(400, 0, 3);
        for (mean, scale) in small.means.iter_mut().zip(&mut small.log_scales) {
            *mean = mean.map(|v| v * 0.01);
            *scale = scale.map(|v| v - 5.0);
        }
        small.filter_3d.fill(0.0);
        let (header, splats) = read(&written(&small, version, &Subset::default(), MIP));
        assert!(header.fraction_bits > 13, "{header:?}");
        Errors::of(&small, &splats, 0).within(&Errors {
            // scales below the smallest of the format, e^-10
            log_scale: 2.1,
            ..stated(version, header.fraction_bits)
        });
        // and one that reaches far
        let mut far = random(400, 0, 3);
        far.means[7] = [-50_000.0, 2.0, 1.0];
        let (header, splats) = read(&written(&far, version, &Subset::default(), PlyComments::default()));
        assert_eq!((header.fraction_bits, header.flags), (7, 0));
        Errors::of(&far, &splats, 0).within(&stated(version, 7));
    }
}

#[test]
fn values_beyond_the_format_become_its_ends() {
    let mut model = random(3, 1, 1);
    model.filter_3d.fill(0.0);
    model.log_scales[0] = [-90.0, 40.0, 0.0];
    model.logit_opacities[0] = 1e30;
    model.sh0[0] = [99.0, -99.0, 0.0];
    model.sh_rest[..3].copy_from_slice(&[5.0, -5.0, 0.0]);
    model.means[1] = [3e38, -3e38, 0.0];
    for version in VERSIONS {
        let (header, splats) = read(&written(&model, version, &Subset::default(), MIP));
        assert_eq!(header.fraction_bits, 0);
        let widest = splats
            .iter()
            .find(|splat| splat.log_scale[0] == -10.0)
            .expect("the first");
        assert_eq!(widest.log_scale, [-10.0, 5.9375, 0.0]);
        assert_eq!(widest.opacity, 1.0);
        assert!((widest.sh0[0] - 10.0 / 3.0).abs() < 1e-9 && (widest.sh0[1] + 10.0 / 3.0).abs() < 1e-9);
        // y changes its sign on the way there and back
        assert_eq!(widest.rest[0], [1.0, -127.0 / 128.0, 0.0]);
        let farthest = splats.iter().find(|splat| splat.mean[0] > 1e6).expect("the second");
        assert_eq!(farthest.mean, [8_388_607.0, -8_388_607.0, 0.0]);
    }
}
