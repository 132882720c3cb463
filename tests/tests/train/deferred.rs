//! Whole runs with colours that wait for their optimiser steps: what it costs in quality, and what checkpoints hold.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use kiln::run::ResumeFrom;
use kiln::run::interrupt::Interrupt;
use kiln_tests::runs::{self, QUICK, Scratch, json, profile, rows};

/// What a card without float atomics runs; under `auto` colours wait then.
const UNORDERED: &[(&str, &str)] = &[("fault.reduction", "compare_exchange"), ("diagnose.validation", "true")];

fn train(root: &Path, settings: &[&[(&str, &str)]], resume: Option<ResumeFrom>) {
    runs::train(profile(root, settings), resume, &Interrupt::unattached()).unwrap();
}

fn psnr(root: &Path, iteration: u32) -> f64 {
    let file = json(&root.join(format!("eval/iteration_{iteration}/metrics.json")));
    file["test"]["mean"]["psnr_image"].as_f64().unwrap()
}

/// Gaussians after the last step.
fn gaussians(root: &Path) -> f64 {
    let rows = rows(&root.join("metrics.jsonl"));
    let last = rows.iter().rev().find(|row| row["type"] == "train").unwrap();
    last["gaussians"].as_f64().unwrap()
}

/// The number of Gaussians is fixed, as for storage modes: what densification makes of last bits is tenths of a decibel.
#[test]
fn quality_is_that_of_dense_steps() {
    let scratch = Scratch::new("deferred-quality");
    let longer = [
        ("schedule.iterations", "250"),
        ("dataset.resolution", "48"),
        ("strategy.kind", "fixed"),
    ];
    let quick: Vec<_> = QUICK
        .iter()
        .copied()
        .filter(|(key, _)| !key.starts_with("strategy"))
        .collect();
    let of = |mode: &str, resume| {
        let root = scratch.join(mode);
        let own = [("optimizer.deferred_sh", mode), ("schedule.checkpoint", "[200]")];
        train(&root, &[&quick, &longer, UNORDERED, &own], resume);
        psnr(&root, 250)
    };
    let (on, off) = (of("on", None), of("off", None));
    // `auto` is either: it goes on where the other ended a while ago.
    let file = scratch.join("on/checkpoints/checkpoint_00000200.kiln");
    let auto = of("auto", Some(ResumeFrom::File(file)));
    assert!(
        off > 18.0 && (auto - off).abs() < 0.02 && (on - off).abs() < 0.02,
        "{auto}, {on}, {off} dB"
    );
}

/// With densifications, a reset and degree raises: as many Gaussians, and from a checkpoint of either kind the other goes on.
#[test]
fn a_run_grows_as_a_dense_one_and_either_goes_on_from_the_other() {
    let scratch = Scratch::new("deferred-resume");
    let of = |name: &str, mode: &str, from: Option<&str>| {
        let root = scratch.join(name);
        let settings = [("optimizer.deferred_sh", mode), ("schedule.checkpoint", "[50]")];
        let file = |name| ResumeFrom::File(scratch.join(name).join("checkpoints/checkpoint_00000050.kiln"));
        train(&root, &[QUICK, UNORDERED, &settings], from.map(file));
        (gaussians(&root), psnr(&root, 100))
    };
    let dense = of("dense", "off", None);
    let others = [
        of("deferred", "on", None),
        of("deferred-deferred", "on", Some("deferred")),
        of("deferred-dense", "off", Some("deferred")),
        of("dense-deferred", "on", Some("dense")),
    ];
    for (n, psnr) in others {
        assert!(
            (n / dense.0 - 1.0).abs() < 0.05 && (psnr - dense.1).abs() < 0.3,
            "{others:?}, dense {dense:?}"
        );
    }
    // A checkpoint of waiting colours holds the planes that one of dense steps does.
    let planes = |name: &str| -> Vec<String> {
        let path = scratch.join(name).join("checkpoints/checkpoint_00000050.kiln");
        let footer = runs::checkpoint(&path).1;
        let tensors = footer["tensors"].as_array().unwrap().iter();
        tensors
            .map(|tensor| tensor["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let found = planes("deferred");
    assert!(found.len() > 160 && found == planes("dense"), "{found:?}");
}
