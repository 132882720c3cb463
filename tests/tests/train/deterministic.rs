//! Deterministic mode: the same bytes from every run, however many threads the driver uses.

#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use kiln::plan::schedule::sh_degree_at;
use kiln_tests::runs::{self, EVENTFUL, Scratch, profile};

const CHECKPOINT: (&str, &str) = ("schedule.checkpoint", "[40]");

/// Trains up to iteration `to` in a process of its own, because the driver reads its settings once per process.
fn train(root: &Path, threads: &str, to: &str, resume: bool) {
    let extra = [CHECKPOINT, ("schedule.iterations", to)];
    let mut command = runs::train_command(root, &[EVENTFUL, &extra]);
    if resume {
        command.arg("--resume");
    }
    let (code, errors) = runs::outcome(command.env("LP_NUM_THREADS", threads));
    assert_eq!(code, Some(0), "{errors}");
}

/// Four runs of one schedule: twice with two threads, once with one, and once with one thread up to iteration 41 and two
/// from there on.
#[test]
fn deterministic_runs_give_the_same_bytes() {
    let scratch = Scratch::new("deterministic");
    let runs = [("a", "2"), ("b", "2"), ("c", "1")].map(|(name, threads)| {
        let root = scratch.join(name);
        train(&root, threads, "72", false);
        root
    });
    let paused = scratch.join("d");
    train(&paused, "1", "41", false);
    train(&paused, "2", "72", true);

    let [first, others @ ..] = &runs;
    // What the bytes went through, on both sides of the pause: densifications, births, deaths, resets and more colours.
    runs::assert_eventful(first, 0, 40, 3);
    runs::assert_eventful(first, 40, 72, 3);
    let settings = profile(first, &[EVENTFUL]);
    let degrees = [1, 40, 72].map(|iteration| sh_degree_at(&settings, iteration));
    assert!(degrees[0] < degrees[1] && degrees[1] < degrees[2], "{degrees:?}");
    let resumed = runs::events(&paused, "resume");
    assert_eq!(resumed.len(), 1);
    assert_eq!(resumed[0]["it"], 40);

    for other in others.iter().chain([&paused]) {
        assert_eq!(runs::history(first), runs::history(other));
        assert!(
            runs::raw_model(first, 72) == runs::raw_model(other, 72),
            "models differ: {}",
            other.display()
        );
        let pairs = std::iter::zip(runs::checkpoints(first), runs::checkpoints(other));
        let same = pairs.map(|(a, b)| {
            assert_eq!(a.file_name().unwrap(), b.file_name().unwrap());
            let (a, b) = (runs::checkpoint(&a), runs::checkpoint(&b));
            assert_eq!(a.1, b.1);
            assert!(a.0 == b.0, "checkpoints differ");
        });
        assert_eq!(same.count(), 2);
    }
}
