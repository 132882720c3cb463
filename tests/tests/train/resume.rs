//! Checkpoint and resume: a pause changes nothing, and what does not belong together is refused.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests stop at the first surprise"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use kiln::cli::{Exit, Failure as _};
use kiln::plan::schedule;
use kiln::run::interrupt::{Interrupt, Signal};
use kiln::run::{ResumeFrom, RunError};
use kiln::train::TrainError;
use kiln_tests::child;
use kiln_tests::runs::{self, EVENTFUL, Scratch, json, profile};

const CHECKPOINT: (&str, &str) = ("schedule.checkpoint", "[36]");

/// A run without a pause, made once.
fn whole() -> &'static Path {
    static WHOLE: OnceLock<Scratch> = OnceLock::new();
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    // First the turn, then the run: who has the turn and waits for a run of somebody who waits for the turn waits for ever.
    kiln_tests::gpu::take_turn();
    ROOT.get_or_init(|| {
        let root = WHOLE.get_or_init(|| Scratch::new("whole")).join("run");
        let never = Interrupt::unattached();
        runs::train(profile(&root, &[EVENTFUL, &[CHECKPOINT]]), None, &never).unwrap();
        root
    })
}

/// Ends a run by `signal` as soon as `file` is there.
fn interrupt_at(file: PathBuf, signal: Signal) -> Interrupt {
    let interrupt = Interrupt::unattached();
    let asking = interrupt.clone();
    std::thread::spawn(move || {
        let end = Instant::now() + Duration::from_secs(120);
        while Instant::now() < end && !file.exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
        asking.ask(signal);
    });
    interrupt
}

fn assert_same_end(run: &Path) {
    assert_eq!(json(&run.join("run.json"))["status"], "done");
    assert!(
        runs::raw_model(whole(), 72) == runs::raw_model(run, 72),
        "models differ"
    );
    let last = |root: &Path| runs::checkpoint(&root.join("checkpoints/checkpoint_00000071.kiln"));
    let (a, b) = (last(whole()), last(run));
    assert_eq!(a.1, b.1);
    assert!(a.0 == b.0, "checkpoints differ");
}

#[test]
fn an_interrupted_run_ends_as_if_it_had_not_been() {
    let scratch = Scratch::new("interrupted");
    let root = scratch.join("run");
    let settings = profile(&root, &[EVENTFUL, &[CHECKPOINT]]);
    let interrupt = interrupt_at(root.join("checkpoints/checkpoint_00000036.kiln"), Signal::Terminate);
    let first = runs::train(settings.clone(), None, &interrupt).unwrap();
    let at = first.iterations;
    assert_eq!(first.signal, Some(Signal::Terminate));
    assert!((36..60).contains(&at), "interrupted at {at}");
    let run = json(&root.join("run.json"));
    assert_eq!(
        (&run["status"], &run["iterations"]["done"]),
        (&"interrupted".into(), &at.into())
    );
    assert!(
        runs::checkpoints(&root)
            .last()
            .unwrap()
            .ends_with(format!("checkpoint_{at:08}.kiln"))
    );

    let second = runs::train(settings.clone(), Some(ResumeFrom::Latest), &Interrupt::unattached()).unwrap();
    assert_eq!((second.iterations, second.signal), (72, None));
    assert_same_end(&root);
    // Both sides have densifications, prunes, a reset, a degree raise and the end of an epoch of 35 views.
    let degree = |iteration| schedule::sh_degree_at(&settings, iteration);
    assert!(degree(1) < degree(at) && degree(at) < degree(72));
    assert!(at > 35 && at < 70);
    runs::assert_eventful(&root, 0, u64::from(at), 2);
    runs::assert_eventful(&root, u64::from(at), 72, 1);
    assert_eq!(
        runs::history(whole()),
        runs::history(&root),
        "each event is recorded once"
    );
    assert_eq!(runs::events(&root, "resume")[0]["it"], at);
    // The latest two are kept: of 36, the interruption, and 71.
    assert_eq!(runs::checkpoints(&root).len(), 2);
}

