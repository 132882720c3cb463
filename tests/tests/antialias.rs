//! Trained at one scale and looked at from a quarter of it: the Mip filters keep what plain rasterisation gets wrong.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use kiln::run::interrupt::Interrupt;
use kiln_lab::synth::{Synthetic, SyntheticKind};
use kiln_tests::runs::{self, QUICK, Scratch, profile, train_scene};
use serde_json::Value;

/// PSNR over the test views at the training scale and at a quarter of it.
fn psnr(scratch: &Scratch, kind: &str) -> [f64; 2] {
    let run = scratch.join(kind);
    let own = [
        ("dataset.resolution", "-1"),
        ("schedule.iterations", "150"),
        ("schedule.test", "[]"),
        ("model.kind", kind),
    ];
    let end = train_scene(
        profile(&run, &[QUICK, &own]),
        scratch.join("1"),
        None,
        &Interrupt::unattached(),
    );
    assert_eq!(end.unwrap().0.iterations, 150);
    ["1", "1-4"].map(|scale| {
        let mut eval = runs::kiln();
        eval.arg("eval")
            .arg(&run)
            .arg(scratch.join(scale))
            .args(["--json", "--quiet"]);
        let output = eval.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let file: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(file["test"]["mean"]["n"], 2);
        file["test"]["mean"]["psnr_image"].as_f64().unwrap()
    })
}

#[test]
fn the_mip_filters_win_at_a_quarter_of_the_training_scale() {
    let scratch = Scratch::new("antialias");
    for (name, size_px, samples) in [("1", [96, 72], 4), ("1-4", [24, 18], 16)] {
        let scene = Synthetic {
            kind: SyntheticKind::Solids,
            gaussians: 3000,
            size_px,
            views: 16,
            truth: 0,
            samples,
            ..Synthetic::default()
        };
        scene.write(&scratch.join(name)).unwrap();
    }
    let [mip, classic] = ["mip", "classic"].map(|kind| psnr(&scratch, kind));
    assert!(mip[1] > classic[1] + 2.0, "mip {mip:?}, classic {classic:?}");
    assert!(mip[0] > classic[0] - 1.0, "mip {mip:?}, classic {classic:?}");
}
