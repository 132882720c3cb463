//! Compressed PLY, as the viewer reads it. The viewer keeps splats in fewer bits than floats have, which adds to what it
//! is off: 2^-11 of opacities and colours, 2^-12 of the logarithm of a scale, 1/1000 of the largest coefficient.

use std::fs;

use kiln::export::{Chosen, Format, deliver};
use kiln_config::plugins::Subset;
use kiln_gaussians::Gaussians;
use kiln_tests::runs::Scratch;

use crate::exports::model::{Errors, MIP, Splat, original, random, truth};
use crate::pack::from_half;
use crate::ply::{Batch, Filter, PlyStream};

/// Gaussians that share ranges.
const CHUNK: usize = 256;

fn written(model: &Gaussians, subset: &Subset) -> Vec<u8> {
    let scratch = Scratch::new("compressed");
    let path = scratch.join("model.compressed.ply");
    let chosen = Chosen::new(model, subset).expect("Gaussians");
    deliver(&path, chosen, Format::CompressedPly, MIP).expect("a file");
    fs::read(path).expect("the file")
}

/// Reads a file as it arrives over a network.
pub(crate) fn read(file: &[u8]) -> (PlyStream, Vec<Splat>) {
    let mut stream = PlyStream::default();
    for piece in file.chunks(5000) {
        stream.push(piece).expect("a file of splats");
    }
    assert!(stream.take_ready().is_empty(), "one batch is enough here");
    let warning = stream.finish().expect("a file of splats");
    let batch = stream.take_ready().remove(0);
    assert_eq!((warning, stream.skipped()), (None, 0));
    let degree = stream.model().expect("a model").degree;
    let splats = (0..batch.len()).map(|i| splat(&batch, i, degree)).collect();
    (stream, splats)
}

/// A splat out of the words that the viewer gives to the GPU.
fn splat(batch: &Batch, i: usize, degree: u32) -> Splat {
    let geometry = &batch.geometry[8 * i..8 * (i + 1)];
    let low = |word: u32| word as u16;
    let high = |word: u32| (word >> 16) as u16;
    let half = |bits: u16| f64::from(from_half(bits));
    let log = |bits: u16| f64::from(bits) / 65_535.0 * 32.0 - 24.0;
    let small = |steps: u32| (f64::from(steps) / 32_767.0 * 2.0 - 1.0) / 2.0_f64.sqrt();
    let three = [
        small(geometry[7] & 0x7fff),
        small(geometry[7] >> 15 & 0x7fff),
        small(high(geometry[6]).into()),
    ];
    let largest = (geometry[7] >> 30) as usize;
    let mut quat = [0.0; 4];
    for (place, value) in (0..4).filter(|&place| place != largest).zip(three) {
        quat[place] = value;
    }
    quat[largest] = (1.0 - three.iter().map(|v| v * v).sum::<f64>()).max(0.0).sqrt();
    let coefficients = (degree as usize + 1).pow(2) - 1;
    let words = match coefficients {
        0 => 0,
        _ => (coefficients + 1).next_multiple_of(4),
    };
    let sh = &batch.sh[words * i..words * (i + 1)];
    let rest = (0..coefficients).map(|k| {
        let scale = half(if k < 3 { low(sh[0]) } else { high(sh[0]) });
        [0, 10, 20].map(|shift| (f64::from(sh[1 + k] >> shift & 1023) - 511.0) / 511.0 * scale)
    });
    Splat {
        mean: [0, 1, 2].map(|axis| f64::from(f32::from_bits(geometry[axis]))),
        quat,
        log_scale: [log(high(geometry[3])), log(low(geometry[4])), log(high(geometry[4]))],
        opacity: half(low(geometry[3])),
        sh0: [half(low(geometry[5])), half(high(geometry[5])), half(low(geometry[6]))],
        rest: rest.collect(),
    }
}