#[test]
fn a_run_may_be_extended() {
    let scratch = Scratch::new("extended");
    let root = scratch.join("run");
    let never = Interrupt::unattached();
    let short = profile(&root, &[EVENTFUL, &[("schedule.iterations", "40")]]);
    assert_eq!(runs::train(short.clone(), None, &never).unwrap().iterations, 40);
    // Once more with the same length: the last step again, to the same end.
    let model = runs::raw_model(&root, 40);
    runs::train(short, Some(ResumeFrom::Latest), &never).unwrap();
    assert!(model == runs::raw_model(&root, 40), "the last step repeated differs");

    let long = profile(&root, &[EVENTFUL]);
    assert_eq!(
        runs::train(long, Some(ResumeFrom::Latest), &never).unwrap().iterations,
        72
    );
    assert_same_end(&root);
    assert_eq!(json(&root.join("run.json"))["iterations"]["total"], 72);
}

/// Image sizes change between two steps; a pause exactly there must not lose what the change brings.
#[test]
fn a_pause_between_two_image_sizes_changes_nothing() {
    let scratch = Scratch::new("phases");
    let phases = [
        ("schedule.resolution", "[{ until: 12, scale: 0.5 }]"),
        ("schedule.iterations", "16"),
        ("schedule.checkpoint", "[12]"),
        ("strategy.kind", "fixed"),
    ];
    let without_strategy: Vec<_> = EVENTFUL
        .iter()
        .copied()
        .filter(|(key, _)| !key.starts_with("strategy"))
        .collect();
    let never = Interrupt::unattached();
    let (a, b) = (scratch.join("a"), scratch.join("b"));
    runs::train(profile(&a, &[&without_strategy, &phases]), None, &never).unwrap();
    let from = a.join("checkpoints/checkpoint_00000012.kiln");
    // A checkpoint may start a folder of its own.
    let settings = profile(&b, &[&without_strategy, &phases]);
    runs::train(settings, Some(ResumeFrom::File(from)), &never).unwrap();
    assert!(runs::raw_model(&a, 16) == runs::raw_model(&b, 16), "models differ");
}

#[test]
fn a_signal_before_the_first_step_saves_the_start() {
    let scratch = Scratch::new("start");
    let root = scratch.join("run");
    let settings = profile(&root, &[EVENTFUL, &[CHECKPOINT]]);
    let interrupt = Interrupt::unattached();
    interrupt.ask(Signal::Interrupt);
    let end = runs::train(settings.clone(), None, &interrupt).unwrap();
    assert_eq!((end.iterations, end.signal), (0, Some(Signal::Interrupt)));
    runs::train(settings, Some(ResumeFrom::Latest), &Interrupt::unattached()).unwrap();
    assert_same_end(&root);
}

/// Copies the unpaused run's folder as far as a resume needs it.
fn copy_of_whole(to: &Path) {
    fs::create_dir_all(to.join("checkpoints")).unwrap();
    for file in ["run.json", "metrics.jsonl", "memory.jsonl"] {
        fs::copy(whole().join(file), to.join(file)).unwrap();
    }
    for file in runs::checkpoints(whole()) {
        fs::copy(&file, to.join("checkpoints").join(file.file_name().unwrap())).unwrap();
    }
}

#[test]
fn a_damaged_checkpoint_is_passed_over_with_a_warning() {
    for (name, damage) in [
        (
            "a changed byte",
            (|bytes: &mut Vec<u8>| bytes[1000] ^= 1) as fn(&mut Vec<u8>),
        ),
        ("a cut end", |bytes| bytes.truncate(bytes.len() / 2)),
        ("nothing", Vec::clear),
    ] {
        let scratch = Scratch::new("damaged");
        let root = scratch.join("run");
        copy_of_whole(&root);
        let newest = root.join("checkpoints/checkpoint_00000071.kiln");
        let mut bytes = fs::read(&newest).unwrap();
        damage(&mut bytes);
        fs::write(&newest, bytes).unwrap();
        let settings = profile(&root, &[EVENTFUL]);
        runs::train(settings.clone(), Some(ResumeFrom::Latest), &Interrupt::unattached()).unwrap();
        assert_eq!(runs::events(&root, "resume")[0]["it"], 36, "{name}");
        let warning = runs::events(&root, "warning");
        let text = warning[0]["detail"]["message"].as_str().unwrap();
        assert!(
            text.contains("checkpoint_00000071.kiln") && text.contains("damaged"),
            "{text}"
        );
        assert_same_end(&root);

        // Named as a file, it is an error, and the run stays as it is.
        fs::write(&newest, b"KILNCKP1").unwrap();
        let before = fs::read(root.join("run.json")).unwrap();
        let from = Some(ResumeFrom::File(newest));
        let error = runs::train(settings, from, &Interrupt::unattached()).unwrap_err();
        assert!(matches!(error, RunError::Train(TrainError::Checkpoint(_))), "{error}");
        assert_eq!(error.exit(), Exit::Data);
        assert_eq!(fs::read(root.join("run.json")).unwrap(), before);
    }
}

