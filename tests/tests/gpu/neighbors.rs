//! Nearest neighbours on the device against the reference, which looks at every pair up to 20 000 Gaussians.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use kiln::step::{Capacities, NeighborTensors, StepTensors, neighbors};
use kiln_gaussians::layout::Storage;
use kiln_gaussians::morton::Frame;
use kiln_gpu::memory::{BlockRounding, GIB, Gpu, Plan, PlanLimits};
use kiln_kernels::counters::Counters;
use kiln_kernels::prepare_args;
use kiln_kernels::views::{Reduction, Variants};
use kiln_program::{Program, TensorTable};
use kiln_tests::child;
use kiln_tests::compare::same;
use kiln_tests::gpu::{assert_valid, open, variants};
use kiln_twins::neighbors::nearest;
use kiln_twins::rng::uniform;

const FRAME: ([f32; 3], f32) = ([0.5; 3], 2.0);

/// What a device looks for neighbours with.
struct Search {
    gpu: Gpu,
    program: Program,
    tensors: StepTensors,
    found: NeighborTensors,
}

fn capacities(capacity: u32, chunk: u32) -> Capacities {
    let mut capacities = Capacities::new(capacity, 256, 256, 0, [(16, 16)]);
    (capacities.chunk, capacities.storage) = (chunk, Storage::Exact);
    capacities
}

fn record(
    table: &mut TensorTable,
    capacities: &Capacities,
    k: u32,
    variants: &Variants,
) -> (Program, StepTensors, NeighborTensors) {
    let tensors = StepTensors::new(table, capacities, variants);
    let found = NeighborTensors::new(table, capacities, k, variants).unwrap();
    let mut program = Program::new("neighbors");
    prepare_args::record(&mut program, &tensors.shared, &tensors.chunks);
    neighbors(&mut program, &tensors, &found, &Frame::new(FRAME.0, FRAME.1));
    (program, tensors, found)
}

impl Search {
    fn new(capacity: u32, chunk: u32, k: u32, variants: &Variants) -> Self {
        let mut table = TensorTable::default();
        let (program, tensors, found) = record(&mut table, &capacities(capacity, chunk), k, variants);
        let gpu = Gpu::new(&open(), table, &[&program], 4 * GIB).unwrap();
        Self {
            gpu,
            program,
            tensors,
            found,
        }
    }

    /// What is found of these centres; slots behind them hold rubbish.
    fn run(&mut self, centers: &[[f32; 3]], stalled: u32) -> Vec<u32> {
        for chunk in self.tensors.chunks.clone() {
            let at = |axis: usize, i: u32| {
                centers
                    .get((chunk.first + i) as usize)
                    .map_or(0.5, |center| center[axis])
            };
            let planes = (0..3).flat_map(|axis| (0..chunk.stride).map(move |i| (axis, i)));
            let values: Vec<f32> = planes.map(|(axis, i)| at(axis, i)).collect();
            let means = chunk.geometry.slice(0, 12 * u64::from(chunk.stride));
            self.gpu.write(&means, &values).unwrap();
        }
        let counters = Counters {
            stalled,
            gaussians: centers.len() as u32,
            ..Counters::default()
        };
        self.gpu.write(&self.tensors.shared.counters, &[counters]).unwrap();
        self.gpu.run(&self.program).unwrap();
        let k = self.found.k as usize;
        let mut all: Vec<u32> = Vec::new();
        for part in self.found.parts.clone() {
            let words: Vec<u32> = self.gpu.read(&part.neighbors, part.count as usize * k).unwrap();
            all.extend(words);
        }
        all.truncate(centers.len() * k);
        all
    }
}

/// Some at the same place, some on lines and grids, some far away, some nowhere.
fn scattered(count: u32, key: u32) -> Vec<[f32; 3]> {
    let place = |id: u32| {
        let at = |axis: u32| uniform::<f32>(key, 0, id, axis);
        match id % 100 {
            0..5 => [0.25, 0.5, 0.125],
            5..15 => [0.001 * (id / 100) as f32, 0.3, 0.3],
            15..40 => [0, 1, 2].map(|axis| (8.0 * at(axis)).round() / 8.0),
            40 => [0, 1, 2].map(|axis| 1e4 * at(axis)),
            41 => [0, 1, 2].map(|axis| 3e38 * (at(axis) - 0.5)),
            42 if id % 400 == 42 => [f32::NAN, 1.0, f32::INFINITY],
            _ => [0, 1, 2].map(at),
        }
    };
    (0..count).map(place).collect()
}

