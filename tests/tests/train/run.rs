//! Whole runs of the bundled scene: they learn, leave everything behind, and allocate at start only.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use kiln::cli::{Exit, Failure as _};
use kiln::run::interrupt::Interrupt;
use kiln_tests::runs::{self, QUICK, Scratch, json, profile, rows};
use kiln_tests::schema::problem;
use serde_json::Value;

fn check(schema: &str, value: &Value) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/schema");
    let schema = json(&folder.join(format!("{schema}.schema.json")));
    if let Some(problem) = problem(&schema, &schema, value) {
        assert_eq!(problem, "", "{value}");
    }
}

fn mean_loss(rows: &[Value], its: std::ops::RangeInclusive<u64>) -> f64 {
    let of = |row: &&Value| row["type"] == "train" && row["it"].as_u64().is_some_and(|it| its.contains(&it));
    let losses: Vec<f64> = rows
        .iter()
        .filter(of)
        .map(|row| row["loss"].as_f64().unwrap())
        .collect();
    assert!(!losses.is_empty());
    losses.iter().sum::<f64>() / losses.len() as f64
}

#[test]
fn a_short_run_learns_and_leaves_a_complete_folder() {
    let scratch = Scratch::new("run");
    let root = scratch.join("run");
    let every_step = [("sinks", "[{ kind: metrics_jsonl }, { kind: memory_jsonl }]")];
    let quick = profile(&root, &[QUICK, &every_step]);
    let (end, allocations) = runs::train_scene(quick, runs::scene(), None, &Interrupt::unattached()).unwrap();
    assert_eq!((end.iterations, end.signal), (100, None));
    runs::assert_eventful(&root, 0, 100, 5);

    let metrics = rows(&root.join("metrics.jsonl"));
    let psnr = |it: u32| {
        let row = metrics
            .iter()
            .find(|r| r["type"] == "eval" && r["set"] == "test" && r["it"] == it);
        row.unwrap()["psnr_image"].as_f64().unwrap()
    };
    assert!(psnr(100) >= psnr(1) + 3.0, "{} -> {}", psnr(1), psnr(100));
    // JSON is read to the last digit but one.
    assert!((end.test_psnr.unwrap() - psnr(100)).abs() < 1e-9);

    // Who looked on saw the model form; the last one took the snapshot's place.
    let snapshots = metrics.iter().filter(|row| row["kind"] == "live");
    let seen: Vec<u64> = snapshots.map(|row| row["detail"]["kept"].as_u64().unwrap()).collect();
    assert!(!seen.is_empty() && seen.iter().all(|kept| *kept > 0), "{seen:?}");
    assert!(!root.join("live.ply").exists());

    // The index is true, valid and complete.
    let run = json(&root.join("run.json"));
    check("run", &run);
    assert_eq!(
        (&run["status"], &run["iterations"]["done"]),
        (&"done".into(), &100.into())
    );
    let paths = ["plys", "evals"].map(|list| run[list].as_array().unwrap().iter().map(|item| &item["path"]));
    let listed: Vec<&str> = paths
        .into_iter()
        .flatten()
        .chain(run["files"].as_array().unwrap())
        .map(|path| path.as_str().unwrap())
        .collect();
    for path in &listed {
        assert!(root.join(path).is_file(), "{path}");
    }
    for expected in [
        "cameras.json",
        "config.resolved.yaml",
        "env.json",
        "input.ply",
        "memory.jsonl",
        "metrics.jsonl",
        "eval/iteration_1/metrics.json",
        "eval/iteration_100/metrics.json",
        "point_cloud/iteration_100/point_cloud.ply",
        "point_cloud/iteration_100/point_cloud_raw.ply",
    ] {
        assert!(listed.contains(&expected), "{expected} is not in {listed:?}");
    }
    for picture in [
        "eval/gt/test/view_000.png",
        "eval/iteration_100/render/test/view_000.png",
        "eval/iteration_100/error/test/view_000.png",
        "eval/iteration_100/density/test/view_000.png",
    ] {
        let picture = image::open(root.join(picture)).unwrap();
        assert_eq!(picture.width(), 80);
    }
    for it in [1, 100] {
        check("eval", &json(&root.join(format!("eval/iteration_{it}/metrics.json"))));
    }
    for row in &metrics {
        check("metrics", row);
    }
    // The model that was saved is as large as the last evaluation said.
    let last = metrics.iter().rfind(|r| r["type"] == "eval").unwrap();
    assert_eq!(last["gaussians"], run["plys"][0]["gaussians"]);

    // Memory is what it was at the start, in every row and by the driver's count.
    let memory = rows(&root.join("memory.jsonl"));
    for row in &memory {
        check("memory", row);
        assert_eq!(row["allocated"], memory[0]["allocated"]);
        assert_eq!(row["reserved"], memory[0]["reserved"]);
    }
    let brief = profile(&scratch.join("brief"), &[QUICK, &[("schedule.iterations", "2")]]);
    let (_, at_start) = runs::train_scene(brief, runs::scene(), None, &Interrupt::unattached()).unwrap();
    assert!(at_start > 0);
    assert_eq!(allocations, at_start, "98 steps more allocate nothing more");
}

