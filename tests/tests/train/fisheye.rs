//! Runs whose photos are fisheyes' and stay as they are.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use kiln::run::ResumeFrom;
use kiln::run::interrupt::Interrupt;
use kiln_lab::synth::{Synthetic, SyntheticKind};
use kiln_tests::runs::{self, Scratch, json, profile, train_scene};

/// Sixteen photos, of which two that a pinhole took are held out.
fn scene(folder: &Path) {
    let scene = Synthetic {
        kind: SyntheticKind::Solids,
        gaussians: 2000,
        size_px: [64, 48],
        views: 16,
        samples: 3,
        fisheye: Some(150),
        ..Synthetic::default()
    };
    scene.write(folder).unwrap();
}

fn train(scratch: &Scratch, name: &str, settings: &[(&str, &str)], from: Option<ResumeFrom>) {
    let own = [
        ("dataset.resolution", "1"),
        ("train.deterministic", "true"),
        ("schedule.save", "[]"),
        ("strategy", "{ kind: fixed }"),
    ];
    let profile = profile(&scratch.join(name), &[&own[..], settings]);
    train_scene(profile, scratch.join("scene"), from, &Interrupt::unattached()).unwrap();
}

/// Mean PSNR of a set of views after so many steps.
fn psnr(run: &Path, iteration: u32, set: &str) -> f64 {
    let file = json(&run.join(format!("eval/iteration_{iteration}/metrics.json")));
    file[set]["mean"]["psnr_image"].as_f64().unwrap()
}

/// Photos are compared as they are, and the model is right for a pinhole.
#[test]
fn a_scene_is_learnt_through_the_lens() {
    let scratch = Scratch::new("fisheye");
    scene(&scratch.join("scene"));
    let settings = [("schedule.iterations", "120"), ("schedule.test", "[1]")];
    train(&scratch, "run", &settings, None);
    let run = scratch.join("run");
    for set in ["train", "test"] {
        let [before, after] = [1, 120].map(|iteration| psnr(&run, iteration, set));
        println!("{set}: {before} dB, {after} dB");
        assert!(after > before + 0.8, "{set}: {before} dB, {after} dB");
    }
    let photo = std::fs::read_dir(run.join("eval/gt/train"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let photo = image::open(photo.path()).unwrap();
    assert_eq!((photo.width(), photo.height()), (64, 48));
}

/// With poses that move: pauses and bands change no byte, and a model that is drawn in parts is measured as one that is not.
#[test]
fn neither_pauses_nor_bands_nor_parts_change_anything() {
    let scratch = Scratch::new("fisheye-pause");
    scene(&scratch.join("scene"));
    let own = [
        ("schedule.iterations", "24"),
        ("schedule.checkpoint", "[10]"),
        ("schedule.test", "[]"),
        ("train.refine_poses", "{ test_steps: 0 }"),
        ("diagnose.validation", "sync"),
    ];
    train(&scratch, "whole", &own, None);
    let model = |name: &str| runs::raw_model(&scratch.join(name), 24);
    // Both go on from the checkpoint.
    let file = scratch.join("whole/checkpoints/checkpoint_00000010.kiln");
    for (name, band) in [("tiles", ("fault.bands", "3")), ("records", ("fault.v_cap", "1536"))] {
        let from = ResumeFrom::File(file.clone());
        train(&scratch, name, &[&own[..], &[band]].concat(), Some(from));
        assert!(
            model(name) == model("whole"),
            "a pause and bands of {name}: models differ"
        );
    }
    let stalls = runs::events(&scratch.join("records"), "stall");
    assert!(
        stalls.iter().any(|row| row["detail"]["buffer"] == "visible"),
        "no view was too large for so few records: {stalls:?}"
    );
    let measured = |fault: &[&str]| {
        let mut command = runs::kiln();
        command
            .args(["eval", "--json", "-q"])
            .arg(scratch.join("whole"))
            .arg(scratch.join("scene"))
            .arg("--allow-cpu")
            .args(fault);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let file: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        ["train", "test"].map(|set| file[set]["mean"]["psnr_image"].as_f64().unwrap())
    };
    let (at_once, in_parts) = (measured(&[]), measured(&["--fault", "resident=1700"]));
    assert!(
        at_once.iter().zip(in_parts).all(|(a, b)| (a - b).abs() < 1e-3),
        "{at_once:?} {in_parts:?}"
    );
}
