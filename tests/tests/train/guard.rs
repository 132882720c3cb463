//! Runs whose memory is taken away, on a device that does not do so by itself: the fault `budget` stands in for the driver's
//! report and the fault `spill_from` for what the residency probe measures.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use kiln::plan::PlanError;
use kiln::run::RunError;
use kiln::run::interrupt::Interrupt;
use kiln_gpu::memory::MIB;
use kiln_tests::runs::{self, EVENTFUL, Scratch};
use serde_json::Value;

type Settings<'a> = &'a [(&'a str, &'a str)];

fn train(root: &Path, settings: Settings<'_>) -> Result<(), RunError> {
    let profile = runs::profile(root, &[EVENTFUL, settings]);
    runs::train(profile, None, &Interrupt::unattached()).map(|_| ())
}

/// Iteration, response and whether it begins, of every response to pressure.
fn responses(run: &Path) -> Vec<(u64, String, bool)> {
    let list = runs::events(run, "pressure");
    let row = |row: &Value| {
        let detail = &row["detail"];
        let name = detail["response"].as_str().unwrap().to_owned();
        (row["it"].as_u64().unwrap(), name, detail["active"].as_bool().unwrap())
    };
    list.iter().map(row).collect()
}

/// Births of each densification after iteration `from`.
fn births(run: &Path, from: u64) -> Vec<u64> {
    let list = runs::events(run, "densify");
    let after = list.iter().filter(|row| row["it"].as_u64().unwrap() >= from);
    let count = |row: &Value, key: &str| row["detail"][key].as_u64().unwrap();
    after.map(|row| count(row, "clones") + count(row, "splits")).collect()
}

/// Bytes that a run of these tests takes.
fn reserved(run: &Path) -> u64 {
    runs::rows(&run.join("memory.jsonl"))[0]["reserved"].as_u64().unwrap()
}

/// Another program comes at iteration 24 and takes everything that is free, or more than that, and goes or stays.
#[test]
fn a_run_completes_whatever_others_take() {
    let scratch = Scratch::new("guard");
    let root = |name: &str| scratch.join(name);
    train(&root("alone"), &[("fault.budget", "0:1500")]).unwrap();
    assert!(responses(&root("alone")).is_empty());
    assert!(births(&root("alone"), 24).iter().sum::<u64>() > 0);
    runs::assert_eventful(&root("alone"), 0, 72, 5);

    // All that was free is gone; what the run holds it keeps.
    let left = reserved(&root("alone")).div_ceil(MIB);
    let near = format!("0:1500,24:{left}");
    train(&root("near"), &[("fault.budget", &near)]).unwrap();
    assert_eq!(responses(&root("near")), [(24, "stop_growth".to_owned(), true)]);
    let shrunk = runs::events(&root("near"), "budget_shrunk");
    assert_eq!(shrunk.len(), 1);
    assert_eq!(
        (&shrunk[0]["detail"]["from"], &shrunk[0]["detail"]["to"]),
        (&(1500 * MIB).into(), &(left * MIB).into())
    );
    assert!(births(&root("near"), 24).iter().all(|n| *n == 0));
    assert_eq!(births(&root("near"), 0)[..2], births(&root("alone"), 0)[..2]);
    let deaths = runs::events(&root("near"), "densify");
    let deaths = deaths.iter().map(|row| row["detail"]["deaths"].as_u64().unwrap());
    assert!(deaths.skip(3).sum::<u64>() > 0, "what is faint still goes");

    // More than that: the run holds more than it may.
    let over = "0:1500,24:10";
    train(&root("over"), &[("fault.budget", over)]).unwrap();
    let began = |it: u64, name: &str| (it, name.to_owned(), true);
    let wanted = [
        began(24, "stop_growth"),
        began(48, "drop_prefetch"),
        began(64, "more_bands"),
    ];
    assert_eq!(responses(&root("over")), wanted);
    // Bands do not change a byte.
    assert_eq!(runs::raw_model(&root("over"), 72), runs::raw_model(&root("near"), 72));

    // They go again.
    let gone = format!("0:1500,24:{left},32:1500");
    train(&root("gone"), &[("fault.budget", &gone)]).unwrap();
    let ended = (48, "stop_growth".to_owned(), false);
    assert_eq!(responses(&root("gone")), [began(24, "stop_growth"), ended]);
    let after = births(&root("gone"), 24);
    assert!(
        after[..3].iter().all(|n| *n == 0) && after[3..].iter().sum::<u64>() > 0,
        "{after:?}"
    );
}

