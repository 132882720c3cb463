//! Kernels raced on steps of a run: it learns as without, says what it found, and can be resumed.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;
use std::sync::Arc;

use kiln::config::Profile;
use kiln::kernels::views::{Reduction, Variants};
use kiln::memory::{Budget, Gpu};
use kiln::scene::{SceneIndex, SceneOptions};
use kiln::train::events::Event;
use kiln::train::interrupt::Interrupt;
use kiln::train::{Demand, RaceResult, ResumeFrom, Trainer, plan};
use kiln::vk::{Device, Instance, Validation};
use kiln_tests::gpu::{assert_valid, take_turn};
use kiln_tests::runs::{self, QUICK, Scratch, json, profile, rows};
use kiln_tests::scenes::Scene;
use kiln_tests::schema::problem;
use serde_json::Value;

const RACE: &[(&str, &str)] = &[
    ("debug.race", "on"),
    // Steps that a busy machine takes long for are submitted in parts, and those are not raced.
    ("device.submit_ms", "0"),
    ("schedule.iterations", "150"),
    ("schedule.checkpoint", "[60]"),
    ("schedule.test", "[1, 150]"),
    ("debug.validation", "true"),
];

fn assert_fits(schema: &str, value: &Value) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/schema");
    let schema = json(&folder.join(format!("{schema}.schema.json")));
    assert_eq!(problem(&schema, &schema, value), None, "{value}");
}

fn test_psnr(root: &Path, it: u32) -> f64 {
    let metrics = rows(&root.join("metrics.jsonl"));
    let of = |row: &&Value| row["type"] == "eval" && row["set"] == "test" && row["it"] == it;
    metrics.iter().find(of).unwrap()["psnr_image"].as_f64().unwrap()
}

#[test]
fn a_run_races_its_kernels_and_goes_on_with_the_quickest() {
    let scratch = Scratch::new("race");
    let root = scratch.join("run");
    let settings = profile(&root, &[QUICK, RACE]);
    runs::train(settings, None, &Interrupt::unattached()).unwrap();
    let races = runs::events(&root, "race");
    let race = races.first().unwrap();
    assert_fits("metrics", race);
    let detail = &race["detail"];
    let runners = detail["runners"].as_array().unwrap();
    assert_eq!(
        runners[0]["kernels"], "segmented+pixels",
        "what the rules chose comes first"
    );
    let names: Vec<&str> = runners
        .iter()
        .map(|runner| runner["kernels"].as_str().unwrap())
        .collect();
    // What a software driver of eight lanes calls lanes are columns elsewhere.
    for name in ["segmented+lanes", "compare_exchange+pixels", "compare_exchange+lanes"] {
        let elsewhere = name.replace("lanes", "columns");
        assert!(
            names.iter().any(|found| *found == name || *found == elsewhere),
            "{names:?}"
        );
    }
    // All were timed, and the one that was taken is either the first or quicker by more than noise.
    let ms: Vec<f64> = runners.iter().map(|runner| runner["ms"].as_f64().unwrap()).collect();
    assert!(ms.iter().all(|ms| *ms > 0.0), "{ms:?}");
    let chosen = names.iter().position(|name| detail["chosen"] == *name).unwrap();
    let best = ms.iter().copied().fold(f64::INFINITY, f64::min);
    if chosen == 0 {
        assert!(best >= 0.949 * ms[0], "{ms:?}");
    } else {
        assert!(ms[chosen] <= best && best < 0.951 * ms[0], "{ms:?}");
    }
    // The index of the run says the same as its last race.
    let run = json(&root.join("run.json"));
    assert_fits("run", &run);
    let last = races.last().unwrap();
    assert_eq!(run["kernels"]["name"], last["detail"]["chosen"]);
    assert_eq!(run["kernels"]["iteration"], last["it"]);
    // Every step counted, whatever kernels it ran with, and the run learnt as runs of this length do.
    let metrics = rows(&root.join("metrics.jsonl"));
    let steps = metrics.iter().filter(|row| row["type"] == "train").count();
    assert!(steps >= 15, "{steps}");
    let gain = test_psnr(&root, 150) - test_psnr(&root, 1);
    assert!(gain >= 3.0, "{gain} dB");

    // A run that goes on races anew: the machine may be another one.
    let again = scratch.join("again");
    let from = root.join("checkpoints/checkpoint_00000060.kiln");
    let settings = profile(&again, &[QUICK, RACE, &[("schedule.iterations", "190")]]);
    runs::train(settings, Some(ResumeFrom::File(from)), &Interrupt::unattached()).unwrap();
    let races = runs::events(&again, "race");
    assert!(races[0]["it"].as_u64().unwrap() > 80, "{races:?}");
}

