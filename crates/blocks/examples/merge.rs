//! Makes models of blocks of any size, or merges them: how much memory and time a merge takes.
//!
//! ```sh
//! cargo run --release -p kiln-blocks --example merge -- make FOLDER 20000000 16
//! /usr/bin/time -v target/release/examples/merge merge FOLDER OUT.ply 512
//! ```
#![expect(clippy::unwrap_used, reason = "a measurement stops at the first surprise")]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use kiln_blocks::merge::{Frame, Model, Options, Survey};
use kiln_blocks::{Ground, Rect};
use kiln_ply::{Element, Format, Header, Scalar};

/// Numbers of a row: those of a Gaussian of degree 3 in the usual order, 248 bytes.
const VALUES: usize = 62;
/// Side of the plane, and how far blocks reach over their cores, metres.
const SIDE: f32 = 1000.0;
const MARGIN: f32 = 20.0;

fn names() -> Vec<String> {
    let fixed = ["x", "y", "z", "nx", "ny", "nz", "f_dc_0", "f_dc_1", "f_dc_2"].map(str::to_owned);
    let rest = (0..45).map(|i| format!("f_rest_{i}"));
    let last = [
        "opacity", "scale_0", "scale_1", "scale_2", "rot_0", "rot_1", "rot_2", "rot_3",
    ]
    .map(str::to_owned);
    fixed.into_iter().chain(rest).chain(last).collect()
}

/// Cores of `side` times `side` blocks, the outermost without end.
fn cores(side: usize) -> Vec<Rect> {
    let at = |i: usize| match i {
        0 => f64::NEG_INFINITY,
        i if i == side => f64::INFINITY,
        i => f64::from(SIDE) * i as f64 / side as f64,
    };
    let core = |n: usize| {
        let (x, y) = (n % side, n / side);
        Rect {
            min: [at(x), at(y)],
            max: [at(x + 1), at(y + 1)],
        }
    };
    (0..side * side).map(core).collect()
}

fn block(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("block{number}.ply"))
}

fn make(folder: &Path, all: u64, blocks: usize) {
    fs::create_dir_all(folder).unwrap();
    let side = blocks.isqrt();
    let cell = SIDE / side as f32;
    for number in 0..side * side {
        let count = all / (side * side) as u64;
        let header = Header {
            format: Format::LittleEndian,
            comments: vec!["SH degree: 3".to_owned()],
            elements: vec![Element::new("vertex", count).with(Scalar::F32, names())],
        };
        let mut file = BufWriter::with_capacity(1 << 20, File::create(block(folder, number)).unwrap());
        write!(file, "{header}").unwrap();
        let mut state = number as u64 + 1;
        let mut random = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 40) as f32 / (1 << 24) as f32
        };
        let (x, y) = ((number % side) as f32 * cell, (number / side) as f32 * cell);
        let wide = cell + 2.0 * MARGIN;
        let mut row = [0.0_f32; VALUES];
        for _ in 0..count {
            row.iter_mut().for_each(|value| *value = random());
            row[0] = x - MARGIN + wide * random();
            row[1] = y - MARGIN + wide * random();
            row[2] = 20.0 * random();
            for value in row {
                file.write_all(&value.to_le_bytes()).unwrap();
            }
        }
        file.flush().unwrap();
    }
}

fn merge(folder: &Path, output: &Path, memory_mib: u64) {
    let count = (0..).take_while(|number| block(folder, *number).is_file()).count();
    let models = cores(count.isqrt())
        .into_iter()
        .enumerate()
        .map(|(number, core)| Model {
            path: block(folder, number),
            core,
        });
    let options = Options {
        frame: Frame {
            center: [500.0, 500.0, 0.0],
            extent: 500.0,
        },
        memory_bytes: memory_mib << 20,
    };
    let bounds = Rect {
        min: [0.0; 2],
        max: [f64::from(SIDE); 2],
    };
    let start = Instant::now();
    let ground = Ground::with_up([0.0, 0.0, 1.0]);
    let survey = Survey::of(models.collect(), ground, options, (&bounds, 10.0), &|| false).unwrap();
    println!(
        "{} kept, read once in {:.1} s",
        survey.count(),
        start.elapsed().as_secs_f64()
    );
    let scratch = output.with_extension("buckets");
    fs::create_dir_all(&scratch).unwrap();
    let mut file = BufWriter::with_capacity(1 << 20, File::create(output).unwrap());
    let merged = survey.write(&mut file, output, &scratch, &|| false).unwrap();
    file.flush().unwrap();
    fs::remove_dir(&scratch).unwrap();
    println!(
        "{} bytes in {:.1} s, SHA-256 {}",
        merged.bytes,
        start.elapsed().as_secs_f64(),
        merged.digest
    );
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    match &args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [_, "make", folder, all, blocks] => make(Path::new(folder), all.parse().unwrap(), blocks.parse().unwrap()),
        [_, "merge", folder, output, memory] => merge(Path::new(folder), Path::new(output), memory.parse().unwrap()),
        _ => println!("make FOLDER GAUSSIANS BLOCKS, or merge FOLDER OUT.ply MIB"),
    }
}
