//! Whole runs in every storage mode: what they cost in quality, that they repeat and resume, and what is refused.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use kiln::cli::{Exit, Failure as _};
use kiln::run::ResumeFrom;
use kiln::run::interrupt::Interrupt;
use kiln_tests::runs::{self, EVENTFUL, QUICK, Scratch, json, profile};
use kiln_tests::setup::Setup;

const MODES: [&str; 3] = ["exact", "half", "compact"];

fn train(profile: Setup, resume: Option<ResumeFrom>) {
    runs::train(profile, resume, &Interrupt::unattached()).unwrap();
}

fn stored(mode: &str) -> [(&str, &str); 1] {
    [("memory.storage", mode)]
}

/// Mean PSNR of the test views at the end.
fn psnr(root: &Path, iteration: u32) -> f64 {
    let file = json(&root.join(format!("eval/iteration_{iteration}/metrics.json")));
    file["test"]["mean"]["psnr_image"].as_f64().unwrap()
}

/// The number of Gaussians is fixed: densification turns the last bits of a gradient into other Gaussians, and figures then
/// differ by tenths either way.
#[test]
fn fewer_bits_cost_little_quality() {
    let scratch = Scratch::new("storage-quality");
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
    let figures = MODES.map(|mode| {
        let root = scratch.join(mode);
        train(profile(&root, &[&quick, &longer, &stored(mode)]), None);
        psnr(&root, 250)
    });
    let [exact, half, compact] = figures;
    assert!(
        exact > 18.0 && half > exact - 0.05 && compact > exact - 0.05,
        "{figures:?} dB"
    );
}

/// A run with densifications, resets and degree raises gives the same bytes twice, also with a pause in its middle.
#[test]
fn runs_repeat_and_resume_byte_for_byte() {
    for mode in &MODES[1..] {
        let scratch = Scratch::new("storage-bytes");
        let [a, b, c] = ["a", "b", "c"].map(|name| scratch.join(name));
        let of = |root: &Path| profile(root, &[EVENTFUL, &stored(mode), &[("schedule.checkpoint", "[36]")]]);
        for root in [&a, &b] {
            train(of(root), None);
            runs::assert_eventful(root, 0, 72, 3);
        }
        let from = a.join("checkpoints/checkpoint_00000036.kiln");
        train(of(&c), Some(ResumeFrom::File(from)));
        for other in [&b, &c] {
            assert!(
                runs::raw_model(&a, 72) == runs::raw_model(other, 72),
                "{mode}: models differ"
            );
            let last = |root: &Path| runs::checkpoint(&root.join("checkpoints/checkpoint_00000071.kiln"));
            let (one, two) = (last(&a), last(other));
            assert!(one.0 == two.0, "{mode}: checkpoints differ");
            assert_eq!(one.1, two.1);
        }
    }
}

/// A checkpoint goes on in its own mode and degree only, unless higher degrees may go.
#[test]
fn other_modes_and_degrees_are_refused_and_higher_degrees_may_be_dropped() {
    let scratch = Scratch::new("storage-refused");
    for mode in MODES {
        let root = scratch.join(mode);
        let start = [
            ("schedule.iterations", "30"),
            ("schedule.checkpoint", "[24]"),
            ("schedule.sh_every", "6"),
        ];
        train(profile(&root, &[EVENTFUL, &stored(mode), &start]), None);
        let from = || Some(ResumeFrom::File(root.join("checkpoints/checkpoint_00000024.kiln")));
        let onward = |name: &str, settings: &[(&str, &str)]| {
            let root = scratch.join(&format!("{mode}-{name}"));
            let settings = profile(&root, &[EVENTFUL, &stored(mode), &start, settings]);
            (runs::train(settings, from(), &Interrupt::unattached()), root)
        };
        let refused = |settings: &[(&str, &str)], wanted: &str| {
            let error = onward("refused", settings).0.unwrap_err();
            assert_eq!(error.exit(), Exit::Data);
            assert!(error.to_string().contains(wanted), "{error}");
        };
        let other = if mode == "half" { "compact" } else { "half" };
        refused(&stored(other), &format!("`memory.storage` {mode}, and {other} is set"));

        // Without the higher degrees the rest goes on: the same Gaussians, colours as they were.
        let truncate = [("model.sh_degree", "1"), ("schedule.iterations", "25")];
        let (end, lower) = onward("lower", &truncate);
        assert_eq!(end.unwrap().iterations, 25);
        let (end, same) = onward("same", &[("schedule.iterations", "25")]);
        assert_eq!(end.unwrap().iterations, 25);
        let model = |root: &Path| {
            let path = root.join("point_cloud/iteration_25/point_cloud_raw.ply");
            kiln::export::read_ply(&path).unwrap().0
        };
        let (lower, same) = (model(&lower), model(&same));
        assert_eq!((lower.sh_degree, same.sh_degree), (1, 3));
        assert_eq!(lower.len(), same.len());
        // The last iteration updates nothing.
        assert_eq!((&lower.means, &lower.sh0), (&same.means, &same.sh0));
        for (low, high) in lower.sh_rest.chunks(9).zip(same.sh_rest.chunks(45)) {
            assert_eq!(low, &high[..9]);
        }
        assert!(lower.sh_rest.iter().any(|c| *c != 0.0));
        let back = scratch.join(&format!("{mode}-lower/checkpoints"));
        let higher = profile(&scratch.join("higher"), &[EVENTFUL, &stored(mode)]);
        let error = runs::train(higher, Some(ResumeFrom::File(back)), &Interrupt::unattached()).unwrap_err();
        assert!(
            error.to_string().contains("and 3 is set; there is nothing to fill"),
            "{error}"
        );
    }
}