#[test]
fn what_does_not_belong_to_the_run_is_refused() {
    let scratch = Scratch::new("refused");
    let root = scratch.join("run");
    copy_of_whole(&root);
    let before = fs::read(root.join("run.json")).unwrap();
    let refused = |settings: &[(&str, &str)], words: &[&str]| {
        let settings = profile(&root, &[EVENTFUL, settings]);
        let error = runs::train(settings, Some(ResumeFrom::Latest), &Interrupt::unattached());
        let error = error.expect_err(words[0]);
        let text = error.to_string();
        for word in words {
            assert!(text.contains(word), "`{word}` is not in: {text}");
        }
        assert_eq!(error.exit(), Exit::Data, "{text}");
        assert_eq!(fs::read(root.join("run.json")).unwrap(), before, "{text}");
    };
    refused(
        &[("optimizer.lr.opacity", "0.01")],
        &["optimizer.lr.opacity", "0.05", "0.01"],
    );
    refused(&[("train.seed", "7")], &["train.seed"]);
    refused(&[("dataset.resolution", "90")], &["another scene, split or resolution"]);
    refused(
        &[("dataset.hold_out", "false")],
        &["another scene, split or resolution"],
    );
    refused(&[("schedule.iterations", "60")], &["71", "60"]);
    let empty = profile(&scratch.join("empty"), &[EVENTFUL]);
    let error = runs::train(empty, Some(ResumeFrom::Latest), &Interrupt::unattached()).unwrap_err();
    assert!(error.to_string().contains("holds no run"), "{error}");

    // The same photos with one point elsewhere are another scene.
    let other = scratch.join("other");
    for folder in ["images", "sparse/0"] {
        fs::create_dir_all(other.join(folder)).unwrap();
        for entry in fs::read_dir(runs::scene().join(folder)).unwrap() {
            let from = entry.unwrap().path();
            fs::copy(&from, other.join(folder).join(from.file_name().unwrap())).unwrap();
        }
    }
    let points = other.join("sparse/0/points3D.bin");
    let mut bytes = fs::read(&points).unwrap();
    bytes[16..24].copy_from_slice(&0.125_f64.to_le_bytes());
    fs::write(&points, bytes).unwrap();
    let settings = profile(&root, &[EVENTFUL]);
    let error = runs::train_scene(settings, other, Some(ResumeFrom::Latest), &Interrupt::unattached());
    match error {
        Err(error) => assert!(error.to_string().contains("another scene"), "{error}"),
        Ok(_) => panic!("a run of another scene went on"),
    }
    assert_eq!(fs::read(root.join("run.json")).unwrap(), before);
}

/// Deterministic runs keep their kernels: another driver setting that brings others is refused.
#[test]
fn other_kernels_do_not_go_on_with_a_deterministic_run() {
    let scratch = Scratch::new("kernels");
    let root = scratch.join("run");
    let command = |settings: &[(&str, &str)]| {
        let mut command = runs::train_command(&root, &[EVENTFUL, settings]);
        // Subgroups of 16 lanes, where the sort may use them.
        child::set_vectors(&mut command, "512");
        command
    };
    let off = ("fault.no_subgroups", "true");
    let (code, text) = runs::outcome(&mut command(&[("schedule.iterations", "2"), off]));
    assert_eq!(code, Some(0), "{text}");
    let longer = ("schedule.iterations", "4");
    let (code, text) = runs::outcome(command(&[longer]).arg("--resume"));
    assert_eq!(code, Some(i32::from(Exit::Data as u8)), "{text}");
    assert!(
        text.contains("train.deterministic") && text.contains(r#""sort_subgroup":0"#) && text.contains(":16"),
        "{text}"
    );
    let (code, text) = runs::outcome(command(&[longer, off]).arg("--resume"));
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(json(&root.join("run.json"))["iterations"]["done"], 4);
}
