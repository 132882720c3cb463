//! What a run reports while it happens: event files, JSON lines, memory rows, pictures off the training path, early stop.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kiln::cli::{Exit, Failure as _};
use kiln::run::ResumeFrom;
use kiln::run::interrupt::Interrupt;
use kiln_tests::runs::{self, QUICK, Scratch, json, kiln, profile, rows};
use kiln_tests::tfevents::{self, Event, Value, What, of_tag};

fn never() -> Interrupt {
    Interrupt::unattached()
}

/// Event files of a run, oldest first.
fn event_files(run: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(run).unwrap().map(|entry| entry.unwrap().path());
    let is_events = |path: &PathBuf| {
        path.file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with("events.out.tfevents.")
    };
    let mut files: Vec<_> = entries.filter(is_events).collect();
    files.sort_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
    files
}

fn events(file: &Path) -> Vec<Event> {
    tfevents::read(&fs::read(file).unwrap()).unwrap()
}

fn scalars(events: &[Event], tag: &str) -> Vec<(u64, f32)> {
    let of = |(step, value): (u64, &Value)| match value {
        Value::Scalar(value) => (step, *value),
        other => panic!("{tag}: {other:?}"),
    };
    of_tag(events, tag).into_iter().map(of).collect()
}

/// One event file holds the same as `metrics.jsonl` and `memory.jsonl`; histograms between evaluations count the whole
/// model; a resumed run goes on in a file of its own.
#[test]
fn tensorboard_sees_the_run() {
    let scratch = Scratch::new("events");
    let root = scratch.join("run");
    let settings = |iterations: &str| {
        let own = [
            ("schedule.iterations", iterations),
            ("sinks.1.every", "1"),
            ("sinks.2.every", "10"),
            ("sinks.3.every", "1"),
        ];
        profile(&root, &[QUICK, &own])
    };
    runs::train(settings("110"), None, &never()).unwrap();
    let files = event_files(&root);
    assert_eq!(files.len(), 1);
    let name = files[0].file_name().unwrap().to_str().unwrap();
    let run = json(&root.join("run.json"));
    assert!(run["files"].as_array().unwrap().iter().any(|file| file == name));

    let events = events(&files[0]);
    let metrics = rows(&root.join("metrics.jsonl"));
    let of = |kind: &str, key: &str| -> Vec<(u64, f32)> {
        let rows = metrics
            .iter()
            .filter(|row| row["type"] == kind && row["set"] != "train");
        rows.map(|row| (row["it"].as_u64().unwrap(), row[key].as_f64().unwrap() as f32))
            .collect()
    };
    assert_eq!(scalars(&events, "train_loss_patches/total_loss"), of("train", "loss"));
    assert_eq!(scalars(&events, "train_loss_patches/l1_loss"), of("train", "l1"));
    assert_eq!(scalars(&events, "total_points"), of("train", "gaussians"));
    assert_eq!(scalars(&events, "test/loss_viewpoint_psnr"), of("eval", "psnr"));
    assert_eq!(
        scalars(&events, "test/loss_viewpoint_psnr_image"),
        of("eval", "psnr_image")
    );
    assert_eq!(scalars(&events, "scene/mean_opacity"), of("eval", "mean_opacity"));
    let model = root.join("point_cloud/iteration_110/point_cloud.ply");
    let saved = kiln().args(["inspect", "--json"]).arg(model).output().unwrap().stdout;
    let saved: serde_json::Value = serde_json::from_slice(&saved).unwrap();
    let (_, measured) = *of("eval", "mean_opacity").last().unwrap();
    let of_file = saved["opacity"]["mean"].as_f64().unwrap() as f32;
    assert!((measured - of_file).abs() < 1e-5, "{measured} and {of_file}");
    assert!(scalars(&events, "iter_time").iter().all(|(_, ms)| *ms > 0.0));

    let memory = rows(&root.join("memory.jsonl"));
    let gib = |row: &serde_json::Value, key: &str| (row[key].as_f64().unwrap() / (1u64 << 30) as f64) as f32;
    for (tag, key) in [
        ("memory/vram_allocated_gb", "allocated"),
        ("4_performance/vram_allocated_GB", "allocated"),
        ("memory/vram_reserved_gb", "reserved"),
        ("memory/vram_peak_gb", "peak_allocated"),
        ("memory/vram_peak_reserved_gb", "peak_reserved"),
        ("memory/vram_creep_gb", "vram_creep"),
    ] {
        let told: Vec<_> = memory
            .iter()
            .map(|r| (r["it"].as_u64().unwrap(), gib(r, key)))
            .collect();
        assert_eq!(scalars(&events, tag), told, "{tag}");
    }
    for row in &memory {
        assert_eq!(row["vram_creep"], 0);
        assert!(row["peak_allocated"].as_u64() >= row["allocated"].as_u64());
        assert!(row["peak_reserved"].as_u64() >= row["reserved"].as_u64());
        let tags = row["tags"].as_object().unwrap().values();
        let sum: u64 = tags.map(|bytes| bytes.as_u64().unwrap()).sum();
        assert_eq!(Some(sum), row["allocated"].as_u64(), "tags sum to what is allocated");
    }

    // At the evaluations, and at 100 in between.
    let gaussians = |it: u64| {
        let row = metrics.iter().find(|r| r["it"] == it && r["gaussians"].is_u64());
        row.unwrap()["gaussians"].as_f64().unwrap()
    };
    for (name, each) in [
        ("opacity", 1.0),
        ("scale", 3.0),
        ("rotation_magnitude", 1.0),
        ("xyz_magnitude", 1.0),
    ] {
        let found = of_tag(&events, &format!("scene/{name}_histogram"));
        let steps: Vec<u64> = found.iter().map(|(step, _)| *step).collect();
        assert_eq!(steps, [1, 100, 110], "{name}");
        for (step, value) in found {
            let Value::Histogram { figures, counts, .. } = value else {
                panic!("{value:?}")
            };
            assert_eq!(counts.iter().sum::<f64>(), each * gaussians(step), "{name} at {step}");
            assert_eq!(figures[2], each * gaussians(step));
            // A fresh model is as wide and as opaque everywhere as it begins.
            let filled = counts.iter().filter(|count| **count > 0.0).count();
            assert!(step == 1 || filled > 1, "{name} at {step}: {filled} bins");
        }
    }

    let steps = |tag: &str| -> Vec<u64> { of_tag(&events, tag).iter().map(|(step, _)| *step).collect() };
    for name in ["render", "error_map", "gaussian_density_heatmap", "gaussians_per_tile"] {
        assert_eq!(steps(&format!("test_view_view_000/{name}")), [1, 110], "{name}");
    }
    assert_eq!(steps("test_view_view_000/ground_truth"), [1]);
    // A software driver has no card to ask.
    assert!(!tfevents::tags(&events).iter().any(|tag| tag.contains("/gpu_")));

    // The same run, longer: from its last checkpoint, at 109.
    runs::train(settings("120"), Some(ResumeFrom::Latest), &never()).unwrap();
    let files = event_files(&root);
    assert_eq!(files.len(), 2);
    let later = self::events(&files[1]);
    assert_eq!((later[1].step, &later[1].what), (110, &What::Restart));
    assert_eq!(
        scalars(&later, "total_points")
            .iter()
            .map(|(s, _)| *s)
            .collect::<Vec<_>>(),
        (110..=120).collect::<Vec<_>>()
    );
    let last = rows(&root.join("memory.jsonl")).pop().unwrap();
    assert_eq!(last["peak_reserved"], memory[0]["peak_reserved"]);
}

