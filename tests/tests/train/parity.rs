//! Order of an iteration, options of the Mip recipe and parity switches, seen in whole runs of the bundled scene.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::{Path, PathBuf};

use kiln::eval::EvalFile;
use kiln::export::read_ply;
use kiln::plan::open_device;
use kiln::run::interrupt::Interrupt;
use kiln::run::{Location, ResumeFrom, Stored};
use kiln_scene::{Resolution, SceneIndex, SceneOptions, Split};
use kiln_tests::compare::close;
use kiln_tests::gpu;
use kiln_tests::runs::{self, EVENTFUL, Scratch, json, profile, rows};
use kiln_twins::filter_3d::filter_3d;
use kiln_twins::gaussian::View;

fn eval_gaussians(run: &Path, it: u32) -> u64 {
    let rows = rows(&run.join("metrics.jsonl"));
    let row = rows.iter().find(|r| r["type"] == "eval" && r["it"] == it).unwrap();
    row["gaussians"].as_u64().unwrap()
}

fn largest_opacity(run: &Path, it: u32) -> f32 {
    let (model, _) = read_ply(&run.join(format!("point_cloud/iteration_{it}/point_cloud.ply"))).unwrap();
    let logit = model.logit_opacities.into_iter().fold(f32::MIN, f32::max);
    1.0 / (1.0 + (-logit).exp())
}

/// Densifications at multiples of 8 and a reset at 20: what is measured and saved there is the model before them, a
/// checkpoint holds the one after, and looking changes nothing.
#[test]
fn an_iteration_is_measured_and_saved_before_its_densification_or_reset() {
    let scratch = Scratch::new("order");
    let (looked, blind, resumed) = (scratch.join("looked"), scratch.join("blind"), scratch.join("resumed"));
    let short = [("schedule.iterations", "24"), ("schedule.checkpoint", "[16]")];
    let looks = [("schedule.test", "[8, 16, 20]"), ("schedule.save", "[16, 20]")];
    let never = Interrupt::unattached();
    runs::train(profile(&looked, &[EVENTFUL, &short, &looks]), None, &never).unwrap();
    let densified = runs::events(&looked, "densify");
    assert_eq!(densified[0]["it"], 8);
    let after = |event: usize| densified[event]["detail"]["gaussians"].as_u64().unwrap();
    let init = SceneIndex::load(&runs::scene(), &SceneOptions::default()).unwrap();
    assert_eq!(eval_gaussians(&looked, 8), init.points.len() as u64);
    assert_eq!(eval_gaussians(&looked, 16), after(0));
    assert!(after(0) != init.points.len() as u64 && after(1) != after(0));
    let run = json(&looked.join("run.json"));
    assert_eq!(run["plys"][0]["gaussians"].as_u64().unwrap(), after(0));
    // The reset leaves at most 0.08.
    assert!(largest_opacity(&looked, 20) > 0.1, "{}", largest_opacity(&looked, 20));
    let metrics = rows(&looked.join("metrics.jsonl"));
    let place = |kind: &str, it: u32| {
        metrics
            .iter()
            .position(|r| r["it"] == it && (r["type"] == kind || r["kind"] == kind))
    };
    assert!(place("eval", 8) < place("densify", 8) && place("eval", 20) < place("reset", 20));

    runs::train(profile(&blind, &[EVENTFUL, &short]), None, &never).unwrap();
    assert!(
        runs::raw_model(&looked, 24) == runs::raw_model(&blind, 24),
        "looking changed the run"
    );
    assert_eq!(runs::history(&looked), runs::history(&blind));
    let from = looked.join("checkpoints/checkpoint_00000016.kiln");
    let settings = profile(&resumed, &[EVENTFUL, &short, &looks]);
    runs::train(settings, Some(ResumeFrom::File(from)), &never).unwrap();
    assert!(
        runs::raw_model(&looked, 24) == runs::raw_model(&resumed, 24),
        "the pause changed the run"
    );
}

