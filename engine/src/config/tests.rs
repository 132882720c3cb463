//! Shipped files, layering, round trip, and the text of every refusal.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

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

/// Resolves a file with this text and gives `message` or `message / hint`, with the file's path shortened.
fn refusal(name: &str, text: &[u8]) -> String {
    let file = TempFile::new(name, text);
    let error = resolve(&Inputs {
        file: Some(file.0.clone()),
        ..Inputs::default()
    })
    .unwrap_err();
    let text = match error.hint() {
        Some(hint) => format!("{error} / {hint}"),
        None => error.to_string(),
    };
    text.replace(&file.0.display().to_string(), "f.yaml")
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
            let file = TempFile::new(&format!("{profile:?}-{recipe}"), to_yaml(&resolved).unwrap().as_bytes());
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
    assert_eq!(
        mip.strategy.adaptive(),
        Some(&crate::plugins::AdaptiveOptions::default())
    );
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
        resolve_for(&inputs, &facts).map(|(profile, told)| (profile, told.len()))
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
fn keys_that_are_gone_are_answered() {
    for (key, instead) in moved::MOVED {
        let setting = set(&key.replace("sinks.", "sinks.3."), "1");
        let inputs = Inputs {
            overrides: vec![setting],
            ..Inputs::default()
        };
        let error = resolve(&inputs).unwrap_err();
        assert!(matches!(error, ConfigError::UnknownKey { .. }), "{key}: {error}");
        assert_eq!(error.hint().as_deref(), Some(*instead), "{key}");
    }
    for (key, old, new) in moved::RENAMED {
        let error = with_sets(&[(*key, *old)]).unwrap_err();
        assert_eq!(error.hint(), Some(format!("`{new}` is its name")), "{key} {old}");
        with_sets(&[(*key, *new)]).unwrap();
    }
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
fn refusals_say_what_where_and_what_instead() {
    let cases: &[(&str, &str)] = &[
        (
            "strategy:\n  densify:\n    grad_treshold: 1\n",
            "unknown key `strategy.densify.grad_treshold` (f.yaml:4) / known keys, nearest first: grad_threshold, \
             from, until, every",
        ),
        (
            "memroy: {}\n",
            "unknown key `memroy` (f.yaml:2) / known keys, nearest first: memory, mesh, version, run, model, mip, \
             eval, device, train, init, cull, sugar, bound, losses, sinks, dataset, schedule, diagnose, strategy, optimizer, exporters, \
             regularizers, mesh_splatting",
        ),
        (
            "strategy: {kind: adaptiveabs}\n",
            "`strategy.kind` is `adaptiveabs`, which does not exist (f.yaml:2) / known, nearest first: adaptive_abs, adaptive, fixed, mcmc, \
             error_guided",
        ),
        (
            "sinks:\n  - kind: consle\n",
            "`sinks.0.kind` is `consle`, which does not exist (f.yaml:3) / known, nearest first: console, \
             tensorboard, memory_jsonl, metrics_jsonl",
        ),
        (
            "sinks: [console]\n",
            "`sinks.0` is the text `console`, expected a block: `kind: console` (f.yaml:2)",
        ),
        (
            "sinks:\n  - kind: tensorboard\n    every: 0\n",
            "`sinks.0.every` is 0, allowed: 1 to 100000 (f.yaml:4)",
        ),
        (
            "schedule:\n  early_stop: { patience: 0 }\n",
            "`schedule.early_stop.patience` is 0, allowed: 1 to 1000 (f.yaml:3)",
        ),
        (
            "schedule:\n  early_stop: { min_delta: 1 }\n",
            "`schedule.early_stop.patience` is missing (f.yaml:3)",
        ),
        (
            "schedule:\n  early_stop: { patience: 1, metric: psn }\n",
            "`schedule.early_stop.metric` is `psn`, which does not exist (f.yaml:3) / known, nearest first: psnr, \
             ssim, l1, lpips",
        ),
        ("sinks:\n  - every: 5\n", "`sinks.0.kind` is missing (f.yaml:3)"),
        (
            "exporters:\n  - {kind: ply,\n     path: x}\n",
            "unknown key `exporters.0.path` (f.yaml:4) / no keys exist there",
        ),
        (
            "regularizers: [{kind: opacty}]\n",
            "`regularizers.0.kind` is `opacty`, which does not exist (f.yaml:2) / known, nearest first: opacity, flat, scale, \
             density, entropy",
        ),
        (
            "dataset: {alpha: blnd}\n",
            "`dataset.alpha` is `blnd`, which does not exist (f.yaml:2) / known, nearest first: blend, auto, mask, ignore",
        ),
        (
            "memory: {storage: double}\n",
            "`memory.storage` is `double`, which does not exist (f.yaml:2) / known, nearest first: half, exact, compact",
        ),
        (
            "memory: {backend: {kind: naive}}\n",
            "unknown key `memory.backend` (f.yaml:2) / remove it: the engine plans every byte itself before the first step, \
             and nothing is left to choose",
        ),
        (
            "memory: {storage: half, trace: true}\n",
            "unknown key `memory.trace` (f.yaml:2) / remove it: the engine plans every byte itself before the first step, \
             and nothing is left to choose",
        ),
        (
            "eval: {lpips: 1}\n",
            "`eval.lpips` is 1, expected auto, true or false (f.yaml:2)",
        ),
        (
            "memory: {cap_gib: .nan}\n",
            "`memory.cap_gib` is NaN, allowed: a finite number (f.yaml:2)",
        ),
        (
            "memory: {cap_gib: 1e400}\n",
            "`memory.cap_gib` is inf, allowed: a finite number (f.yaml:2)",
        ),
        (
            "mip: {kernel_size: 1e39}\n",
            &format!("`mip.kernel_size` is {}, allowed: a finite number (f.yaml:2)", 1e39),
        ),
        (
            "init: {scale: 0}\n",
            "`init.scale` is 0, allowed: above 0, at most 10 (f.yaml:2)",
        ),
        (
            "memory: {max_gaussians: lots}\n",
            "`memory.max_gaussians` is the text `lots`, expected a whole number, or `up to N` for what fits up to that many \
             (f.yaml:2)",
        ),
        (
            "memory: {max_gaussians: -1}\n",
            "`memory.max_gaussians` is -1, expected a whole number, or `up to N` for what fits up to that many \
             (f.yaml:2)",
        ),
        (
            "memory: {max_gaussians: up to 0}\n",
            "`memory.max_gaussians` is 0, allowed: 1 to 1000000000 (f.yaml:2)",
        ),
        (
            "init: {background: {count: 0}}\n",
            "`init.background` is a block of keys, expected `auto` or a whole number (f.yaml:2)",
        ),
        (
            "schedule: {iterations: -5}\n",
            "`schedule.iterations` is -5, allowed: 0 to 4294967295 (f.yaml:2)",
        ),
        (
            "schedule: {iterations: 0}\n",
            "`schedule.iterations` is 0, allowed: 1 to 10000000 (f.yaml:2)",
        ),
        (
            "schedule: {test: [5,\n    0]}\n",
            "`schedule.test.1` is 0, allowed: 1 to 10000000 (f.yaml:3)",
        ),
        (
            "schedule: {test: 5}\n",
            "`schedule.test` is 5, expected a list (f.yaml:2)",
        ),
        (
            "train: {seed: 1.5}\n",
            "`train.seed` is 1.5, expected a whole number, 0 to 18446744073709551615 (f.yaml:2)",
        ),
        (
            "dataset: {hold_out: yes}\n",
            "`dataset.hold_out` is the text `yes`, expected true, false, a number from 2 or a file (f.yaml:2)",
        ),
        (
            "device: {select: ' '}\n",
            "`device.select` is an empty text, allowed: a number, a part of a device's name, or its uuid (f.yaml:2)",
        ),
        (
            "run: {name: 7}\n",
            "`run.name` is 7, expected a text (in quotes if it looks like something else) (f.yaml:2)",
        ),
        (
            "dataset: {resolution: 0}\n",
            "`dataset.resolution` is 0, allowed: -1 or 1 to 65536 (f.yaml:2)",
        ),
        ("memory:\n", "`memory` is null, expected a block of keys (f.yaml:2)"),
        (
            "strategy: {densify: {until: 100}}\n",
            "`strategy.densify.until` is 100, allowed: above `from`, 500 (f.yaml:2)",
        ),
        (
            "losses: []\n",
            "`losses` is without any weight, allowed: at least one loss with a weight above 0 (f.yaml:2)",
        ),
        (
            "losses: [{kind: l1}, {kind: normals, from: -1}]\n",
            "`losses.1.from` is -1, allowed: 0 to 4294967295 (f.yaml:2)",
        ),
        (
            "losses: [{kind: l1}, {kind: normals, weight: 11}]\n",
            "`losses.1.weight` is 11, allowed: 0 to 10 (f.yaml:2)",
        ),
        (
            "losses: [{kind: l1}, {kind: normals}]\noptimizer: {deferred_sh: on}\n",
            "`optimizer.deferred_sh` is on, allowed: auto or off, because of the loss `normals`: it needs every Gaussian's colour \
             up to date (f.yaml:3)",
        ),
        (
            "regularizers: [{kind: flat, weight: -1}]\n",
            "`regularizers.0.weight` is -1, allowed: 0 to 10000 (f.yaml:2)",
        ),
        (
            "losses: [{kind: l1}, {kind: l1}]\n",
            "`losses.1.kind` is l1, allowed: each loss once (f.yaml:2)",
        ),
        (
            "memory: {storage: compact}\noptimizer: {deferred_sh: on}\n",
            "`optimizer.deferred_sh` is on, allowed: auto or off, because `memory.storage` is compact, whose moments are too \
             coarse to make up for many steps at once (f.yaml:3)",
        ),
        (
            "train: {deterministic: true}\noptimizer: {deferred_sh: on}\n",
            "`optimizer.deferred_sh` is on, allowed: auto or off, because `train.deterministic` is on: a save would show in \
             later bytes (f.yaml:3)",
        ),
        (
            "debug: {validation: true}\n",
            "unknown key `debug` (f.yaml:2) / `diagnose` holds validation, guard_bands, markers and timed_every; the others \
             were for tests and are no settings any more",
        ),
        (
            "extends: [1]\n",
            "`extends` is a list, expected `profiles/NAME`, `recipes/NAME` or a file (f.yaml:2)",
        ),
        (
            "extends: profiles/12gb\n",
            "no profile is named `12gb` / shipped, nearest first: 16gb, 8gb, 24gb, cpu; a path to a profile file must \
             end in .yaml or .yml",
        ),
        (
            "train: {seed: 1}\ntrain: {seed: 2}\n",
            "the key `train` appears twice in one block (f.yaml:3)",
        ),
    ];
    let mut wrong = String::new();
    for (i, (text, expected)) in cases.iter().enumerate() {
        let found = refusal(&format!("case{i}.yaml"), format!("version: 1\n{text}").as_bytes());
        if &found != expected {
            wrong += &format!("{text}found    {found}\nexpected {expected}\n\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_file_need_not_say_its_version() {
    let file = TempFile::new("noversion.yaml", b"train: {seed: 1}\n");
    let inputs = Inputs {
        file: Some(file.0.clone()),
        ..Inputs::default()
    };
    assert_eq!(resolve(&inputs).unwrap().train.seed, 1);
}

#[test]
fn refusals_of_whole_files() {
    assert_eq!(
        refusal("iterations.yaml", b"iterations: 7000\n"),
        "unknown key `iterations` (f.yaml:1) / the key is `schedule.iterations` or `bound.iterations`"
    );
    assert_eq!(
        refusal("recipe-key.yaml", b"recipe: mcmc\n"),
        "unknown key `recipe` (f.yaml:1) / `extends: recipes/NAME` names it in a file, `--recipe NAME` on the command line"
    );
    assert_eq!(
        refusal("version2.yaml", b"version: 2\n"),
        "`version` is 2, allowed: 1 (f.yaml:1)"
    );
    assert_eq!(
        refusal("list.yaml", b"- 1\n"),
        "`(whole file)` is a list, expected a block of keys (f.yaml:1)"
    );
    assert_eq!(
        refusal("latin1.yaml", b"version: 1\nrun: {name: \xe9}\n"),
        "not UTF-8 text (f.yaml:2)"
    );
    let large = vec![b'#'; (1 << 20) + 5];
    assert_eq!(
        refusal("large.yaml", &large),
        "the configuration is 1048581 bytes, allowed: at most 1048576 (f.yaml)"
    );
    let missing = Inputs {
        file: Some("/nonexistent/f.yaml".into()),
        ..Inputs::default()
    };
    let error = resolve(&missing).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot read the configuration file /nonexistent/f.yaml: "),
        "{error}"
    );
    assert_eq!(
        error.hint().unwrap(),
        "check the path; `kiln profiles list` shows what is shipped"
    );
}

#[test]
fn refusals_of_sets_name_the_flag() {
    let error = with_sets(&[("memory.cap_gb", "3")]).unwrap_err();
    assert_eq!(error.to_string(), "unknown key `memory.cap_gb` (--set)");
    let error = with_sets(&[("memory.cap_gib", "[")]).unwrap_err();
    assert!(error.to_string().starts_with("not valid YAML: "), "{error}");
    let error = with_sets(&[("losses.2.weight", "1")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`losses` is a block of keys, expected a list (--set)"
    );
}

#[test]
fn hostile_text_is_refused_without_a_panic() {
    for text in [
        &b"\0"[..],
        b"version: 1\n? [a]\n: b\n",
        b"{",
        b"}",
        b"version: 1\n&a a: *a\n",
        b"%TAG ! x\n---\n",
    ] {
        let found = refusal("hostile.yaml", text);
        assert!(found.contains("f.yaml"), "{found}");
    }
    let mut text = b"version: 1\nrun: {name: \"".to_vec();
    text.extend(std::iter::repeat_n(b'x', 1 << 19));
    text.extend(b"\", zz: 1}\n");
    assert!(refusal("long.yaml", &text).starts_with("unknown key `run.zz`"));
}

#[test]
fn the_checked_in_schema_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../configs/schema.json");
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
    for family in crate::plugins::families() {
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
