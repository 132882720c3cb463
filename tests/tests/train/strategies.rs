//! Strategies other than density control in whole runs of the bundled scene: they learn, keep to their cap, and neither
//! a pause nor bands change anything.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use kiln::run::ResumeFrom;
use kiln::run::interrupt::Interrupt;
use kiln_tests::runs::{self, NO_BACKGROUND, Scratch, events, json, profile, rows};

type Settings = &'static [(&'static str, &'static str)];

/// 72 steps on small images, with densifications at multiples of 8 until the cap of 4000 is reached.
const SHORT: Settings = &[
    ("dataset.resolution", "80"),
    ("schedule.iterations", "72"),
    ("schedule.test", "[1]"),
    ("schedule.save", "[]"),
    ("schedule.checkpoint", "[36]"),
    ("schedule.sh_every", "20"),
    ("memory.max_gaussians", "4000"),
    ("train.deterministic", "true"),
    ("optimizer.lr.sh0", "0.02"),
    ("optimizer.lr.scales", "0.01"),
    ("eval.views_logged", "1"),
    ("eval.lpips", "false"),
    ("diagnose.validation", "true"),
];

const MCMC: Settings = &[
    ("init", "{ kind: sfm_points, opacity: 0.3, scale: 0.6 }"),
    (
        "strategy",
        "{ kind: mcmc, densify: { from: 2, until: 70, every: 8, growth: 0.1, dead_opacity: 0.1 }, noise: 50000 }",
    ),
    ("regularizers", "[{ kind: opacity }, { kind: scale }]"),
];

const ERROR_GUIDED: Settings = &[
    // The background that nothing needs is pruned all along this short way, which then ends further below the cap.
    NO_BACKGROUND,
    (
        "strategy",
        "{ kind: error_guided, densify: { from: 2, until: 70, every: 8, ramp: 3, growth: 0.25 }, prune: { opacity: 0.06 } }",
    ),
];

fn psnr(run: &Path, it: u32) -> f64 {
    let rows = rows(&run.join("metrics.jsonl"));
    let row = rows
        .iter()
        .find(|r| r["type"] == "eval" && r["set"] == "test" && r["it"] == it);
    row.unwrap()["psnr_image"].as_f64().unwrap()
}

/// Trains, looks at what happened, goes on from the middle to the same end, and comes to it from there in bands too.
fn check(name: &str, strategy: Settings, cap: u64) {
    let scratch = Scratch::new(name);
    let never = Interrupt::unattached();
    let (whole, part) = (scratch.join("whole"), scratch.join("part"));
    runs::train(profile(&whole, &[SHORT, strategy]), None, &never).unwrap();
    let rise = psnr(&whole, 72) - psnr(&whole, 1);
    assert!(rise >= 2.0, "{name}: {} -> {}", psnr(&whole, 1), psnr(&whole, 72));
    let counts: Vec<u64> = rows(&whole.join("metrics.jsonl"))
        .iter()
        .filter_map(|row| row["gaussians"].as_u64())
        .collect();
    let most = counts.iter().max().copied().unwrap();
    assert!(most > counts[0] && most <= cap, "{name}: {} to {most}", counts[0]);
    assert!(
        20 * most >= 19 * cap,
        "{name}: {most} of {cap}, and the way ends at the cap"
    );
    let densified = events(&whole, "densify");
    assert_eq!(densified.len(), 8, "{name}");
    let sum = |key: &str| {
        densified
            .iter()
            .filter_map(|row| row["detail"][key].as_u64())
            .sum::<u64>()
    };
    assert!(sum("clones") + sum("splits") > 0 && sum("deaths") > 0, "{name}");
    assert!(events(&whole, "reset").is_empty(), "{name}");

    let from = || Some(ResumeFrom::File(whole.join("checkpoints/checkpoint_00000036.kiln")));
    runs::train(profile(&part, &[SHORT, strategy]), from(), &never).unwrap();
    assert!(
        runs::raw_model(&whole, 72) == runs::raw_model(&part, 72),
        "{name}: models differ"
    );
    let last = |root: &Path| runs::checkpoint(&root.join("checkpoints/checkpoint_00000071.kiln"));
    assert!(last(&whole) == last(&part), "{name}: checkpoints differ");
    assert_eq!(json(&part.join("run.json"))["status"], "done");

    // Noise, regularizers and scores of steps that are done in bands are those of whole ones.
    let tiles: Settings = &[("fault.bands", "3")];
    let records: Settings = &[("fault.v_cap", "2000"), ("fault.i_cap", "9000")];
    for (folder, bands) in [("tiles", tiles), ("records", records)] {
        let root = scratch.join(folder);
        runs::train(profile(&root, &[SHORT, strategy, bands]), from(), &never).unwrap();
        assert!(
            runs::raw_model(&whole, 72) == runs::raw_model(&root, 72),
            "{name}: {folder} in bands"
        );
    }
}

#[test]
fn mcmc_learns_within_its_cap_and_survives_a_pause() {
    check("mcmc", MCMC, 4000);
}

#[test]
fn error_guided_learns_within_its_cap_and_survives_a_pause() {
    check("error_guided", ERROR_GUIDED, 4000);
}

/// Photos that judge are trained by no step before births end, and a pause between two judgements or behind them changes nothing.
#[test]
fn births_end_where_photos_that_no_step_saw_gain_little() {
    const JUDGED: Settings = &[
        NO_BACKGROUND,
        (
            "strategy",
            "{ kind: error_guided, densify: { from: 2, until: 70, every: 8, ramp: 50, growth: 0.05, least_gain: 9 } }",
        ),
        ("schedule.checkpoint", "[12, 36]"),
    ];
    let scratch = Scratch::new("judged");
    let never = Interrupt::unattached();
    let whole = scratch.join("whole");
    runs::train(profile(&whole, &[SHORT, JUDGED]), None, &never).unwrap();
    let chosen = events(&whole, "chosen");
    let end = chosen
        .iter()
        .find(|row| row["detail"]["message"].as_str().unwrap().starts_with("births end at"))
        .unwrap();
    assert_eq!(end["it"], 16, "the second of nine judgements: {end}");
    let spared = chosen[chosen.len() - 2]["detail"]["message"].as_str().unwrap();
    assert!(
        spared.starts_with("3 of 35 photos are left out of training until births end"),
        "{spared}"
    );
    let births =
        |row: &serde_json::Value| row["detail"]["clones"].as_u64().unwrap() + row["detail"]["splits"].as_u64().unwrap();
    let densified = events(&whole, "densify");
    assert_eq!(densified.len(), 8);
    for row in &densified {
        assert_eq!(births(row) > 0, row["it"].as_u64().unwrap() < 16, "{row}");
    }
    // Three of 35 photos are spared until then, and none from then on.
    let state = |it: u32| runs::checkpoint(&whole.join(format!("checkpoints/checkpoint_{it:08}.kiln"))).1;
    assert_eq!(state(12)["state"]["judged"]["over"], false);
    assert!(state(12)["state"]["judged"]["psnr"].as_f64().unwrap() > 5.0);
    assert_eq!(state(36)["state"]["judged"]["births_end"], 16);
    for it in [12, 36] {
        let part = scratch.join(&format!("part{it}"));
        let from = ResumeFrom::File(whole.join(format!("checkpoints/checkpoint_{it:08}.kiln")));
        runs::train(profile(&part, &[SHORT, JUDGED]), Some(from), &never).unwrap();
        assert!(
            runs::raw_model(&whole, 72) == runs::raw_model(&part, 72),
            "models differ from {it} on"
        );
    }
}
