//! What is refused, and with which words.

use super::*;

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
fn keys_of_other_trainers_are_answered() {
    for (key, instead) in moved::MOVED {
        let error = with_sets(&[(*key, "1")]).unwrap_err();
        assert!(matches!(error, ConfigError::UnknownKey { .. }), "{key}: {error}");
        assert_eq!(error.hint().as_deref(), Some(*instead), "{key}");
    }
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
            "sinks: [consle]\n",
            "`sinks.0` is `consle`, which does not exist (f.yaml:2) / known, nearest first: console, tensorboard, memory_jsonl, \
             metrics_jsonl",
        ),
        (
            "losses: [l1, [dssim]]\n",
            "`losses.1` is a list, expected a word (f.yaml:2)",
        ),
        (
            "init: ply\n",
            "`init.path` is empty, allowed: the path of a PLY file (f.yaml:2)",
        ),
        (
            "cull: unsen\n",
            "`cull` is `unsen`, which does not exist (f.yaml:2) / known, nearest first: unseen, floaters",
        ),
        (
            "cull: { kind: unseen, clearance: 1 }\n",
            "unknown key `cull.clearance` (f.yaml:2) / known keys, nearest first: every, kind",
        ),
        (
            "cull: { every: 5 }\nextends: recipes/bound\n",
            "`cull.kind` is missing (f.yaml:2)",
        ),
        (
            "cull: 3\n",
            "`cull` is 3, expected null, unseen, floaters or a block of keys (f.yaml:2)",
        ),
        (
            "mesh: { texture: { kind: charts, size: 8 } }\n",
            "`mesh.texture.size` is 8, allowed: 16 to 16384 (f.yaml:2)",
        ),
        (
            "dataset: { normals: { path: n, axis: opencv } }\n",
            "unknown key `dataset.normals.axis` (f.yaml:2) / known keys, nearest first: axes, path",
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
            "run: {name: ' '}\n",
            "`run.name` is empty, allowed: null or a name (f.yaml:2)",
        ),
        (
            "run: {output: ''}\n",
            "`run.output` is empty, allowed: null or a folder (f.yaml:2)",
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
            "memory: {storage: half}\noptimizer: {deferred_sh: on}\n",
            "`optimizer.deferred_sh` is on, allowed: auto or off, because `memory.storage` is half, whose moments are too \
             coarse to make up for many steps at once (f.yaml:3)",
        ),
        (
            "memory: {storage: half}\nlosses: [{kind: l1}, {kind: normals}]\n",
            "`memory.storage` is half, allowed: exact or compact, because of the loss `normals` (f.yaml:2)",
        ),
        (
            "memory: {storage: half}\nregularizers: [{kind: density}]\n",
            "`memory.storage` is half, allowed: exact or compact, because of the regularizer `density` (f.yaml:2)",
        ),
        (
            "train: {deterministic: true}\noptimizer: {deferred_sh: on}\n",
            "`optimizer.deferred_sh` is on, allowed: auto or off, because `train.deterministic` is on: a save would show in \
             later bytes (f.yaml:3)",
        ),
        (
            "debug: {validation: true}\n",
            "unknown key `debug` (f.yaml:2) / `diagnose` holds validation, guard_bands and timed_every",
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
        "unknown key `iterations` (f.yaml:1) / the key is `schedule.iterations`"
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
