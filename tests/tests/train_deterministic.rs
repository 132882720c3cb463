//! Deterministic mode: the same bytes from every run, however many threads the driver uses.

use std::path::Path;

use kiln_tests::runs::{self, EVENTFUL, Scratch};

/// Trains in a process of its own, because the driver reads its settings once per process.
fn train(root: &Path, threads: &str) {
    let extra = [("debug.validation", "false"), ("schedule.checkpoint", "[40]")];
    let mut command = runs::train_command(root, &[EVENTFUL, &extra]);
    let (code, errors) = runs::outcome(command.env("LP_NUM_THREADS", threads));
    assert_eq!(code, Some(0), "{errors}");
    runs::assert_eventful(root, 0, 72, 3);
}

#[test]
fn deterministic_runs_give_the_same_bytes() {
    let scratch = Scratch::new("deterministic");
    let runs = [("a", "2"), ("b", "2"), ("c", "1")].map(|(name, threads)| {
        let root = scratch.join(name);
        train(&root, threads);
        root
    });
    let [first, others @ ..] = &runs;
    for other in others {
        assert_eq!(runs::history(first), runs::history(other));
        assert!(
            runs::raw_model(first, 72) == runs::raw_model(other, 72),
            "models differ"
        );
        let pairs = std::iter::zip(runs::checkpoints(first), runs::checkpoints(other));
        let same = pairs.map(|(a, b)| {
            let (a, b) = (runs::checkpoint(&a), runs::checkpoint(&b));
            assert_eq!(a.1, b.1);
            assert!(a.0 == b.0, "checkpoints differ");
        });
        assert_eq!(same.count(), 2);
    }
}