/// What TensorBoard's own reader saw in the golden run is what is in its file.
#[test]
fn tensorboard_read_the_golden_run() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let expected = json(&golden.join("tensorboard/expected.json"));
    let files = event_files(&golden.join("run"));
    let bytes = fs::read(&files[0]).unwrap();
    let again = "the file changed: run tests/golden/tensorboard/read.py";
    assert_eq!(
        expected["file"],
        files[0].file_name().unwrap().to_str().unwrap(),
        "{again}"
    );
    assert_eq!(expected["bytes"], bytes.len(), "{again}");
    let events = tfevents::read(&bytes).unwrap();
    let mut seen = 0;
    for (tag, wanted) in expected["scalars"].as_object().unwrap() {
        let wanted: Vec<(u64, Option<f32>)> = serde_json::from_value(wanted.clone()).unwrap();
        let found = scalars(&events, tag).into_iter();
        let found: Vec<_> = found.map(|(step, v)| (step, Some(v).filter(|v| !v.is_nan()))).collect();
        assert_eq!(found, wanted, "{tag}: {again}");
        seen += 1;
    }
    for (tag, wanted) in expected["images"].as_object().unwrap() {
        let wanted: Vec<(u64, u64, u64, usize)> = serde_json::from_value(wanted.clone()).unwrap();
        let of = |(step, value): (u64, &Value)| match value {
            Value::Image { size_px, png } => (step, size_px[0], size_px[1], png.len()),
            other => panic!("{tag}: {other:?}"),
        };
        let found: Vec<_> = of_tag(&events, tag).into_iter().map(of).collect();
        assert_eq!(found, wanted, "{tag}: {again}");
        seen += 1;
    }
    for (tag, wanted) in expected["histograms"].as_object().unwrap() {
        let found = of_tag(&events, tag);
        assert_eq!(found.len(), wanted.as_array().unwrap().len(), "{tag}: {again}");
        for ((step, value), wanted) in found.into_iter().zip(wanted.as_array().unwrap()) {
            let Value::Histogram {
                figures,
                limits,
                counts,
            } = value
            else {
                panic!("{tag}: {value:?}")
            };
            let list = |key: &str| -> Vec<f64> { serde_json::from_value(wanted[key].clone()).unwrap() };
            assert_eq!(wanted["step"], step, "{tag}: {again}");
            assert_eq!(figures[..], list("figures"), "{tag}: {again}");
            assert_eq!(*limits, list("limits"), "{tag}: {again}");
            assert_eq!(*counts, list("counts"), "{tag}: {again}");
        }
        seen += 1;
    }
    assert_eq!(seen, tfevents::tags(&events).len(), "every tag is seen");
}

