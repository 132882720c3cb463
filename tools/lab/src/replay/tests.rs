//! Allocators on a trace made up here, and on the stored ones.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs;

use clap::ValueEnum as _;

use super::*;
use crate::trace::tests::trace;
use crate::trace::{Happening, read};

const OPTIONS: Options = Options {
    heap_bytes: 64 * MIB,
    fragmentation: Fragmentation::Normal,
    scale: 1,
    call_ns: 0,
    demand: Demand::Counts,
};

#[test]
fn live_bytes_follow_the_counts() {
    let sections = read(&trace()).unwrap();
    let live = live(&sections, 3);
    // The model of 2000, then b and c: 4000 of 8192 intersections, all pixels.
    let current = 48 * 8000 + (1 << 20) * 4000 / 8192 + (1 << 16);
    assert_eq!(live.current_bytes, 3 * current);
    assert_eq!(live.capacity_bytes, 3 * (48 * 16384 + (1 << 20) + (1 << 16)));
}

#[test]
fn the_plan_needs_what_lives_at_capacity_and_copies_nothing() {
    let sections = read(&trace()).unwrap();
    let outcome = replay(&sections, AllocatorKind::Planned, &OPTIONS).unwrap().unwrap();
    assert_eq!(outcome.refused, None);
    assert_eq!(outcome.driver.peak_reserved_bytes, live(&sections, 1).capacity_bytes);
    assert_eq!(
        (outcome.driver.calls, outcome.copied_bytes),
        (2, 0),
        "one block for the model, one for the arena"
    );
    assert_eq!(outcome.fragmentation, 0.0);
}

#[test]
fn growth_by_reallocation_copies_what_there_was() {
    let sections = read(&trace()).unwrap();
    let outcome = replay(&sections, AllocatorKind::Tlsf, &OPTIONS).unwrap().unwrap();
    assert_eq!((outcome.refused, outcome.copied_bytes), (None, 48 * 4000));
}

#[test]
fn the_smallest_heap_is_between_what_lives_and_what_was_taken() {
    let sections = read(&trace()).unwrap();
    let live = live(&sections, 1);
    for kind in [AllocatorKind::Planned, AllocatorKind::Tlsf] {
        let need = smallest_heap(&sections, kind, &OPTIONS, 64 * MIB).unwrap().unwrap();
        let outcome = replay(&sections, kind, &OPTIONS).unwrap().unwrap();
        assert!(need + MIB / 4 >= live.current_bytes, "{} needs {need}", kind.name());
        assert!(
            need <= outcome.driver.peak_reserved_bytes + MIB / 4,
            "{} needs {need}",
            kind.name()
        );
        let short = Options {
            heap_bytes: need / 2,
            ..OPTIONS
        };
        let refused = replay(&sections, kind, &short).unwrap().unwrap().refused;
        assert!(refused.is_some(), "{} found room in half of what it needs", kind.name());
    }
}

#[test]
fn an_allocator_that_is_not_built_in_is_none() {
    let sections = read(&trace()).unwrap();
    let outcome = replay(&sections, AllocatorKind::Vma, &OPTIONS).unwrap();
    assert_eq!(outcome.is_some(), cfg!(feature = "vma"));
}

/// The bar of the allocator that Kiln uses: on traces of real runs it takes what lives, and next to nothing else.
#[test]
fn the_plan_needs_no_more_than_two_percent_above_what_lives() {
    let files = stored().unwrap();
    assert!(files.len() >= 2, "{files:?}");
    for file in files {
        assert!(
            fs::metadata(&file).unwrap().len() < 200_000,
            "{} is large",
            file.display()
        );
        let sections = open(&file).unwrap();
        let options = Options {
            heap_bytes: 64 * GIB,
            fragmentation: Fragmentation::Normal,
            scale: full_scale(&sections),
            call_ns: 0,
            demand: Demand::Counts,
        };
        let rows = compare(&sections, &options).unwrap();
        let name = file.display();
        let planned = &rows[0];
        assert_eq!(planned.kind, AllocatorKind::Planned);
        let live = planned.live.capacity_bytes;
        let peak = planned.same.driver.peak_reserved_bytes;
        assert!(peak as f64 <= 1.02 * live as f64, "{name}: {peak} for {live}");
        let need = planned.need_bytes.unwrap();
        assert!(need as f64 <= 1.02 * live as f64, "{name}: needs {need} for {live}");
        assert!(planned.at_load[0], "{name}: does not fit at 97 % load");
        assert_eq!(planned.own.copied_bytes, 0);
        for row in &rows {
            for outcome in [&row.same, &row.own] {
                assert_eq!(outcome.refused, None, "{name}: {} on 64 GiB", row.kind.name());
            }
            // Asked for the same, no allocator takes less than what lives at once, and none has anything to copy.
            assert!(
                row.same.driver.peak_reserved_bytes >= live,
                "{name}: {}",
                row.kind.name()
            );
            assert_eq!(row.same.copied_bytes, 0, "{name}: {}", row.kind.name());
        }
        let requests: Vec<u64> = rows.iter().map(|row| row.same.requests).collect();
        assert!(requests.iter().all(|n| *n == requests[0]), "{name}: {requests:?}");
        let of = |kind| rows.iter().find(|row| row.kind == kind).unwrap();
        assert!(
            of(AllocatorKind::Tlsf).own.copied_bytes > 0,
            "{name}: the model did not grow"
        );
    }
}

/// What the modes of the general allocator trade: thrift for work, within their bounds.
#[test]
fn a_thriftier_mode_reserves_no_more_on_the_stored_traces() {
    for file in stored().unwrap() {
        let sections = open(&file).unwrap();
        let mut peaks = Vec::new();
        for mode in Fragmentation::value_variants() {
            let options = Options {
                heap_bytes: 64 * GIB,
                fragmentation: *mode,
                scale: full_scale(&sections),
                call_ns: 0,
                demand: Demand::Counts,
            };
            let again = || replay(&sections, AllocatorKind::Tlsf, &options).unwrap().unwrap();
            let outcome = again();
            assert_eq!(outcome.refused, None);
            // Deciding what to move is less work than the seeds allow their modes: 3, 0.5 and 0.1 % of training.
            let share = [0.03, 0.005, 0.001][peaks.len()];
            let seconds: f64 = sections.iter().filter_map(trained_s).sum();
            let mut tending_s = outcome.tending_s;
            for _ in 0..4 {
                if tending_s > share * seconds {
                    // Whatever else this machine does can only add to a time, and hardly to each of five.
                    tending_s = tending_s.min(again().tending_s);
                }
            }
            assert!(
                tending_s <= share * seconds,
                "{}: {tending_s} s of {seconds} s in mode {}",
                file.display(),
                mode.name()
            );
            peaks.push(outcome.driver.peak_reserved_bytes);
        }
        assert!(
            peaks.is_sorted(),
            "{}: aggressive, normal, minimal: {peaks:?}",
            file.display()
        );
    }
}

/// Seconds of training that a process reports.
fn trained_s(section: &Section) -> Option<f64> {
    let told = section.happenings.iter().rev();
    let mut told = told.filter_map(|h| match h {
        Happening::Topology(topology) => Some(topology.t_s),
        _ => None,
    });
    told.next()
}
