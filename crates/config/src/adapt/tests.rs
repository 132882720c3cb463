//! Rules of a recipe: when they hold, what they win over, what they say, and what is no rule.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::PathBuf;

use super::*;
use crate::{Inputs, Override, resolve, resolve_for, rules_of, to_yaml};

/// A recipe file that is removed on drop.
struct Recipe(PathBuf);

impl Recipe {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("kiln-adapt-{}-{name}.yaml", std::process::id()));
        std::fs::write(&path, format!("version: 1\n{text}")).unwrap();
        Self(path)
    }

    fn inputs(&self) -> Inputs {
        Inputs {
            recipe: Some(self.0.display().to_string()),
            ..Inputs::default()
        }
    }

    /// The refusal, without the file's folder.
    fn refusal(&self) -> String {
        let error = resolve(&self.inputs()).unwrap_err();
        assert_eq!(
            resolve_for(&self.inputs(), &facts(0)).unwrap_err().to_string(),
            error.to_string()
        );
        error.to_string().replace(&self.0.display().to_string(), "r.yaml")
    }
}

impl Drop for Recipe {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

const RULES: &str = "\
optimizer: { kind: adam_fused, lr: { means: 0.00064 } }
adapt:
  - when: { photos_below: 60 }
    set: { optimizer.lr.means: 0.00032, strategy: { densify: { until: 3000 } } }
    why: few photos are learnt by heart
  - when: { photos_from: 20, points_from: 100, background_below: 0.1, overlap_from: 5 }
    set:
      optimizer.lr.means: 0.0002
      losses: [{ kind: l1, weight: 1 }]
    why: rings
";

fn facts(photos: u32) -> Facts {
    Facts {
        photos,
        points: 3000,
        background: Some(0.0),
        overlap: Some(8.25),
        iterations: 7000,
    }
}

fn set(key: &str, value: &str) -> Override {
    Override {
        key: key.to_owned(),
        value: value.to_owned(),
        flag: "--set".to_owned(),
    }
}

/// What was set: the rate of the means, the last densification, the number of losses.
fn values(profile: &Profile) -> (f64, u32, usize) {
    let crate::plugins::Optimizer::AdamFused(adam) = &profile.optimizer;
    (
        adam.lr.means,
        profile.strategy.adaptive().unwrap().densify.until,
        profile.losses.len(),
    )
}

#[test]
fn rules_that_hold_lie_above_the_recipe_and_below_what_is_set_by_hand() {
    let recipe = Recipe::new("order", RULES);
    let of = |inputs: &Inputs, facts: &Facts| {
        let (profile, reported) = resolve_for(inputs, facts).unwrap();
        (
            values(&profile),
            reported.iter().map(ToString::to_string).collect::<Vec<_>>(),
        )
    };
    let inputs = recipe.inputs();
    assert_eq!(values(&resolve(&inputs).unwrap()), (0.00064, 15000, 2));
    let many = Facts {
        background: Some(0.5),
        ..facts(60)
    };
    assert_eq!(of(&inputs, &many), ((0.00064, 15000, 2), vec![]));
    let few = (
        (0.00032, 3000, 2),
        vec![
            "adapted to 19 photos: optimizer.lr.means 0.00064 -> 0.00032, strategy.densify.until 15000 -> 3000 (few \
             photos are learnt by heart)"
                .to_owned(),
        ],
    );
    assert_eq!(of(&inputs, &facts(19)), few);
    // Both hold: the later one wins where they meet.
    let (found, reported) = of(&inputs, &facts(43));
    assert_eq!(found, (0.0002, 3000, 1));
    assert_eq!(
        reported[0],
        "adapted to 43 photos: strategy.densify.until 15000 -> 3000 (few photos are learnt by heart)"
    );
    assert!(
        reported[1].starts_with(
            "adapted to 43 photos, 3000 sparse points, 0.0 % background, 8.2 photos a point: optimizer.lr.means 0.00064 -> 0.0002, losses [\"l1\",\"dssim\"] -> [{"
        ) && reported[1].ends_with("(rings)"),
        "{reported:?}"
    );
    // Fewer points than the rule asks for.
    let random = Facts { points: 0, ..facts(80) };
    assert_eq!(of(&inputs, &random).0, (0.00064, 15000, 2));
    // What is unknown of a scene holds no condition.
    let unknown = Facts {
        background: None,
        ..facts(80)
    };
    assert_eq!(of(&inputs, &unknown).0, (0.00064, 15000, 2));
    // By hand: on the command line, and in a file.
    let mut by_hand = inputs.clone();
    by_hand.overrides.push(set("optimizer.lr.means", "0.001"));
    let (found, reported) = of(&by_hand, &facts(19));
    assert_eq!(found, (0.001, 3000, 2));
    assert!(
        reported[0].starts_with("adapted to 19 photos: strategy.densify.until 15000 -> 3000 ("),
        "{reported:?}"
    );
    let file = Recipe::new("file", "strategy: { densify: { until: 777 } }\n");
    by_hand.file = Some(file.0.clone());
    assert_eq!(of(&by_hand, &facts(19)), ((0.001, 777, 2), vec![]));
    // Another strategy has no use for the settings of this one.
    let mut other = inputs.clone();
    other.overrides.push(set("strategy", "{ kind: mcmc }"));
    assert!(resolve_for(&other, &facts(19)).unwrap().0.strategy.mcmc().is_some());
}

#[test]
fn steps_are_scaled_after_the_rules() {
    let recipe = Recipe::new("steps", RULES);
    let inputs = Inputs {
        steps_scaler: Some(0.5),
        ..recipe.inputs()
    };
    let (profile, reported) = resolve_for(&inputs, &facts(19)).unwrap();
    assert_eq!(values(&profile).1, 1500);
    assert!(
        reported[0].to_string().contains("strategy.densify.until 7500 -> 1500"),
        "{reported:?}"
    );
}

/// What a run writes is complete: no rule is left in it, and none of any recipe applies to it again.
#[test]
fn resolved_settings_keep_what_was_chosen() {
    let recipe = Recipe::new("kept", RULES);
    let (adapted, _) = resolve_for(&recipe.inputs(), &facts(19)).unwrap();
    let text = to_yaml(&adapted).unwrap();
    assert!(!text.contains("adapt:"), "{text}");
    let file = Recipe(std::env::temp_dir().join(format!("kiln-adapt-{}-resolved.yaml", std::process::id())));
    std::fs::write(&file.0, text).unwrap();
    let again = Inputs {
        file: Some(file.0.clone()),
        ..recipe.inputs()
    };
    assert_eq!(resolve_for(&again, &facts(43)).unwrap(), (adapted, vec![]));
}

#[test]
fn rules_are_shown_and_belong_to_recipes() {
    let recipe = Recipe::new("shown", RULES);
    assert_eq!(
        rules_of(&recipe.inputs()).unwrap(),
        [
            "photos below 60: optimizer.lr.means 0.00032, strategy.densify.until 3000 (few photos are learnt by heart)",
            "photos from 20, points from 100, background below 0.1, overlap from 5: optimizer.lr.means 0.0002, losses [{ kind: l1, weight: \
             1 }] (rings)",
        ]
    );
    let as_file = Inputs {
        file: Some(recipe.0.clone()),
        ..Inputs::default()
    };
    let error = resolve(&as_file).unwrap_err().to_string();
    assert!(error.starts_with("unknown key `adapt` ("), "{error}");
}

#[test]
fn what_is_no_rule_is_refused_by_line() {
    let refused = |name: &str, rule: &str, message: &str| {
        assert_eq!(Recipe::new(name, &format!("adapt:\n{rule}")).refusal(), message);
    };
    let rule = |when: &str, set: &str| format!("  - when: {{ {when} }}\n    set: {{ {set} }}\n    why: x\n");
    refused(
        "condition",
        &rule("photos_belo: 5", "train.seed: 1"),
        "unknown key `adapt.0.when.photos_belo` (r.yaml:3)",
    );
    refused(
        "value",
        &rule("photos_below: few", "train.seed: 1"),
        "`adapt.0.when.photos_below` is the text `few`, expected a whole number, 0 to 4294967295 (r.yaml:3)",
    );
    refused(
        "share",
        &rule("background_below: 10", "train.seed: 1"),
        "`adapt.0.when.background_below` is 10, allowed: 0 to 1 (r.yaml:3)",
    );
    refused(
        "always",
        &rule("", "train.seed: 1"),
        "`adapt.0.when` is empty, allowed: at least one condition (r.yaml:3)",
    );
    refused(
        "key",
        &rule("photos_below: 5", "optimizer.lr.mean: 1"),
        "unknown key `optimizer.lr.mean` (r.yaml:4)",
    );
    refused(
        "range",
        &rule("photos_below: 5", "optimizer: { lr: { means: -1 } }"),
        "`optimizer.lr.means` is -1, allowed: above 0, at most 1 (r.yaml:4)",
    );
    refused(
        "scene",
        &rule("photos_below: 5", "dataset.resolution: 2"),
        "`adapt.0.set.dataset` is set, allowed: what does not say which scene is read, and how (r.yaml:4)",
    );
    refused(
        "nothing",
        "  - when: { photos_below: 5 }\n    why: x\n",
        "`adapt.0.set` is missing (r.yaml:3)",
    );
    refused(
        "set",
        &rule("photos_below: 5", ""),
        "`adapt.0.set` is missing (r.yaml:4)",
    );
    refused(
        "why",
        "  - when: { photos_below: 5 }\n    set: { train.seed: 1 }\n",
        "`adapt.0.why` is missing (r.yaml:3)",
    );
    refused(
        "list",
        "  photos_below: 5\n",
        "`adapt` is a block of keys, expected a list (r.yaml:3)",
    );
    refused(
        "more",
        &(rule("photos_below: 5", "train.seed: 1") + "    then: 1\n"),
        "unknown key `adapt.0.then` (r.yaml:6)",
    );
}

#[test]
fn rules_may_ask_for_the_length_of_the_run() {
    let recipe = Recipe::new(
        "length",
        "adapt:\n  - when: { iterations_from: 5000, iterations_below: 10000 }\n    set: { optimizer.lr.means: 0.0003 }\n    why: \
         short\n",
    );
    let of = |iterations: u32| {
        let (profile, reported) = resolve_for(&recipe.inputs(), &Facts { iterations, ..facts(9) }).unwrap();
        (
            values(&profile).0,
            reported.iter().map(ToString::to_string).collect::<String>(),
        )
    };
    let (rate, reported) = of(7000);
    assert_eq!(rate, 0.0003);
    assert!(
        reported.starts_with("adapted to 7000 iterations: optimizer.lr.means "),
        "{reported}"
    );
    assert_eq!(
        [of(4999), of(10_000)].map(|(rate, reported)| (rate, reported.is_empty())),
        [(0.00016, true); 2]
    );
}

#[test]
fn a_rule_gives_way_to_keys_of_another_strategy() {
    let recipe = Recipe::new(
        "way",
        "adapt:\n  - when: { photos_below: 60 }\n    set: { strategy: { kind: mcmc }, optimizer.lr.means: 0.0003 }\n    why: few\n",
    );
    let mut inputs = recipe.inputs();
    assert!(resolve_for(&inputs, &facts(9)).unwrap().0.strategy.mcmc().is_some());
    inputs.overrides.push(set("strategy.densify.grad_threshold", "0.0004"));
    let (profile, reported) = resolve_for(&inputs, &facts(9)).unwrap();
    assert_eq!(values(&profile).0, 0.00016, "a rule applies whole or not at all");
    assert_eq!(profile.strategy.adaptive().unwrap().densify.grad_threshold, 0.0004);
    assert_eq!(
        reported[0].to_string(),
        "not adapted to 9 photos: it does not go together with what is set by hand (few)"
    );
    // What is wrong without the rule is still an error.
    inputs.overrides.push(set("strategy.densify.nonsense", "1"));
    assert!(resolve_for(&inputs, &facts(9)).is_err());
}

#[test]
fn keys_of_another_strategy_are_told_by_their_new_value_alone() {
    let change = |key: &str, from: &str, to: &str| (key.to_owned(), from.to_owned(), to.to_owned());
    let adaptation = Adaptation {
        to: "20 photos".to_owned(),
        changes: vec![
            change("strategy.kind", "adaptive", "mcmc"),
            change("strategy.densify.growth", "null", "0.05"),
        ],
        why: "few photos".to_owned(),
    };
    assert_eq!(
        adaptation.to_string(),
        "adapted to 20 photos: strategy.kind adaptive -> mcmc, strategy.densify.growth 0.05 (few photos)"
    );
}

#[test]
fn many_settings_are_left_out_of_a_short_line() {
    let few = "adapted to 9 photos: strategy.densify.until 15000 -> 3000 (few photos)";
    assert_eq!(Adaptation::brief(few), few);
    let keys: Vec<String> = (0..20).map(|n| format!("optimizer.lr.key{n} 1 -> 2")).collect();
    let many = format!(
        "adapted to 9 photos, 2.0 photos a point: {} (few photos (9))",
        keys.join(", ")
    );
    assert_eq!(
        Adaptation::brief(&many.replace(" (9)", "")),
        "adapted to 9 photos, 2.0 photos a point: few photos (settings: `kiln plan`, run.json)"
    );
    let other = "x: ".repeat(100);
    assert_eq!(Adaptation::brief(&other), other);
}