/// Another program holds most of the card when a run is to start.
#[test]
fn a_crowded_card_is_refused_with_the_numbers() {
    let scratch = Scratch::new("crowded");
    let root = scratch.join("run");
    let (code, text) = runs::outcome(&mut runs::train_command(
        &root,
        &[EVENTFUL, &[("fault.budget", "0:260")]],
    ));
    assert_eq!(code, Some(6), "{text}");
    for part in [
        "the cap is 4.0 MiB",
        "the driver offers 260.0 of the device's",
        "other programs hold the remaining",
        "`--max-gaussians 3500` (",
    ] {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
    assert!(!root.exists(), "nothing is left behind");
}

/// A run that needs more than its cap is refused by name of what would help, or grows as far as there is room.
#[test]
fn ten_percent_too_much_is_refused_or_capped() {
    let scratch = Scratch::new("overflow");
    let root = |name: &str| scratch.join(name);
    train(&root("fits"), &[]).unwrap();
    let small = [("memory.cap_gib", "0.0625"), ("memory.max_gaussians", "400000")];
    let error = train(&root("refused"), &small).unwrap_err();
    let RunError::Plan(PlanError::DoesNotFit {
        needed_bytes,
        fitting,
        budget,
        ..
    }) = &error
    else {
        unreachable!("{error}")
    };
    assert!(*needed_bytes > budget.cap_bytes / 10 * 11);
    let fitting = fitting.unwrap();
    assert!((1..400_000).contains(&fitting), "{fitting}");
    assert!(
        error
            .to_string()
            .ends_with("the cap is 64.0 MiB, as `memory.cap_gib` says"),
        "{error}"
    );
    assert!(!root("refused").exists());

    // A densification or two later there is no room.
    let first = &runs::rows(&root("fits").join("metrics.jsonl"));
    let initial = first.iter().find_map(|row| row["gaussians"].as_u64()).unwrap();
    let limit = (initial + 50).to_string();
    let most = [("memory.max_gaussians", limit.as_str())];
    train(&root("capped"), &most).unwrap();
    let capped = runs::events(&root("capped"), "densify_capped");
    assert!(!capped.is_empty());
    let rows = runs::rows(&root("capped").join("metrics.jsonl"));
    let gaussians = rows.iter().filter_map(|row| row["gaussians"].as_u64());
    assert!(gaussians.max().unwrap() <= initial + 50);

    let (code, text) = runs::outcome(&mut runs::train_command(
        &root("stopped"),
        &[EVENTFUL, &most, &[("memory.on_full", "stop")]],
    ));
    assert_eq!(code, Some(6), "{text}");
    assert!(
        text.contains(&format!("the {limit} there is room for")) && text.contains("on_full=cap --resume"),
        "{text}"
    );
    assert_eq!(runs::checkpoints(&root("stopped")).len(), 1);
}

/// Probes between steps leave the model alone and take nothing from the driver once the run has begun.
#[test]
fn probes_disturb_nothing() {
    let scratch = Scratch::new("probe");
    let root = |name: &str| scratch.join(name);
    let allocations = |name: &str, settings: Settings<'_>| {
        let profile = runs::profile(&root(name), &[EVENTFUL, settings]);
        let run = runs::train_scene(profile, runs::scene(), None, &Interrupt::unattached());
        run.unwrap().1
    };
    let probing = [("fault.probe", "true"), ("fault.probe_every", "1")];
    let with = allocations("with", &probing);
    assert_eq!(
        with,
        allocations("start", &[("fault.probe", "true"), ("fault.probe_every", "0")])
    );
    assert_eq!(
        with,
        allocations("without", &[]),
        "the reference lies in a block that there is anyway"
    );
    assert_eq!(
        runs::raw_model(&root("with"), 72),
        runs::raw_model(&root("without"), 72)
    );
    assert!(reserved(&root("with")) >= reserved(&root("without")) + 4 * MIB);
    let told = runs::events(&root("with"), "residency");
    assert_eq!(told.len(), 1, "news are reported once");
    let rate = |key: &str| told[0]["detail"][key].as_f64().unwrap();
    assert!(rate("reference_gb_s") > 0.0 && rate("slowest_gb_s") > 0.0, "{told:?}");
    let slowest = told[0]["detail"]["slowest"].as_str().unwrap();
    assert!(slowest.starts_with("block "), "{slowest}");
    // The model is too small to measure: what is measured is the arena, and the block with the reference.
    assert!(told[0]["detail"]["blocks"].as_u64().unwrap() >= 2, "{told:?}");
    // On a device that has memory of its own it says more.
    let unknown = told[0]["detail"]["verdict"] == "unknown";
    assert_eq!(unknown, told[0]["detail"]["reason"].is_string());
}