#[test]
fn every_degree_comes_back_within_the_stated_errors() {
    for degree in 0..=3 {
        // the last chunk is not full
        let model = random(1500, degree, 40 + u64::from(degree));
        let file = written(&model, &Subset::default());
        let (stream, splats) = read(&file);
        let told = stream.model().expect("a model");
        assert_eq!((told.count, told.degree, told.iteration), (1500, degree, Some(30_000)));
        assert_eq!(told.filter, Filter::Mip(0.1));
        let mut seen = vec![false; model.len()];
        for chunk in splats.chunks(CHUNK) {
            // Errors follow from what the chunk spans.
            let numbers: Vec<usize> = chunk.iter().map(|splat| original(&model, splat)).collect();
            let truths: Vec<Splat> = numbers.iter().map(|&number| truth(&model, number, degree)).collect();
            let span = |of: fn(&Splat) -> [f64; 3]| {
                let widths = [0, 1, 2].map(|axis| {
                    let all = truths.iter().map(|splat| of(splat)[axis]);
                    all.clone().fold(f64::NEG_INFINITY, f64::max) - all.fold(f64::INFINITY, f64::min)
                });
                // the middle axis has ten bits, the others eleven
                (widths[0].max(widths[2]) / 2047.0 / 2.0).max(widths[1] / 1023.0 / 2.0)
            };
            let colour = truths.iter().flat_map(|splat| splat.sh0);
            let colours = colour.clone().fold(f64::NEG_INFINITY, f64::max) - colour.fold(f64::INFINITY, f64::min);
            let stated = Errors {
                mean: span(|splat| splat.mean) + 1e-6,
                quat: 0.0023,
                log_scale: span(|splat| splat.log_scale) + 1.0 / 4096.0,
                opacity: 0.5 / 255.0 + 1.0 / 2048.0,
                sh0: colours / 255.0 / 2.0 + 2.5 / 2048.0,
                sh1: 1.0 / 64.0 + 0.001,
                sh: 1.0 / 64.0 + 0.001,
            };
            let mut errors = Errors::default();
            for ((splat, truth), number) in chunk.iter().zip(&truths).zip(numbers) {
                assert!(!std::mem::replace(&mut seen[number], true), "{number} is there twice");
                errors.add(splat, truth);
            }
            errors.within(&stated);
        }
        assert!(seen.iter().all(|&seen| seen));
        let header = file
            .windows(11)
            .position(|window| window == b"end_header\n")
            .expect("a header")
            + 11;
        let harmonics = 3 * ((degree as usize + 1).pow(2) - 1);
        assert_eq!(file.len() - header, 6 * 72 + 1500 * (16 + harmonics));
    }
}

#[test]
fn chunks_are_compact_and_wild_scales_are_cut() {
    let mut model = random(20_000, 0, 50);
    model.log_scales[77] = [-80.0, 60.0, -3.0];
    model.filter_3d[77] = 0.0;
    let mut subset = Subset::default();
    let (_, splats) = read_all(&written(&model, &subset));
    // 20 000 splats fill the cube of side 6; 256 neighbours fill a cell of side 1.4, and a chunk that reaches into a
    // second one is 3 wide.
    let widths = splats.chunks(CHUNK).map(|chunk| {
        let span = |axis: usize| {
            let all = chunk.iter().map(|splat| splat.mean[axis]);
            all.clone().fold(f64::NEG_INFINITY, f64::max) - all.fold(f64::INFINITY, f64::min)
        };
        span(0).max(span(1)).max(span(2))
    });
    let mut widths: Vec<f64> = widths.collect();
    widths.sort_by(f64::total_cmp);
    assert!(widths[widths.len() / 2] <= 3.1, "{}", widths[widths.len() / 2]);
    let cut = splats.iter().filter(|splat| (splat.log_scale[0] + 20.0).abs() < 0.02);
    assert_eq!(cut.count(), 1);
    subset.crop = Some([-1.0, -3.0, -3.0, 1.0, 3.0, 3.0]);
    subset.max_splats = Some(1000);
    let (_, splats) = read(&written(&model, &subset));
    assert_eq!(splats.len(), 1000);
    assert!(splats.iter().all(|splat| splat.mean[0].abs() <= 1.0 + 1e-6));
}

/// As [`read`], of files with more than one batch.
fn read_all(file: &[u8]) -> (PlyStream, Vec<Splat>) {
    let mut stream = PlyStream::default();
    stream.push(file).expect("a file of splats");
    let mut batches = stream.take_ready();
    stream.finish().expect("a file of splats");
    batches.extend(stream.take_ready());
    let degree = stream.model().expect("a model").degree;
    let splats = batches.iter().flat_map(|batch| {
        let of = |i| splat(batch, i, degree);
        (0..batch.len()).map(of).collect::<Vec<_>>()
    });
    let splats = splats.collect();
    (stream, splats)
}
