//! Runs with the coarse stage of SuGaR.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use kiln::export::read_ply;
use kiln::run::ResumeFrom;
use kiln::run::interrupt::Interrupt;
use kiln_tests::runs::{self, EVENTFUL, QUICK, Scratch, profile, train_scene};

use super::losses::solids;

const EVERY_ROW: (&str, &str) = ("sinks", "[{ kind: metrics_jsonl, every: 1 }]");

/// A coarse stage from iteration 30 on, with its terms from 50 on.
const COARSE: [(&str, &str); 5] = [
    EVERY_ROW,
    (
        "losses",
        "[{ kind: l1 }, { kind: dssim }, { kind: dn_consistency, from: 52 }]",
    ),
    (
        "regularizers",
        "[{ kind: entropy, from: 31, until: 45 }, { kind: density, samples: 3000, k: 8, rebuild: 7, from: 50, prune: 0.08 }]",
    ),
    ("sugar", "{ start: 30, stages: [coarse] }"),
    ("train.deterministic", "true"),
];

/// A run that goes on from a checkpoint before Adam starts anew or behind that, right before the terms or among them ends with the
/// bytes of one that never paused; Gaussians go once, and rows have the terms from then on.
#[test]
fn a_pause_changes_nothing() {
    let scratch = Scratch::new("sugar-pause");
    let run = |name: &str, from: Option<ResumeFrom>, iterations: u32| {
        let iterations = iterations.to_string();
        let own = [
            ("schedule.iterations", iterations.as_str()),
            ("schedule.checkpoint", "[34, 49, 58]"),
        ];
        let profile = profile(&scratch.join(name), &[EVENTFUL, &COARSE, &own]);
        runs::train(profile, from, &Interrupt::unattached()).unwrap();
    };
    run("whole", None, 72);
    let whole = scratch.join("whole");
    // The state before the last step is what a longer run goes on from.
    run("short", None, 29);
    for (name, at) in [("short", 28), ("whole", 34), ("whole", 49), ("whole", 58)] {
        let checkpoint = scratch.join(&format!("{name}/checkpoints/checkpoint_{at:08}.kiln"));
        run("on", Some(ResumeFrom::File(checkpoint)), 72);
        assert!(
            runs::raw_model(&scratch.join("on"), 72) == runs::raw_model(&whole, 72),
            "from {at} on: models differ"
        );
        std::fs::remove_dir_all(scratch.join("on")).unwrap();
    }
    let rows = runs::rows(&whole.join("metrics.jsonl"));
    for row in rows.iter().filter(|row| row["type"] == "train") {
        let it = row["it"].as_u64().unwrap();
        assert_eq!(row["density"].is_number(), it >= 50, "{it}: {row}");
        assert!(it < 50 || row["density"].as_f64().unwrap() > 0.0, "{it}: {row}");
    }
    let pruned: Vec<_> = runs::events(&whole, "cull")
        .into_iter()
        .filter(|event| event["it"] == 49)
        .collect();
    assert_eq!(pruned.len(), 1);
    assert!(pruned[0]["detail"]["removed"].as_u64().unwrap() > 0, "{}", pruned[0]);
}

/// Moments that start anew move the next step elsewhere, and those that are kept do not.
#[test]
fn adam_starts_anew_where_it_is_told() {
    let scratch = Scratch::new("sugar-adam");
    let run = |name: &str, sugar: &str| {
        let own = [
            ("sugar", sugar),
            ("schedule.iterations", "34"),
            ("schedule.save", "[30, 34]"),
            ("train.deterministic", "true"),
        ];
        let profile = profile(&scratch.join(name), &[EVENTFUL, &own]);
        runs::train(profile, None, &Interrupt::unattached()).unwrap();
        [30, 34].map(|it| runs::raw_model(&scratch.join(name), it))
    };
    let plain = run("plain", "null");
    let kept = run("kept", "{ start: 30, keep_moments: true, stages: [coarse] }");
    let anew = run("anew", "{ start: 30, stages: [coarse] }");
    assert!(kept == plain);
    assert!(anew[0] == plain[0] && anew[1] != plain[1]);
}

/// What the terms are for: fewer Gaussians are half there, and the density gets nearer to that of surfaces.
#[test]
fn opacities_decide_and_the_density_is_that_of_surfaces() {
    let scratch = Scratch::new("sugar-terms");
    solids(&scratch.join("scene"));
    let run = |name: &str, regularizers: &str| {
        let own = [
            ("dataset.resolution", "-1"),
            ("dataset.masks", "\"off\""),
            EVERY_ROW,
            ("train.deterministic", "true"),
            ("schedule.iterations", "150"),
            ("schedule.test", "[150]"),
            ("regularizers", regularizers),
        ];
        let profile = profile(&scratch.join(name), &[QUICK, &own]);
        train_scene(profile, scratch.join("scene"), None, &Interrupt::unattached()).unwrap();
        let ply = scratch.join(&format!("{name}/point_cloud/iteration_150/point_cloud_raw.ply"));
        let (model, _) = read_ply(&ply).unwrap();
        let half = model.logit_opacities.iter().filter(|logit| logit.abs() < 2.2).count();
        half as f64 / model.len() as f64
    };
    let without = run("without", "[]");
    let with = run("with", "[{ kind: entropy, weight: 0.5, from: 60, until: 200 }]");
    assert!(
        with < 0.9 * without,
        "{with} of the Gaussians are half there, {without} without the term"
    );
    run(
        "density",
        "[{ kind: density, weight: 1, samples: 4000, k: 8, rebuild: 20, from: 60, prune: 0.05 }]",
    );
    let rows = runs::rows(&scratch.join("density/metrics.jsonl"));
    let terms: Vec<f64> = rows.iter().filter_map(|row| row["density"].as_f64()).collect();
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let (first, last) = (mean(&terms[..10]), mean(&terms[terms.len() - 10..]));
    assert!(last < 0.9 * first, "{first} at first, {last} in the end");
}

/// A run from the model of another begins with that model, at the iteration where the coarse stage starts.
#[test]
fn a_model_counts_as_the_iterations_before() {
    let scratch = Scratch::new("sugar-from");
    let base = profile(
        &scratch.join("base"),
        &[EVENTFUL, &[("schedule.iterations", "30"), ("schedule.save", "[30]")]],
    );
    runs::train(base, None, &Interrupt::unattached()).unwrap();
    let ply = scratch.join("base/point_cloud/iteration_30/point_cloud_raw.ply");
    let sugar = format!(
        "{{ from: {:?}, start: 30, stages: [coarse] }}",
        ply.display().to_string()
    );
    let own = [
        ("sugar", sugar.as_str()),
        ("strategy", "{ kind: fixed }"),
        ("schedule.save", "[31, 72]"),
    ];
    let profile = profile(&scratch.join("run"), &[EVENTFUL, &COARSE, &own]);
    let end = runs::train(profile, None, &Interrupt::unattached()).unwrap();
    assert_eq!(end.iterations, 72);
    let rows = runs::rows(&scratch.join("run/metrics.jsonl"));
    let first = rows.iter().find(|row| row["type"] == "train").unwrap();
    assert_eq!(first["it"], 31);
    let [before, after] =
        [ply, scratch.join("run/point_cloud/iteration_31/point_cloud_raw.ply")].map(|path| read_ply(&path).unwrap().0);
    assert_eq!(before.len(), after.len());
}