#[test]
fn a_spill_is_told_and_ends_the_run_where_that_is_asked_for() {
    let scratch = Scratch::new("spill");
    let root = |name: &str| scratch.join(name);
    let spilled = [("fault.probe_every", "10"), ("fault.spill_from", "25")];
    train(&root("warned"), &spilled).unwrap();
    let verdicts = runs::events(&root("warned"), "residency");
    let verdicts: Vec<(u64, &str)> = verdicts
        .iter()
        .map(|row| (row["it"].as_u64().unwrap(), row["detail"]["verdict"].as_str().unwrap()))
        .collect();
    // A CPU driver cannot show where memory is.
    assert_eq!(verdicts, [(0, "unknown"), (30, "spilled")]);
    let told = runs::events(&root("warned"), "spill");
    assert_eq!(told.len(), 1, "once, not at every measurement");
    assert_eq!(told[0]["detail"]["evidence"], "probe");

    let error = [("memory.on_spill", "error")];
    let settings: [&[(&str, &str)]; 3] = [EVENTFUL, &spilled, &error];
    let (code, text) = runs::outcome(&mut runs::train_command(&root("ended"), &settings));
    assert_eq!(code, Some(8), "{text}");
    assert!(text.contains("GB/s") && text.contains("`--resume` goes on"), "{text}");
    assert_eq!(runs::json(&root("ended").join("run.json"))["status"], "failed");
    assert_eq!(runs::checkpoints(&root("ended")).len(), 1);
    // The memory is back: the run goes on to the same end.
    let mut command = runs::train_command(&root("ended"), &[EVENTFUL]);
    let (code, text) = runs::outcome(command.arg("--resume"));
    assert_eq!(code, Some(0), "{text}");
    train(&root("undisturbed"), &[]).unwrap();
    assert_eq!(
        runs::raw_model(&root("ended"), 72),
        runs::raw_model(&root("undisturbed"), 72)
    );

    // Known before the first step: nothing is trained.
    let at_once: [&[(&str, &str)]; 3] = [EVENTFUL, &error, &[("fault.spill_from", "0")]];
    let (code, text) = runs::outcome(&mut runs::train_command(&root("refused"), &at_once));
    assert_eq!(code, Some(8), "{text}");
    assert!(text.contains("at iteration 0") && !text.contains("--resume"), "{text}");
    assert_eq!(runs::json(&root("refused").join("run.json"))["iterations"]["done"], 0);
}
