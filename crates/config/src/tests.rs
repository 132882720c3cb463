//! Shipped files, layering, round trip, and the text of every refusal.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod keys;
mod neighbour;
mod photo_colors;
mod refusals;
mod settings_page;

use std::io::Write as _;
use std::path::PathBuf;

use super::*;
use crate::plugins::{Loss, Optimizer, Strategy};

/// A file in the system's temporary folder, removed on drop.
struct TempFile(PathBuf);

impl TempFile {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("kiln-config-{}-{name}", std::process::id()));
        std::fs::File::create(&path).unwrap().write_all(bytes).unwrap();
        Self(path)
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn set(key: &str, value: &str) -> Override {
    Override {
        key: key.to_owned(),
        value: value.to_owned(),
        flag: "--set".to_owned(),
    }
}

fn with_sets(sets: &[(&str, &str)]) -> Result<Profile, ConfigError> {
    resolve(&Inputs {
        overrides: sets.iter().map(|(k, v)| set(k, v)).collect(),
        ..Inputs::default()
    })
}

#[test]
fn every_shipped_combination_resolves_and_reads_back_equal() {
    for profile in [None, Some("8gb"), Some("16gb"), Some("24gb"), Some("cpu")] {
        for recipe in ["default", "mip", "demo"] {
            let inputs = Inputs {
                profile: profile.map(str::to_owned),
                recipe: Some(recipe.to_owned()),
                overrides: vec![set("run.name", "\"7\""), set("train.dropout", "0.3")],
                ..Inputs::default()
            };
            let resolved = resolve(&inputs).unwrap();
            let file = TempFile::new(
                &format!("{}-{recipe}", profile.unwrap_or("none")),
                to_yaml(&resolved).unwrap().as_bytes(),
            );
            // Another recipe below must not shine through a complete file.
            let again = Inputs {
                file: Some(file.0.clone()),
                recipe: Some("demo".to_owned()),
                ..Inputs::default()
            };
            assert_eq!(resolve(&again).unwrap(), resolved, "{profile:?} {recipe}");
        }
    }
}

#[test]
fn shipped_values() {
    let profile = |name: &str| {
        resolve(&Inputs {
            profile: Some(name.to_owned()),
            ..Inputs::default()
        })
        .unwrap()
    };
    assert_eq!(profile("8gb").memory.cap_gib, Some(7.0));
    assert_eq!(profile("16gb").memory.cap_gib, Some(14.5));
    assert_eq!(profile("24gb").memory.cap_gib, Some(22.0));
    assert_eq!(profile("cpu").memory.cap_gib, Some(1.0));
    assert!(profile("cpu").device.allow_cpu && !profile("24gb").device.allow_cpu);

    let recipe = |name: &str| {
        resolve(&Inputs {
            recipe: Some(name.to_owned()),
            ..Inputs::default()
        })
        .unwrap()
    };
    let mip = recipe("mip");
    assert!(matches!(mip.strategy, Strategy::AdaptiveAbs(_)));
    assert_eq!(mip.memory.max_gaussians, MostGaussians::UpTo(6_000_000));
    assert_eq!(mip.strategy.adaptive(), Some(&plugins::AdaptiveOptions::default()));
    assert!(mip.strategy.counts_faint());
    let plain = recipe("default");
    assert!(matches!(plain.strategy, Strategy::Adaptive(_)) && plain.mip.filter_3d && !plain.strategy.counts_faint());
    assert_eq!(plain.optimizer, mip.optimizer);
    let demo = recipe("demo");
    assert_eq!(demo.memory.max_gaussians, MostGaussians::UpTo(25_000));
    assert_eq!((demo.schedule.iterations, &demo.schedule.test[..]), (1500, &[1500][..]));
    for shipped in PROFILES.iter().chain(&RECIPES) {
        assert!(
            !shipped.summary().is_empty() && shipped.text.starts_with("# "),
            "{}",
            shipped.name
        );
    }
}

#[test]
fn layers_lie_in_order() {
    let file = TempFile::new(
        "layers.yaml",
        b"version: 1\nextends: profiles/8gb\nmemory: {storage: half}\nschedule: {iterations: 900}\n",
    );
    let mut inputs = Inputs {
        file: Some(file.0.clone()),
        ..Inputs::default()
    };
    let profile = resolve(&inputs).unwrap();
    assert_eq!(
        (profile.memory.cap_gib, profile.memory.storage),
        (Some(7.0), Storage::Half)
    );
    // The recipe's lists are cut at the end of the run, which is always tested and saved.
    assert_eq!((profile.schedule.test, profile.schedule.save), (vec![900], vec![900]));
    assert_eq!(extended_profile(&file.0).unwrap().as_deref(), Some("8gb"));

    inputs.profile = Some("16gb".to_owned());
    inputs.overrides = vec![set("schedule.iterations", "800"), set("losses.1.weight", "0.3")];
    let profile = resolve(&inputs).unwrap();
    assert_eq!((profile.memory.cap_gib, profile.schedule.iterations), (Some(14.5), 800));
    assert_eq!((profile.losses[0].weight(), profile.losses[1].weight()), (0.8, 0.3));

    let other = with_sets(&[("strategy.kind", "fixed")]).unwrap();
    assert!(other.strategy.adaptive().is_none());

    let base = TempFile::new("base.yaml", b"version: 1\ntrain: {seed: 5}\n");
    let name = base.0.file_name().unwrap().to_str().unwrap();
    let top = TempFile::new("top.yaml", format!("version: 1\nextends: {name}\n").as_bytes());
    assert_eq!(
        resolve(&Inputs {
            file: Some(top.0.clone()),
            ..Inputs::default()
        })
        .unwrap()
        .train
        .seed,
        5
    );
    let twice = TempFile::new(
        "twice.yaml",
        format!(
            "version: 1\nextends: {}\n",
            top.0.file_name().unwrap().to_str().unwrap()
        )
        .as_bytes(),
    );
    let error = resolve(&Inputs {
        file: Some(twice.0.clone()),
        ..Inputs::default()
    })
    .unwrap_err();
    assert!(matches!(error, ConfigError::ExtendsTwice { .. }), "{error}");
}