#[test]
fn a_run_without_sinks_leaves_no_monitoring() {
    let scratch = Scratch::new("silent");
    let root = scratch.join("run");
    let brief = [("schedule.iterations", "6"), ("schedule.test", "[]"), ("sinks", "[]")];
    let output = runs::train_command(&root, &[QUICK, &brief]).output().unwrap();
    assert_eq!(
        (output.status.code(), output.stdout, output.stderr),
        (Some(0), vec![], vec![])
    );
    for name in ["metrics.jsonl", "memory.jsonl"] {
        assert!(!root.join(name).exists(), "{name}");
    }
    assert!(event_files(&root).is_empty());
    let run = json(&root.join("run.json"));
    for file in run["files"].as_array().unwrap() {
        assert!(root.join(file.as_str().unwrap()).is_file(), "{file}");
    }
    assert_eq!(run["evals"].as_array().unwrap().len(), 1);
}

#[test]
fn json_lines_tell_the_run_to_programs() {
    let scratch = Scratch::new("lines");
    let root = scratch.join("run");
    let brief = [("schedule.iterations", "25"), ("schedule.test", "[]")];
    let output = runs::train_command(&root, &[QUICK, &brief])
        .arg("--json")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| -> Vec<&serde_json::Value> { lines.iter().filter(|line| line["type"] == kind).collect() };
    assert_eq!(
        (lines[0]["type"].as_str(), &lines[0]["iterations"]),
        (Some("start"), &25.into())
    );
    let its: Vec<_> = of("train").iter().map(|line| line["it"].as_u64().unwrap()).collect();
    assert_eq!(its, [10, 20, 25]);
    assert_eq!(of("eval").len(), 2);
    assert!(of("event").iter().any(|line| line["kind"] == "densify"));
    assert_eq!(of("memory")[0]["it"], 1);
    assert!(
        of("progress")
            .iter()
            .any(|line| line["stage"] == "eval" && line["done"] == line["total"])
    );
    let last = lines.last().unwrap();
    assert_eq!(last["type"], "end");
    assert_eq!((&last["status"], &last["iterations"]), (&"done".into(), &25.into()));
    assert_eq!(last["folder"].as_str().map(Path::new), Some(root.as_path()));
    let test = of("eval").into_iter().find(|line| line["set"] == "test").unwrap();
    assert_eq!(last["test_psnr"], test["psnr_image"]);
}