/// Runs that must repeat, or that are told which kernels to take, keep to them.
#[test]
fn pinned_runs_do_not_race() {
    let scratch = Scratch::new("no-race");
    let ways: [&[(&str, &str)]; 3] = [
        &[("train.deterministic", "true")],
        &[("debug.reduction", "compare_exchange")],
        &[("debug.race", "off")],
    ];
    let short = [("schedule.iterations", "60"), ("schedule.test", "[]")];
    for (number, way) in ways.iter().enumerate() {
        let root = scratch.join(&format!("run{number}"));
        runs::train(profile(&root, &[QUICK, &short, way]), None, &Interrupt::unattached()).unwrap();
        assert!(runs::events(&root, "race").is_empty(), "{way:?}");
        assert_eq!(json(&root.join("run.json"))["kernels"], Value::Null);
    }
}

/// A trainer of a small scene on the first device with or without its clock, with a rival.
fn trainer(settings: &Profile, clock: bool) -> (Trainer, Arc<Device>) {
    take_turn();
    let instance = Arc::new(Instance::new(Validation::Synchronization).unwrap());
    let mut caps = instance.devices().unwrap().into_iter().next().unwrap();
    if !clock {
        caps.timestamp_period_ns = 0.0;
    }
    let device = Device::open(&instance, caps).unwrap();
    let mut index = SceneIndex::load(&runs::scene(), &SceneOptions::default()).unwrap();
    index.train.truncate(2);
    index.test.truncate(1);
    for view in index.train.iter_mut().chain(&mut index.test) {
        view.camera = scene().camera();
    }
    let chosen = Variants {
        reduction: Reduction::Segmented,
        sort_subgroup: 0,
        columns: false,
        lanes: false,
        jitter: false,
    };
    let columns = Variants {
        columns: true,
        ..chosen
    };
    let budget = Budget::of_device(&device, Some(4 << 30), 0.97);
    let (limits, model) = (Gpu::limits(&device), scene().model());
    let demand = Demand::count(settings, &index, &model);
    let (plan, report) = plan(settings, &index, &demand, budget, limits, &chosen).unwrap();
    let plan = plan.with_rivals(&[columns], limits).unwrap();
    assert_eq!(plan.rivals.len(), 1);
    assert_eq!(
        plan.place(limits).unwrap().device_bytes(),
        report.device_bytes,
        "no byte more"
    );
    let trainer = Trainer::new(&device, settings.clone(), plan, report, &index, Some(&model)).unwrap();
    (trainer, device)
}

fn scene() -> Scene {
    Scene {
        seed: 8,
        count: 400,
        size: [120, 80],
        focal: 110.0,
        ..Scene::default()
    }
}

/// Where the device has no clock, raced steps are timed by the host's. The kernels of both ways give the same bytes here,
/// so that the race cannot be told from the model.
#[test]
fn devices_without_a_clock_race_by_the_hosts() {
    let settings = [
        ("memory.max_gaussians", "400"),
        ("schedule.iterations", "1000"),
        ("strategy.densify.from", "990"),
        ("strategy.densify.until", "999"),
        ("eval.lpips", "false"),
    ];
    let settings = profile(Path::new("unused"), &[&settings]);
    let photo = scene().target();
    let mut ends = Vec::new();
    for clock in [true, false] {
        let (mut trainer, device) = trainer(&settings, clock);
        let mut losses = Vec::new();
        for _ in 0..70 {
            let status = trainer.advance(&scene().camera(), &photo).unwrap();
            losses.extend(status.map(|status| status.counters.loss));
        }
        losses.extend(trainer.drain().unwrap().iter().map(|status| status.counters.loss));
        let results: Vec<RaceResult> = trainer
            .take_events()
            .into_iter()
            .filter_map(|row| match row.event {
                Event::Race(result) => Some(result),
                _ => None,
            })
            .collect();
        assert_eq!(results.len(), 1, "clock: {clock}");
        assert!(
            results[0]
                .runners
                .iter()
                .all(|runner| runner.ms.is_some_and(|ms| ms > 0.0))
        );
        assert_eq!(losses.len(), 70);
        ends.push(losses);
        assert_valid(&device);
    }
    assert!(ends[0].last() < ends[0].first(), "it learns");
    for (a, b) in ends[0].iter().zip(&ends[1]) {
        assert!((a - b).abs() <= 1e-3 * a.abs(), "{a} and {b}");
    }
}
