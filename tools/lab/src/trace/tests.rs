#![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]

use kiln_program::Tag;

use super::line::{Phase, Process};
use super::*;

/// A run whose model doubles, with two scratch tensors that do not live together, and one that outlives both.
pub(crate) fn trace() -> String {
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
