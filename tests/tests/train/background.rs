//! What a run chooses for its scene: points for the background and the recipe's rules, printed, recorded and kept.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs;

use kiln::run::ResumeFrom;
use kiln::run::interrupt::Interrupt;
use kiln_tests::runs::{self, EVENTFUL, Scratch, json};

const BRIEF: &[(&str, &str)] = &[
    ("init.background", "auto"),
    ("schedule.iterations", "6"),
    ("schedule.checkpoint", "[3]"),
];

#[test]
fn background_is_counted_recorded_and_kept() {
    let scratch = Scratch::new("background");
    let (whole, resumed) = (scratch.join("whole"), scratch.join("resumed"));
    let never = Interrupt::unattached();
    runs::train(runs::profile(&whole, &[EVENTFUL, BRIEF]), None, &never).unwrap();
    // Half of what 3500 sparse points leave of 6000 Gaussians.
    let rows = runs::rows(&whole.join("metrics.jsonl"));
    let first = rows.iter().find(|row| row["type"] == "train").unwrap();
    assert_eq!(first["gaussians"], 4750);
    let colours = "photo colours: off (photos differ by 1.2 % in exposure and by 0.9 % in white balance)";
    let words = "background points: 1 250 on 3 shells (0.0 % of the sparse points lie beyond the cameras)";
    assert_eq!(
        json(&whole.join("run.json"))["chosen"],
        serde_json::json!([colours, words])
    );
    let chosen = runs::events(&whole, "chosen");
    let messages: Vec<&serde_json::Value> = chosen.iter().map(|row| &row["detail"]["message"]).collect();
    assert_eq!(messages, [colours, words]);
    let settings = |root: &std::path::Path| fs::read_to_string(root.join("config.resolved.yaml")).unwrap();
    assert!(settings(&whole).contains("background: 1250"), "{}", settings(&whole));
    let input = fs::read(whole.join("input.ply")).unwrap();
    assert!(String::from_utf8_lossy(&input[..200]).contains("element vertex 4750"));

    let from = whole.join("checkpoints/checkpoint_00000003.kiln");
    let profile = runs::profile(&resumed, &[EVENTFUL, BRIEF]);
    runs::train(profile, Some(ResumeFrom::File(from)), &never).unwrap();
    assert!(
        runs::raw_model(&whole, 6) == runs::raw_model(&resumed, 6),
        "models differ"
    );
    assert!(
        settings(&resumed).contains("background: 1250"),
        "{}",
        settings(&resumed)
    );
    assert!(runs::events(&resumed, "chosen").is_empty());
    // In its own folder it keeps the points it began with.
    let profile = runs::profile(&whole, &[EVENTFUL, BRIEF, &[("schedule.iterations", "8")]]);
    runs::train(profile, Some(ResumeFrom::Latest), &never).unwrap();
    assert!(fs::read(whole.join("input.ply")).unwrap() == input);
    assert_eq!(
        json(&whole.join("run.json"))["chosen"],
        serde_json::json!([colours, words])
    );
}

#[test]
fn rules_of_a_recipe_are_told_recorded_and_found_again() {
    let scratch = Scratch::new("adapt");
    let (root, recipe) = (scratch.join("run"), scratch.join("recipe.yaml"));
    let rules = "version: 1\nadapt:\n  - when: { photos_below: 36, background_below: 0.1, overlap_from: 3 }\n    \
                 set: { optimizer.lr.means: 0.0003, train.seed: 7 }\n    why: few photos\n";
    fs::write(&recipe, rules).unwrap();
    let run = |command: &str, more: &[&str]| {
        let mut program = runs::kiln();
        program.arg(command).arg(runs::scene()).arg("--recipe").arg(&recipe);
        let common = [
            "--profile",
            "cpu",
            "-r",
            "80",
            "--set",
            "eval.lpips=false",
            "--seed",
            "3",
        ];
        let output = program.args(common).args(more).output().unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        assert!(output.status.success(), "{text:?}");
        text.concat()
    };
    // The seed is set by hand.
    let words = [
        "adapted to 35 photos, 0.0 % background, ",
        "optimizer.lr.means 0.00016 -> 0.0003 (few photos)",
    ];
    let told = |text: &str| {
        let line = text.lines().find(|line| line.contains(words[0]));
        assert!(line.is_some_and(|line| line.ends_with(words[1])), "{text}");
    };
    told(&run("plan", &[]));
    let output = root.display().to_string();
    let train = |steps: &str, more: &[&str]| {
        let common = ["-o", output.as_str(), "--max-gaussians", "6000", "--iterations", steps];
        run("train", &[&common, more].concat())
    };
    told(&train("2", &[]));
    let settings = fs::read_to_string(root.join("config.resolved.yaml")).unwrap();
    assert!(
        settings.contains("means: 0.0003\n") && settings.contains("seed: 3\n"),
        "{settings}"
    );
    let record = json(&root.join("run.json"));
    assert!(record["chosen"][0].as_str().unwrap().ends_with(words[1]), "{record}");
    train("3", &["--resume"]);
    let record = json(&root.join("run.json"));
    assert_eq!(
        (
            &record["iterations"]["done"],
            record["chosen"].as_array().unwrap().len()
        ),
        (&3.into(), 3)
    );
}