/// Fewer visible records than most views of the bundled scene need.
const FEW_RECORDS: &str = "2500";

/// Settings that choose other kernels or other sizes train as well, and the validation layer has nothing to say.
#[test]
fn every_way_of_training_learns() {
    let short = [
        ("schedule.iterations", "45"),
        ("schedule.test", "[]"),
        ("dataset.hold_out", "false"),
        ("eval.lpips", "false"),
    ];
    let ways: [&[(&str, &str)]; 6] = [
        &[("fault.portable", "true"), ("diagnose.validation", "true")],
        &[("fault.reduction", "atomic"), ("diagnose.validation", "true")],
        &[("fault.reduction", "compare_exchange"), ("diagnose.validation", "true")],
        &[("fault.reduction", "segmented"), ("fault.chunk", "256")],
        &[("fault.v_cap", FEW_RECORDS), ("diagnose.validation", "true")],
        &[
            ("fault.chunk", "1024"),
            ("fault.no_subgroups", "true"),
            (
                "strategy",
                "{ kind: adaptive_abs, densify: { from: 2, until: 60, every: 10, grad_threshold: 0.001 } }",
            ),
        ],
    ];
    for way in ways {
        let scratch = Scratch::new("way");
        let root = scratch.join("run");
        let end = runs::train(profile(&root, &[QUICK, &short, way]), None, &Interrupt::unattached());
        assert_eq!(end.unwrap().iterations, 45, "{way:?}");
        let environment = json(&root.join("env.json"));
        let has = |setting: (&str, &str)| way.contains(&setting);
        if has(("fault.portable", "true")) {
            assert_eq!(environment["tier"], "portable");
        }
        for reduction in ["atomic", "compare_exchange", "segmented"] {
            if has(("fault.reduction", reduction)) {
                assert_eq!(environment["kernels"]["reduction"], reduction);
            }
        }
        let failed: Vec<Value> = runs::events(&root, "warning")
            .into_iter()
            .filter(|row| {
                row["detail"]["message"]
                    .as_str()
                    .is_some_and(|m| m.starts_with("self-test"))
            })
            .collect();
        assert!(failed.is_empty(), "{way:?}: {failed:?}");
        if has(("fault.v_cap", FEW_RECORDS)) {
            let stalls = runs::events(&root, "stall");
            let told = |row: &Value| (row["detail"]["buffer"].clone(), row["detail"]["capacity"].to_string());
            assert!(
                stalls
                    .iter()
                    .any(|row| told(row) == ("visible".into(), FEW_RECORDS.to_owned())),
                "{stalls:?}"
            );
            for row in &stalls {
                check("metrics", row);
                assert!(row["detail"]["wanted"].as_u64() > row["detail"]["capacity"].as_u64());
            }
        }
        let metrics = rows(&root.join("metrics.jsonl"));
        let (first, last) = (mean_loss(&metrics, 1..=10), mean_loss(&metrics, 25..=39));
        assert!(last < 0.9 * first, "{way:?}: {first} -> {last}");
        assert!(!runs::events(&root, "densify").is_empty());
    }
}

/// A fast kernel that computes something else at start is not used: the run says so and keeps to the portable one.
#[test]
fn a_kernel_that_fails_its_test_is_replaced() {
    let scratch = Scratch::new("self-test");
    for reduction in ["atomic", "compare_exchange"] {
        let root = scratch.join(reduction);
        let way = [
            ("schedule.iterations", "3"),
            ("schedule.test", "[]"),
            ("fault.reduction", reduction),
            ("fault.fail_self_test", "true"),
            ("diagnose.validation", "true"),
        ];
        runs::train(profile(&root, &[QUICK, &way]), None, &Interrupt::unattached()).unwrap();
        let environment = json(&root.join("env.json"));
        assert_eq!(environment["kernels"]["reduction"], "segmented");
        let device = environment["device"]["name"].as_str().unwrap();
        let warnings = runs::events(&root, "warning");
        let texts: Vec<&str> = warnings
            .iter()
            .filter_map(|row| row["detail"]["message"].as_str())
            .collect();
        let kernel = format!("`rasterize_backward.{reduction}` on `{device}` differs by 1.0e-3");
        assert!(texts.iter().any(|text| text.contains(&kernel)), "{kernel}: {texts:?}");
    }
}

/// What was asked for and cannot be had ends the run before it starts.
#[test]
fn sums_that_the_tier_cannot_make_are_refused() {
    let scratch = Scratch::new("refused-reduction");
    for reduction in ["atomic", "compare_exchange"] {
        let root = scratch.join(reduction);
        let way = [("fault.portable", "true"), ("fault.reduction", reduction)];
        let error = runs::train(profile(&root, &[QUICK, &way]), None, &Interrupt::unattached()).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(reduction) && text.ends_with("it can do: segmented"),
            "{text}"
        );
        assert_eq!(error.exit(), Exit::NoDevice);
        assert!(!root.exists(), "nothing was written");
    }
}