fn wanted(centers: &[[f32; 3]], k: u32) -> Vec<u32> {
    nearest(&Frame::new(FRAME.0, FRAME.1), centers, k as usize)
}

#[test]
fn neighbors_are_those_of_looking_at_every_pair() {
    let portable = variants(Reduction::Segmented);
    let mut search = Search::new(20_224, 8192, 16, &portable);
    let line: Vec<[f32; 3]> = (0..5000_u32).map(|i| [(i * 7919 % 5000) as f32, 0.0, 0.0]).collect();
    for (what, centers) in [
        ("scattered", scattered(20_000, 3)),
        ("fewer than before", scattered(700, 4)),
        ("one", vec![[1.0, 2.0, 3.0]]),
        ("none", vec![]),
        ("fewer than neighbours", scattered(9, 5)),
        ("a pile", vec![[0.1, 0.2, 0.3]; 5000]),
        ("a line", line),
        ("a box and one more", scattered(33, 6)),
    ] {
        same(what, &search.run(&centers, 0), &wanted(&centers, 16));
    }
    assert_valid(&open());
}

#[test]
fn numbers_of_neighbors_and_chunks_do_not_matter() {
    let portable = variants(Reduction::Segmented);
    let centers = scattered(3001, 9);
    for (k, chunk) in [(1, 256), (3, 4096), (12, 1024), (32, 512)] {
        let mut search = Search::new(4096, chunk, k, &portable);
        same(
            &format!("{k} neighbours"),
            &search.run(&centers, 0),
            &wanted(&centers, k),
        );
    }
    assert_valid(&open());
}

#[test]
fn every_subgroup_width_gives_the_same_neighbors() {
    if let Some(role) = child::role() {
        let size = open().caps().subgroup_size;
        assert_eq!(size.to_string(), role, "the driver's subgroup size");
        let wide = Variants {
            sort_subgroup: size,
            ..variants(Reduction::Segmented)
        };
        let centers = scattered(5003, 12);
        let mut search = Search::new(6144, 2048, 16, &wide);
        return same("neighbours", &search.run(&centers, 0), &wanted(&centers, 16));
    }
    for (width, size) in [("128", "4"), ("256", "8"), ("512", "16")] {
        child::run_with_vectors(
            module_path!(),
            "every_subgroup_width_gives_the_same_neighbors",
            size,
            width,
        );
    }
}

#[test]
fn a_stalled_run_keeps_its_neighbors() {
    let mut search = Search::new(1024, 1024, 4, &variants(Reduction::Segmented));
    let before = search.run(&scattered(1000, 1), 0);
    same("neighbours", &search.run(&scattered(1000, 2), 1), &before);
    assert_valid(&open());
}

#[test]
fn what_does_not_fit_is_named_and_the_rest_is_planned() {
    let portable = variants(Reduction::Segmented);
    let mut table = TensorTable::default();
    let mut refused = |n: u32, k: u32| {
        let refused = NeighborTensors::new(&mut table, &capacities(n, 1 << 19), k, &portable);
        refused.unwrap_err().to_string()
    };
    assert!(refused(1024, 0).contains("0 neighbours of each Gaussian"));
    assert!(refused(1024, 33).contains("33 neighbours of each Gaussian"));
    assert!(refused((1 << 25) + 256, 16).contains("neighbours of 33554688 Gaussians"));
    // Six million with sixteen each: 384 MB that stay and 132 in passing.
    let n = 6_000_128;
    let (program, _, found) = record(&mut table, &capacities(n, 1 << 19), 16, &portable);
    let kept: u64 = found.parts.iter().map(|part| part.neighbors.bytes).sum();
    assert_eq!(kept, 64 * u64::from(n));
    let limits = PlanLimits {
        block_bytes: GIB,
        binding_bytes: 128 << 20,
        rounding: BlockRounding::NONE,
    };
    let plan = Plan::new(&table, &[&program], limits).unwrap();
    assert!(plan.arena_live_bytes <= 22 * u64::from(n), "{}", plan.arena_live_bytes);
}
