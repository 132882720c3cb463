//! Memory of events, which counts that of all threads: alone in its process.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::ops::ControlFlow;

use kiln_triangles::schedule::{PruneRule, SplitRule};
use kiln_triangles::{Adjacency, Limits, Triangles, host_bytes};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// Bytes taken at the peak of a job beyond those that were taken before.
fn peak_bytes<T>(job: impl FnOnce() -> T) -> u64 {
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    drop(job());
    (ALLOCATED.peak_usage() - before) as u64
}

#[test]
fn no_event_takes_more_than_predicted() {
    // A wavy sheet between points far above and below.
    let side = 180_u32;
    let noise = |i: u32| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 24) as f32;
    let place = |v: u32| {
        let [x, y] = [v % side, v / side].map(|i| i as f32 / side as f32);
        let jitter = [3 * v, 3 * v + 1, 3 * v + 2].map(|i| 0.3 * noise(i) / side as f32);
        [x + jitter[0], y + jitter[1], 0.05 * (9.0 * x).sin() + jitter[2]]
    };
    let mut positions: Vec<[f32; 3]> = (0..side * side).map(place).collect();
    positions.extend([[0.5, 0.5, 3.0], [0.5, 0.5, -3.0], [-4.0, 0.3, 0.1], [5.0, 0.4, 0.2]]);
    let squares = (0..side - 1).flat_map(|y| (0..side - 1).map(move |x| y * side + x));
    let triangles: Vec<[u32; 3]> = squares
        .flat_map(|v| [[v, v + 1, v + side], [v + 1, v + side + 1, v + side]])
        .collect();
    let (vertices, count) = (positions.len() as u64, triangles.len() as u64);
    let weights = vec![0.0; positions.len()];
    let (importance, sizes_px) = (vec![0.5; triangles.len()], vec![9.0; triangles.len()]);
    let read = Triangles::new((&positions, &weights, 0.1), &triangles, (&importance, &sizes_px)).unwrap();
    let most = host_bytes(vertices, count);
    let pruning = peak_bytes(|| {
        read.prune(&PruneRule {
            opacity: 0.2,
            size_px: 1400.0,
            importance: Some(0.2),
        })
        .unwrap()
    });
    let rule = SplitRule {
        growth: 2.0,
        largest: 100,
        least_area: 0.0,
    };
    let splitting = peak_bytes(|| {
        let sample = read.sample(&rule, u32::MAX, |id| noise(id).max(1e-7));
        read.split(&sample, [u32::MAX; 2])
    });
    let connecting = peak_bytes(|| {
        let limits = Limits {
            vertices: u32::MAX,
            triangles: 3 * vertices as u32,
            memory_bytes: u64::MAX,
            orient: true,
        };
        let found = read.connect(&limits, &mut |_| ControlFlow::Continue(()));
        assert!(found.unwrap().triangles.len() as u64 > count / 2);
    });
    let listing = peak_bytes(|| Adjacency::new(positions.len(), &triangles));
    for (event, taken) in [
        ("pruning", pruning),
        ("splitting", splitting),
        ("connecting", connecting),
        ("adjacency", listing),
    ] {
        println!("{event} takes {taken} of {most} B");
        assert!(taken <= most, "{event} takes {taken} of {most} B");
    }
    assert!(10 * connecting > 6 * most, "{connecting} of {most} B");
}
