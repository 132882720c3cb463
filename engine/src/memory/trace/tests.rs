#![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]

use super::replay::{Options, live, replay, smallest_heap};
use super::*;
use crate::memory::MIB;
use crate::memory::backend::{Backend, BackendKind, SimulatedDriver};
use crate::program::Tag;

/// A run whose model doubles, with two scratch tensors that do not live together, and one that outlives both.
fn trace() -> String {
    let start = Start {
        version: Start::VERSION,
        scene: "box".to_owned(),
        device: "none".to_owned(),
        process: Process::New,
        it: 0,
        gaussians: 1000,
        backend: "planned".to_owned(),
        cap_bytes: 1 << 30,
        block_bytes: 1 << 30,
        extra_bytes: 0,
        granularity_bytes: 1,
        n_cap: 4096,
        v_cap: 4096,
        i_cap: 8192,
        max_pixels: 1024,
        chunk: 4096,
    };
    let tensor = |name: &str, class, unit, bytes: u64, of: u64, rows: u64| {
        Line::Tensor(TensorLine {
            name: name.to_owned(),
            class,
            tag: Tag::Other,
            bytes,
            unit,
            first: 0,
            of,
            rows,
        })
    };
    let step = |it, n| {
        Line::Step(Step {
            it,
            n,
            v: n / 2,
            i: n * 2,
            px: 1024,
            runs: vec![0],
        })
    };
    let mut lines = vec![
        Line::Start(start),
        tensor("model/sh[0]", Class::Persistent, Unit::Gaussians, 48 * 16384, 4096, 48),
        tensor("step/a", Class::Arena, Unit::Visible, 1 << 20, 4096, 1),
        tensor("step/b", Class::Arena, Unit::Intersections, 1 << 20, 8192, 1),
        tensor("step/c", Class::Arena, Unit::Pixels, 1 << 16, 1024, 1),
        tensor("ring/up", Class::Upload, Unit::Fixed, 1 << 20, 1, 1),
        Line::Program(ProgramLine {
            name: "step".to_owned(),
            arena: vec![(1, 0, 3), (2, 5, 9), (3, 0, 9)],
        }),
    ];
    lines.extend((1..=10).map(|it| step(it, 1000)));
    lines.push(Line::Topology(Topology {
        it: 10,
        n: 2000,
        live_bytes: 48 * 8000,
        reserved_bytes: 1 << 21,
        t_s: 1.5,
    }));
    lines.extend((11..=20).map(|it| step(it, 2000)));
    lines.push(Line::Work(Work {
        it: 20,
        phase: Phase::Eval,
        px: 512,
        runs: vec![0],
    }));
    lines
        .iter()
        .map(|line| serde_json::to_string(line).unwrap() + "\n")
        .collect()
}

const OPTIONS: Options = Options {
    heap_bytes: 64 * MIB,
    fragmentation: None,
    scale: 1,
    call_ns: 0,
};

fn none(_: BackendKind, _: &SimulatedDriver) -> Option<Box<dyn Backend>> {
    None
}

#[test]
fn lines_survive_the_file_and_a_cut_one_is_left_out() {
    let text = trace();
    let sections = read(&text).unwrap();
    let [section] = &sections[..] else {
        panic!("one process")
    };
    assert_eq!((section.tensors.len(), section.programs.len()), (5, 1));
    assert_eq!(section.happenings.len(), 22);
    let cut = read(&text[..text.len() - 10]).unwrap();
    assert_eq!(cut[0].happenings.len(), 21);
}

#[test]
fn a_damaged_trace_is_named_by_line() {
    for (text, said) in [
        ("", "no `start` line"),
        ("{}\n", "line 1"),
        (
            "{\"type\":\"step\",\"it\":1,\"n\":1,\"v\":1,\"i\":1,\"px\":1,\"runs\":[]}\n",
            "before any `start`",
        ),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    for (from, to, said) in [
        ("\"runs\":[0]", "\"runs\":[7]", "no program 7"),
        ("[1,0,3]", "[9,0,3]", "uses tensor 9 at no time"),
        ("[1,0,3]", "[1,4,3]", "at no time"),
        ("\"version\":1", "\"version\":2", "version 2 is not 1"),
        ("\"rows\":48", "\"rows\":0", "rows or units of nothing"),
    ] {
        let error = read(&trace().replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

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
    let outcome = replay(&sections, BackendKind::Planned, &OPTIONS, &none)
        .unwrap()
        .unwrap();
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
fn growth_by_reallocation_copies_what_there_was_and_holds_both() {
    let sections = read(&trace()).unwrap();
    let outcome = replay(&sections, BackendKind::Naive, &OPTIONS, &none).unwrap().unwrap();
    assert_eq!(outcome.copied_bytes, 48 * 4000);
    // Every step takes three tensors and gives them back; the model was taken, taken again, and given back once.
    assert_eq!(outcome.driver.calls, 21 * 6 + 3);
    let live = live(&sections, 1).current_bytes;
    assert_eq!(
        outcome.driver.peak_reserved_bytes, live,
        "the copy needs less than a step"
    );
}

#[test]
fn pages_grow_with_the_model_without_a_copy() {
    let sections = read(&trace()).unwrap();
    let outcome = replay(&sections, BackendKind::Sparse, &OPTIONS, &none)
        .unwrap()
        .unwrap();
    assert_eq!((outcome.refused, outcome.copied_bytes), (None, 0));
}

#[test]
fn the_smallest_heap_is_between_what_lives_and_what_was_taken() {
    let sections = read(&trace()).unwrap();
    let live = live(&sections, 1);
    for kind in [BackendKind::Planned, BackendKind::Tlsf, BackendKind::Naive] {
        let need = smallest_heap(&sections, kind, &OPTIONS, &none, 64 * MIB)
            .unwrap()
            .unwrap();
        let outcome = replay(&sections, kind, &OPTIONS, &none).unwrap().unwrap();
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
        let refused = replay(&sections, kind, &short, &none).unwrap().unwrap().refused;
        assert!(refused.is_some(), "{} found room in half of what it needs", kind.name());
    }
}

#[test]
fn an_allocator_that_is_not_built_in_is_none() {
    let sections = read(&trace()).unwrap();
    assert_eq!(replay(&sections, BackendKind::Vma, &OPTIONS, &none).unwrap(), None);
}
