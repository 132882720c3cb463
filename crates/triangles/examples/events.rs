//! What events take: `cargo run --release -p kiln-triangles --example events [VERTICES]`.
//!
//! So many vertices (default 400 000), half of them on a bumpy torus with triangles between, the others around it without. Equal
//! arguments give equal results on any machine.
#![expect(clippy::print_stdout, reason = "a program that prints figures")]

use std::error::Error;
use std::ops::ControlFlow;
use std::time::Instant;

use kiln_triangles::schedule::{PruneRule, SplitRule};
use kiln_triangles::{Adjacency, Limits, Triangles, host_bytes};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// Runs an event and says what it took.
fn timed<T>(event: &str, job: impl FnOnce() -> T) -> T {
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    let start = Instant::now();
    let found = job();
    let seconds = start.elapsed().as_secs_f64();
    let taken = (ALLOCATED.peak_usage() - before) as f64 / 1e6;
    println!("{event:<10} {seconds:>8.2} s {taken:>8.1} MB");
    found
}

fn main() -> Result<(), Box<dyn Error>> {
    let count: u32 = std::env::args().nth(1).map_or(Ok(400_000), |word| word.parse())?;
    let (positions, triangles) = torus(count);
    let (vertices, faces) = (positions.len(), triangles.len());
    let predicted = host_bytes(vertices as u64, faces as u64) as f64 / 1e6;
    println!("{vertices} vertices, {faces} triangles, at most {predicted:.1} MB predicted");
    let weights = vec![0.0; vertices];
    let importance: Vec<f32> = (0..faces as u32).map(|t| noise(t ^ 0x55)).collect();
    let sizes_px = vec![9.0; faces];
    let read = Triangles::new((&positions, &weights, 0.1), &triangles, (&importance, &sizes_px))?;
    let rule = PruneRule {
        opacity: 0.2,
        size_px: 1400.0,
        importance: Some(0.2),
    };
    let pruned = timed("prune", || read.prune(&rule))?;
    let rule = SplitRule {
        growth: 1.23,
        largest: 100,
        least_area: 0.0,
    };
    let sample = timed("sample", || read.sample(&rule, u32::MAX, |id| noise(id).max(1e-7)));
    let split = timed("split", || read.split(&sample, [u32::MAX; 2]));
    let adjacency = timed("adjacency", || Adjacency::new(vertices, &triangles));
    let limits = Limits {
        vertices: u32::MAX,
        triangles: 3 * vertices as u32,
        memory_bytes: u64::MAX,
        orient: true,
    };
    let connected = timed("connect", || read.connect(&limits, &mut |_| ControlFlow::Continue(())))?;
    println!(
        "{} triangles stay, {} are split in {}, {} corners; {} vertices connected by {} triangles: {:?}",
        pruned.kept.len(),
        split.split,
        split.triangles.len(),
        adjacency.corners.len(),
        connected.vertices.len(),
        connected.triangles.len(),
        connected.found
    );
    Ok(())
}

/// A number from 0 to 1 of a number.
fn noise(i: u32) -> f32 {
    let mixed = (i ^ (i >> 16)).wrapping_mul(0x7feb_352d);
    let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0x846c_a68b);
    ((mixed ^ (mixed >> 16)) >> 8) as f32 / (1 << 24) as f32
}

/// Vertices and triangles.
fn torus(count: u32) -> (Vec<[f32; 3]>, Vec<[u32; 3]>) {
    let around = ((f64::from(count)).sqrt() as u32).max(6);
    let across = (around / 2).max(3);
    let on = |v: u32| {
        let moved = |k: u32| 0.3 * (noise(3 * v + k) - 0.5);
        let [i, j] = [v / across, v % across].map(|x| x as f32);
        let a = (i + moved(0)) / around as f32 * std::f32::consts::TAU;
        let b = (j + moved(1)) / across as f32 * std::f32::consts::TAU;
        let tube = 1.0 + 0.05 * (9.0 * a).sin() + moved(2) / across as f32;
        [
            (2.5 + tube * b.cos()) * a.cos(),
            (2.5 + tube * b.cos()) * a.sin(),
            tube * b.sin(),
        ]
    };
    let beside = |v: u32| [0, 1, 2].map(|k| 12.0 * (noise(0x4000_0000 + 3 * v + k) - 0.5));
    let shell = around * across;
    let positions = (0..shell).map(on).chain((0..count.saturating_sub(shell)).map(beside));
    let at = |i: u32, j: u32| i % around * across + j % across;
    let squares = (0..around).flat_map(|i| (0..across).map(move |j| (i, j)));
    let triangles = squares.flat_map(|(i, j)| {
        [
            [at(i, j), at(i + 1, j), at(i + 1, j + 1)],
            [at(i, j), at(i + 1, j + 1), at(i, j + 1)],
        ]
    });
    (positions.collect(), triangles.collect())
}