#[test]
fn recipes_stand_on_recipes() {
    let of = |text: &str| {
        let file = TempFile::new("recipe.yaml", format!("version: 1\n{text}").as_bytes());
        let inputs = Inputs {
            recipe: Some(file.0.display().to_string()),
            ..Inputs::default()
        };
        let facts = Facts {
            photos: 50,
            iterations: 30_000,
            ..Facts::default()
        };
        resolve_for(&inputs, &facts).map(|(profile, reported)| (profile, reported.len()))
    };
    // What it says goes first; what it does not say is the base's, and so are that one's base and rules.
    let (profile, rules) = of("extends: recipes/draft\noptimizer: {lr: {sh0: 0.005}}\n").unwrap();
    let Optimizer::AdamFused(adam) = &profile.optimizer;
    assert_eq!((adam.lr.sh0, adam.lr.opacity), (0.005, 0.05));
    assert!(profile.schedule.iterations == 7000 && profile.strategy.mcmc().is_some());
    assert_eq!(rules, 2);
    // A list of rules takes the place of the base's.
    let (profile, rules) = of("extends: recipes/draft\nadapt: []\n").unwrap();
    assert!(profile.strategy.error_guided().is_some() && rules == 0);
    for base in ["profiles/8gb", "other.yaml", "recipes/other.yaml"] {
        let error = of(&format!("extends: {base}\n")).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("a recipe extends `recipes/NAME`, and this one names `{base}`")),
            "{error}"
        );
    }
    let error = of("extends: recipes/quallity\n").unwrap_err();
    assert!(matches!(error, ConfigError::UnknownName { .. }), "{error}");
}

#[test]
fn steps_scaler_scales_every_step_number() {
    let scaled = |recipe: &str| {
        resolve(&Inputs {
            recipe: Some(recipe.to_owned()),
            steps_scaler: Some(0.1),
            ..Inputs::default()
        })
        .unwrap()
    };
    let profile = scaled("mip");
    assert_eq!(profile.schedule.iterations, 3000);
    assert_eq!(profile.schedule.test, [100, 500, 1000, 1500, 3000]);
    assert_eq!(profile.schedule.sh_every, 100);
    let adaptive = profile.strategy.adaptive().unwrap();
    assert_eq!(
        (adaptive.densify.from, adaptive.densify.until, adaptive.densify.every),
        (50, 1500, 10)
    );
    assert_eq!((adaptive.reset.every, adaptive.reset.until), (Some(300), 1500));
    let demo = scaled("demo");
    assert_eq!((demo.schedule.resolution[0].until, demo.schedule.iterations), (50, 150));
    assert!(matches!(&scaled("surface").losses[2], Loss::Normals(normals) if normals.from == 700));
    // A run of a few steps still has some between densifications, and between resets.
    let smoke = resolve(&Inputs {
        recipe: Some("mip".to_owned()),
        steps_scaler: Some(0.004),
        ..Inputs::default()
    });
    let smoke = smoke.unwrap();
    let adaptive = smoke.strategy.adaptive().unwrap();
    assert_eq!(
        (smoke.schedule.iterations, adaptive.densify.every, adaptive.reset.every),
        (120, 10, Some(300))
    );
    let error = resolve(&Inputs {
        steps_scaler: Some(f64::NAN),
        ..Inputs::default()
    })
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "`--steps-scaler` is NaN, allowed: above 0, at most 1000 (command line)"
    );
}

#[test]
fn the_checked_in_schema_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/schema.json");
    let generated = schema_json();
    let checked_in = std::fs::read_to_string(path).unwrap_or_default();
    if std::env::var_os("KILN_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(path, &generated).unwrap();
        return;
    }
    assert!(
        checked_in == generated,
        "configs/schema.json is stale: KILN_BLESS=1 cargo test -p kiln schema"
    );
    let schema: serde_json::Value = serde_json::from_str(&generated).unwrap();
    for family in plugins::families() {
        assert!(schema["properties"].get(family.key).is_some(), "{}", family.key);
        let text = schema["properties"][family.key].to_string();
        for entry in family.entries {
            assert!(
                text.contains(&format!("\"{}\"", entry.kind)),
                "{} {}",
                family.key,
                entry.kind
            );
        }
    }
}
