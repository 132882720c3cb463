//! Re-sorts by place on the device against the order that the CPU reference gives.

use kiln::step::{ReorderTensors, reorder};
use kiln_gaussians::layout::Storage;
use kiln_kernels::prepare_args;
use kiln_kernels::views::{Reduction, Variants};
use kiln_program::Program;
use kiln_tests::child;
use kiln_tests::gpu::{open, variants};
use kiln_twins::morton::{Frame, sources};
use kiln_twins::statistics::Statistics;

use super::rig::{Rig, State, capacities, random};

const FRAME: ([f32; 3], f32) = ([0.25, -0.5, 1.0], 1.7);
const CAPACITY: u32 = 8192;

fn rig(chunk: u32, storage: (Storage, u32), rows: u32, variants: &Variants) -> (Rig, Program) {
    let capacities = capacities(CAPACITY, chunk, storage);
    Rig::of(&capacities, variants, |table, t| {
        let mut tensors = ReorderTensors::new(table, &capacities, variants);
        assert_eq!(tensors.workspace.rows, 4, "16 bytes a Gaussian");
        tensors.workspace.rows = rows;
        let mut program = Program::new("reorder");
        prepare_args::record(&mut program, &t.shared, &t.chunks);
        reorder(&mut program, t, &tensors, &Frame::new(FRAME.0, FRAME.1));
        program
    })
}

/// Random Gaussians, some at the same place, some far away, some nowhere. Statistics are cleared, as after an event.
fn scattered(n: u32, key: u32) -> State {
    let mut state = random(n, 3, key);
    state.statistics = vec![Statistics::default(); n as usize];
    for id in 0..n as usize {
        let g = &mut state.gaussians[id];
        match id % 50 {
            1 | 2 => g.mean = [0.5, 0.25, -0.125],
            3 => g.mean = g.mean.map(|x| 1e4 * x),
            4 => g.mean[id % 3] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY][id / 50 % 3],
            _ => {}
        }
    }
    state
}

fn bits(parts: [Vec<Vec<f32>>; 5]) -> [Vec<Vec<u32>>; 5] {
    parts.map(|part| {
        let rows = part.into_iter();
        rows.map(|row| row.into_iter().map(f32::to_bits).collect()).collect()
    })
}

/// Every word of every Gaussian is where the twin says, nothing behind the last one changed.
fn check(state: &State, chunk: u32, storage: (Storage, u32), rows: u32, variants: &Variants) {
    let (mut rig, program) = rig(chunk, storage, rows, variants);
    rig.write(state, 0);
    let (before, counters) = (bits(rig.read(CAPACITY as usize)), rig.counters());
    rig.gpu.run(&program).unwrap();
    let after = bits(rig.read(CAPACITY as usize));
    let centers: Vec<[f32; 3]> = state.gaussians.iter().map(|g| g.mean).collect();
    let n = centers.len();
    let sources = sources(&Frame::new(FRAME.0, FRAME.1), &centers);
    assert!(
        n < 200 || sources.windows(2).any(|pair| pair[0] > pair[1]),
        "nothing to sort"
    );
    for (part, (before, after)) in before.iter().zip(&after).enumerate() {
        for (place, source) in sources.iter().enumerate() {
            assert_eq!(
                after[place], before[*source as usize],
                "tensor {part}, place {place} of {n}"
            );
        }
        assert_eq!(after[n..], before[n..], "tensor {part}, behind the last");
    }
    let found = rig.counters();
    assert_eq!(found.gaussians, counters.gaussians);
    rig.finish();
}

#[test]
fn the_device_sorts_as_the_reference_does() {
    let portable = variants(Reduction::Segmented);
    for n in [0, 1, 2, 255, 257, 3001, CAPACITY] {
        check(&scattered(n, n), 1024, (Storage::Exact, 1), 4, &portable);
    }
}

#[test]
fn chunks_rows_and_storage_do_not_matter() {
    let portable = variants(Reduction::Segmented);
    for (chunk, rows, storage) in [
        (256, 1, (Storage::Exact, 3)),
        (512, 3, (Storage::Half, 1)),
        (CAPACITY, 2, (Storage::Compact, 2)),
        (2048, 4, (Storage::Compact, 3)),
    ] {
        check(&scattered(5003, 7), chunk, storage, rows, &portable);
    }
}

#[test]
fn every_subgroup_width_gives_the_same_order() {
    if let Some(role) = child::role() {
        let size = open().caps().subgroup_size;
        assert_eq!(size.to_string(), role, "the driver's subgroup size");
        let wide = Variants {
            sort_subgroup: size,
            ..variants(Reduction::Segmented)
        };
        return check(&scattered(6007, 11), 1024, (Storage::Exact, 0), 4, &wide);
    }
    for (width, size) in [("128", "4"), ("256", "8"), ("512", "16")] {
        child::run_with_vectors(module_path!(), "every_subgroup_width_gives_the_same_order", size, width);
    }
}

#[test]
fn a_stalled_run_stays_as_it_is() {
    let (mut rig, program) = rig(1024, (Storage::Exact, 1), 4, &variants(Reduction::Segmented));
    rig.write(&random(3000, 1, 26), 2);
    let before = (rig.counters(), bits(rig.read(CAPACITY as usize)));
    rig.gpu.run(&program).unwrap();
    assert_eq!((rig.counters(), bits(rig.read(CAPACITY as usize))), before);
    rig.finish();
}