/// Something lies where the pictures should go when the evaluation comes.
#[test]
fn a_picture_that_cannot_be_written_ends_the_run() {
    let scratch = Scratch::new("pictures");
    let root = scratch.join("run");
    let brief = [("schedule.iterations", "20"), ("schedule.test", "[]")];
    let (begun, obstacle) = (root.join("run.json"), root.join("eval"));
    let blocker = std::thread::spawn(move || {
        let end = Instant::now() + Duration::from_secs(120);
        while Instant::now() < end && !begun.exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
        fs::write(obstacle, "in the way").unwrap();
    });
    let error = runs::train(profile(&root, &[QUICK, &brief]), None, &never()).unwrap_err();
    blocker.join().unwrap();
    assert_eq!(error.exit(), Exit::Output, "{error}");
    assert!(error.to_string().contains("eval"), "{error}");
    let run = json(&root.join("run.json"));
    assert_eq!(run["status"], "failed");
    assert!(
        run["evals"].as_array().unwrap().is_empty(),
        "what is not there is not listed"
    );
    // What was reported before the end is there.
    assert!(
        rows(&root.join("metrics.jsonl"))
            .iter()
            .any(|row| row["type"] == "train")
    );
}

#[test]
fn a_run_that_stops_improving_ends_saved_and_can_go_on() {
    let scratch = Scratch::new("early");
    let root = scratch.join("run");
    let settings = |stop: &str| {
        let own = [
            ("schedule.iterations", "40"),
            ("schedule.test", "[5, 10, 15, 20]"),
            ("schedule.early_stop", stop),
        ];
        profile(&root, &[QUICK, &own])
    };
    let end = runs::train(settings("{ patience: 2, min_delta: 100 }"), None, &never()).unwrap();
    assert_eq!((end.iterations, end.signal), (15, None));
    let run = json(&root.join("run.json"));
    assert_eq!(
        (&run["status"], &run["iterations"]["done"]),
        (&"done".into(), &15.into())
    );
    assert_eq!(run["plys"][0]["iteration"], 15);
    let told = runs::events(&root, "early_stop");
    assert_eq!((told.len(), &told[0]["it"]), (1, &15.into()));
    let detail = &told[0]["detail"];
    assert_eq!(
        (&detail["metric"], &detail["best_it"], &detail["evaluations"]),
        (&"psnr".into(), &5.into(), &2.into())
    );
    // Whoever wants it to go on says so, or lets it watch on from where it was.
    let end = runs::train(
        settings("{ patience: 1, min_delta: 100 }"),
        Some(ResumeFrom::Latest),
        &never(),
    )
    .unwrap();
    assert_eq!(end.iterations, 20);
    assert_eq!(runs::events(&root, "early_stop")[1]["detail"]["evaluations"], 3);
    let end = runs::train(settings("null"), Some(ResumeFrom::Latest), &never()).unwrap();
    assert_eq!(end.iterations, 40);
    assert_eq!(json(&root.join("run.json"))["status"], "done");
}