/// The last step updates nothing, so a run of one step saves the model it began with.
#[test]
fn the_filter_is_there_before_the_first_step_and_does_not_depend_on_the_image_size() {
    let scratch = Scratch::new("filter");
    let filters = |name: &str, settings: &[(&str, &str)]| {
        let root = scratch.join(name);
        let one = [("schedule.iterations", "1"), ("eval.views_logged", "0")];
        runs::train(
            profile(&root, &[EVENTFUL, &one, settings]),
            None,
            &Interrupt::unattached(),
        )
        .unwrap();
        let path = root.join("point_cloud/iteration_1/point_cloud_raw.ply");
        read_ply(&path).unwrap().0
    };
    let found = filters("full", &[]);
    let options = SceneOptions {
        resolution: Resolution::from_number(80).unwrap(),
        ..SceneOptions::default()
    };
    let scene = SceneIndex::load(&runs::scene(), &options).unwrap();
    let eyes: Vec<View<f32>> = scene
        .train
        .iter()
        .map(|view| View::new(&view.camera).beyond(scene.near_z()))
        .collect();
    let wanted = filter_3d(&found.means, &eyes);
    assert!(wanted.iter().all(|filter| *filter > 0.0));
    close("filters", &found.filter_3d, &wanted, 1e-6, 1e-5);
    let coarse = filters("coarse", &[("schedule.resolution", "[{ until: 5, scale: 0.5 }]")]);
    let same = std::iter::zip(&coarse.filter_3d, &found.filter_3d).filter(|(a, b)| a == b);
    assert!(same.count() * 100 >= 95 * found.filter_3d.len());
}

/// Trains 16 steps with `settings`; gives the run's folder.
fn short_run(scratch: &Scratch, name: &str, settings: &[(&str, &str)]) -> PathBuf {
    let root = scratch.join(name);
    let short = [("schedule.iterations", "16"), ("eval.views_logged", "0")];
    let settings = profile(&root, &[EVENTFUL, &short, settings]);
    runs::train(settings, None, &Interrupt::unattached()).unwrap();
    root
}

/// Test PSNR of a model as training gave it, and as one who knows nothing of the training's settings finds it.
fn psnr_again(run: &Path, file: &str) -> (f64, f64) {
    let text = std::fs::read_to_string(run.join("eval/iteration_16/metrics.json")).unwrap();
    let before: EvalFile = serde_json::from_str(&text).unwrap();
    let ply = run.join("point_cloud/iteration_16").join(file);
    let plain = profile(run, &[EVENTFUL]);
    gpu::take_turn();
    let open = open_device(&plain, plain.faults.clone()).unwrap();
    let stored = Stored::load(
        &Location {
            ply,
            config: None,
            kernel_of_profile: false,
        },
        &plain,
        &open,
    )
    .unwrap();
    let again = stored.evaluate(&runs::scene(), None, &mut |_| {}).unwrap().file;
    let psnr = |file: &EvalFile| file.set(Split::Test).unwrap().mean.metrics.psnr_image;
    (psnr(&before), psnr(&again))
}

#[test]
fn a_classic_model_has_no_filter_and_is_drawn_as_it_was_trained() {
    let scratch = Scratch::new("classic");
    let run = short_run(
        &scratch,
        "run",
        &[("model.kind", "classic"), ("schedule.checkpoint", "[9]")],
    );
    let bytes = |file: &str| std::fs::read(run.join("point_cloud/iteration_16").join(file)).unwrap();
    let raw = bytes("point_cloud_raw.ply");
    assert!(raw == bytes("point_cloud.ply"), "the files differ");
    let header = String::from_utf8_lossy(&raw[..400]).into_owned();
    assert!(
        header.contains("SplatRenderMode: default") && header.contains("0.3"),
        "{header}"
    );
    assert!(runs::events(&run, "filter").is_empty());
    let (before, again) = psnr_again(&run, "point_cloud.ply");
    assert!((before - again).abs() < 1e-3, "{before} {again}");
    // Another model than the Mip recipe's, and the same after a pause.
    let mip = short_run(&scratch, "mip", &[]);
    assert!(raw != runs::raw_model(&mip, 16));
    let resumed = scratch.join("resumed");
    let settings = [
        ("schedule.iterations", "16"),
        ("eval.views_logged", "0"),
        ("model.kind", "classic"),
    ];
    let from = ResumeFrom::File(run.join("checkpoints/checkpoint_00000009.kiln"));
    runs::train(
        profile(&resumed, &[EVENTFUL, &settings]),
        Some(from),
        &Interrupt::unattached(),
    )
    .unwrap();
    assert!(raw == runs::raw_model(&resumed, 16), "the pause changed the run");
}
