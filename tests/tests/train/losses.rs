//! What the losses that a profile may add do to a trained model.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use kiln::export::read_ply;
use kiln::plan::{Demand, FirstModel, PlanError, TrainPlan, plan, scene_options};
use kiln::run::interrupt::Interrupt;
use kiln::run::{ResumeFrom, RunError};
use kiln_gpu::memory::{BlockRounding, Budget, PlanLimits};
use kiln_kernels::exposure;
use kiln_kernels::views::Reduction;
use kiln_lab::synth::{Synthetic, SyntheticKind};
use kiln_scene::{FEW_PHOTOS, SceneIndex, SceneOptions, SceneReport, exposures};
use kiln_tests::gpu;
use kiln_tests::runs::{self, EVENTFUL, QUICK, Scratch, json, profile, train_scene};
use kiln_twins::gaussian::{Gaussian, View};
use kiln_twins::project::{Filter2d, Settings};
use kiln_twins::step::forward;

/// The scene of solid things before nothing, with a mask of them beside every photo.
pub(super) fn solids(folder: &Path) {
    let scene = Synthetic {
        kind: SyntheticKind::Solids,
        gaussians: 2000,
        size_px: [64, 48],
        views: 16,
        samples: 3,
        truth: 0,
        ..Synthetic::default()
    };
    scene.write(folder).unwrap();
    std::fs::create_dir(folder.join("masks")).unwrap();
    for entry in std::fs::read_dir(folder.join("images")).unwrap() {
        let path = entry.unwrap().path();
        let photo = image::open(&path).unwrap().into_rgb8();
        let mask = image::GrayImage::from_fn(photo.width(), photo.height(), |x, y| {
            let shown = photo.get_pixel(x, y).0.iter().any(|v| *v > 12);
            image::Luma([if shown { 255 } else { 0 }])
        });
        mask.save(folder.join("masks").join(path.file_name().unwrap())).unwrap();
    }
}

/// Trains the bundled scene; it has everything that happens in a long run within 72 steps.
pub(super) fn train_eventful(folder: &Path, settings: &[(&str, &str)], from: Option<ResumeFrom>) {
    let own = [("train.deterministic", "true"), ("diagnose.validation", "sync")];
    let profile = profile(folder, &[EVENTFUL, &own, settings]);
    runs::train(profile, from, &Interrupt::unattached()).unwrap();
}

/// Runs that go on from each checkpoint of the run `whole` of `scratch` end with its model.
pub(super) fn pauses_change_nothing(scratch: &Scratch, settings: &[(&str, &str)]) {
    let last = |name: &str| runs::raw_model(&scratch.join(name), 72);
    for (at, from) in runs::checkpoints(&scratch.join("whole")).into_iter().enumerate() {
        let name = format!("rest-{at}");
        train_eventful(&scratch.join(&name), settings, Some(ResumeFrom::File(from)));
        assert!(last(&name) == last("whole"), "{name}: models differ");
    }
}

/// The plan of the solids in `scratch` under `settings`, for devices that bind up to `binding_bytes`.
pub(super) fn planned(
    scratch: &Scratch,
    settings: &[(&str, &str)],
    binding_bytes: u64,
    reduction: Reduction,
) -> Result<TrainPlan, PlanError> {
    let profile = profile(Path::new("unused"), &[settings]);
    let scene = SceneIndex::load(&scratch.join("scene"), &scene_options(&profile).unwrap()).unwrap();
    let model = FirstModel::new(&profile, &scene).unwrap().gaussians;
    let demand = Demand::count(&profile, &scene, &model);
    let limits = PlanLimits {
        block_bytes: 1 << 30,
        binding_bytes,
        rounding: BlockRounding::NONE,
    };
    let (budget, variants) = (Budget::of_profile(1 << 30), gpu::variants(reduction));
    plan(&profile, &scene, &demand, budget, limits, &variants, &profile.faults).map(|(plan, _)| plan)
}

/// Trains the scene `scene` of `scratch` for 100 steps.
fn train(scratch: &Scratch, scene: &str, name: &str, settings: &[(&str, &str)]) -> Result<(), RunError> {
    let own = [
        ("dataset.resolution", "-1"),
        ("schedule.test", "[]"),
        ("train.deterministic", "true"),
    ];
    let profile = profile(&scratch.join(name), &[QUICK, &own, settings]);
    train_scene(profile, scratch.join(scene), None, &Interrupt::unattached()).map(|_| ())
}

/// Mean coverage of the test views' pixels inside the masks and outside.
fn coverage(scratch: &Scratch, scene: &str, run: &str) -> [f64; 2] {
    let ply = scratch.join(&format!("{run}/point_cloud/iteration_100/point_cloud_raw.ply"));
    let (model, _) = read_ply(&ply).unwrap();
    let scene = SceneIndex::load(&scratch.join(scene), &SceneOptions::default()).unwrap();
    let settings = Settings {
        filter_2d: Filter2d::Mip { kernel_size: 0.1 },
        sh_degree: 0,
        tight_tiles: true,
        dropout: None,
        plane_depths: false,
    };
    let (gaussians, filter) = (Gaussian::<f32>::from_model(&model), &model.filter_3d);
    let mut sums = [(0.0, 0.0); 2];
    for view in &scene.test {
        let name = Path::new(&view.mask.as_ref().unwrap().path);
        let mask = image::open(name).unwrap().into_luma8();
        let out = forward(
            &gaussians,
            filter,
            &View::new(&view.camera).beyond(scene.near_z()),
            &settings,
            [0.0; 3],
        );
        for (pixel, transmittance) in mask.pixels().zip(&out.raster.transmittance) {
            let (sum, n) = &mut sums[usize::from(pixel.0[0] == 0)];
            *sum += 1.0 - f64::from(*transmittance);
            *n += 1.0;
        }
    }
    sums.map(|(sum, n)| sum / n)
}

/// PSNR over the test views at the end of a run.
fn psnr(scratch: &Scratch, run: &str, iteration: u32) -> f64 {
    let file = json(&scratch.join(&format!("{run}/eval/iteration_{iteration}/metrics.json")));
    file["test"]["mean"]["psnr_image"].as_f64().unwrap()
}

#[test]
fn a_random_background_makes_dark_things_solid() {
    let scratch = Scratch::new("background");
    solids(&scratch.join("scene"));
    // The photos as they are: black is a colour like others.
    for name in ["black", "random", "again"] {
        let background = if name == "black" { "black" } else { "random" };
        let settings = [("dataset.masks", "\"off\""), ("model.background", background)];
        train(&scratch, "scene", name, &settings).unwrap();
    }
    let [black, random] = ["black", "random"].map(|run| coverage(&scratch, "scene", run));
    assert!(
        random[1] > 5.0 * black[1],
        "behind the things: black {black:?}, random {random:?}"
    );
    assert!(
        random[0] > black[0] + 0.05,
        "in them: black {black:?}, random {random:?}"
    );
    let model = |run: &str| runs::raw_model(&scratch.join(run), 100);
    assert!(
        model("random") == model("again"),
        "the backgrounds of a seed are the same"
    );
}

#[test]
fn coverage_follows_the_masks() {
    let scratch = Scratch::new("coverage");
    solids(&scratch.join("scene"));
    let alpha = "[{ kind: l1 }, { kind: dssim }, { kind: alpha, weight: 0.3 }]";
    // Starting from a cloud, much of which lies outside the masks, where the photos alone say nothing.
    let cloud = ("init", "{ kind: random_box, count: 2000 }");
    train(&scratch, "scene", "plain", &[cloud]).unwrap();
    train(&scratch, "scene", "alpha", &[cloud, ("losses", alpha)]).unwrap();
    let [plain, held] = ["plain", "alpha"].map(|run| coverage(&scratch, "scene", run));
    assert!(
        held[1] < 0.6 * plain[1],
        "outside the masks: without {plain:?}, with {held:?}"
    );
    assert!(held[0] > plain[0] - 0.02, "inside: without {plain:?}, with {held:?}");
    let [without, with] = ["plain", "alpha"].map(|run| psnr(&scratch, run, 100));
    assert!(with > without - 1.0, "{without} dB without, {with} dB with");
}

/// Exposure of a training view, in units of the test views'.
fn gain(index: usize) -> f32 {
    0.4 + 1.2 * (index * 5 % 13) as f32 / 12.0
}

/// Those of the training views.
fn gains() -> Vec<f64> {
    let training = (0..16).filter(|index| index % 8 != 0);
    training.map(|index| f64::from(gain(index))).collect()
}

/// Photos of training views brighter and darker than the test views'.
fn change_exposures(folder: &Path) {
    let mut paths: Vec<_> = std::fs::read_dir(folder.join("images"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    paths.sort();
    for (index, path) in paths.iter().enumerate() {
        let mut photo = image::open(path).unwrap().into_rgb8();
        // Every 8th view is for testing.
        let gain = 0.6 * if index % 8 == 0 { 1.0 } else { gain(index) };
        for value in photo.iter_mut() {
            *value = (f32::from(*value) * gain).round() as u8;
        }
        photo.save(path).unwrap();
    }
}

#[test]
fn exposures_are_told_from_the_scene() {
    let scratch = Scratch::new("exposure");
    solids(&scratch.join("scene"));
    change_exposures(&scratch.join("scene"));
    // Photos here are up to four times as bright as others.
    let longer = [("dataset.masks", "\"off\""), ("schedule.iterations", "250")];
    let plain = [longer[0], longer[1], ("train.photo_colors", "\"off\"")];
    train(&scratch, "scene", "plain", &plain).unwrap();
    // The photos say so themselves.
    let asked = [longer[0], longer[1], ("schedule.checkpoint", "[250]")];
    train(&scratch, "scene", "exposure", &asked).unwrap();
    let config = std::fs::read_to_string(scratch.join("exposure/config.resolved.yaml")).unwrap();
    assert!(
        config.contains("photo_colors: on") || config.contains("photo_colors: \"on\""),
        "{config}"
    );
    let chosen = json(&scratch.join("exposure/run.json"))["chosen"].to_string();
    assert!(chosen.contains("photo colours: on (photos differ by"), "{chosen}");
    let [without, with] = ["plain", "exposure"].map(|run| psnr(&scratch, run, 250));
    assert!(with > without + 0.5, "{without} dB without, {with} dB with");
    // Maps are on their way to the photos' exposures in units of their mean: some 18 steps each take them a third of it.
    let (file, state) = runs::checkpoint(&runs::checkpoints(&scratch.join("exposure")).remove(0));
    let entry = |tensor: &&serde_json::Value| tensor["name"] == "exposures";
    let tensor = state["tensors"].as_array().unwrap().iter().find(entry).unwrap();
    let [from, bytes] = ["offset", "bytes"].map(|key| tensor[key].as_u64().unwrap() as usize);
    let words: Vec<f32> = bytemuck::pod_collect_to_vec(&file[from..from + bytes]);
    let learnt: Vec<f64> = words
        .chunks_exact(exposure::WORDS)
        .map(|map| f64::from(map[0] + map[5] + map[10]) / 3.0)
        .collect();
    let gains = gains();
    assert_eq!(learnt.len(), gains.len());
    let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
    let (of_learnt, of_gains) = (mean(&learnt), mean(&gains));
    assert!((of_learnt - 1.0).abs() < 0.03, "{learnt:?}");
    let product = |a: &[f64], b: &[f64]| {
        let (x, y) = (mean(a), mean(b));
        a.iter().zip(b).map(|(a, b)| (a - x) * (b - y)).sum::<f64>()
    };
    let alike = product(&learnt, &gains) / (product(&learnt, &learnt) * product(&gains, &gains)).sqrt();
    let way = of_gains * product(&learnt, &gains) / product(&gains, &gains);
    assert!(
        alike > 0.95 && way > 0.25,
        "{alike}, {way}: {learnt:?} and {gains:?}; {chosen}"
    );
    // Photos of training views differ in exposure, which the model does not show and a fit takes up.
    let file = |run: &str| json(&scratch.join(&format!("{run}/eval/iteration_250/metrics.json")));
    let (plain, asked) = (file("plain"), file("exposure"));
    assert!(
        plain["train"]["mean"].get("psnr_fitted_half").is_none(),
        "only beside exposures or when asked for"
    );
    let of = |set: &str, key: &str| asked[set]["mean"][key].as_f64().unwrap();
    let [plain, corrected] = ["psnr_image", "psnr_fitted_half"].map(|key| of("train", key));
    assert!(corrected > plain + 1.0, "{plain} dB, {corrected} dB corrected");
    let [plain, corrected] = ["psnr_image", "psnr_fitted_half"].map(|key| of("test", key));
    assert!(corrected > plain - 0.01, "{plain} dB, {corrected} dB corrected");
}

/// Colours at shared points show by how much photos differ, and what `kiln inspect` says of it.
#[test]
fn the_spread_of_exposures_is_seen_in_the_photos() {
    let scratch = Scratch::new("spread");
    let folder = scratch.join("scene");
    solids(&folder);
    let options = SceneOptions {
        seen_points: 1000,
        ..SceneOptions::default()
    };
    let load = |options: &SceneOptions| SceneIndex::load(&folder, options).unwrap();
    let spread = || {
        exposures(&load(&options), FEW_PHOTOS)
            .unwrap()
            .unwrap()
            .brightness
            .spread
    };
    let equal = spread();
    assert!(equal < 0.06, "{equal}");
    change_exposures(&folder);
    let logs: Vec<f64> = gains().into_iter().map(f64::ln).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let square = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / logs.len() as f64;
    let found = spread();
    assert!(
        (found / square.sqrt() - 1.0).abs() < 0.15,
        "{found}, not {}",
        square.sqrt()
    );
    let without = exposures(&load(&SceneOptions::default()), FEW_PHOTOS).unwrap();
    assert_eq!(without, None, "no points were asked for");
    let scene = load(&options);
    let report = SceneReport::of(&scene).with_photos(&scene).unwrap();
    assert!((report.exposure_spread.unwrap() - found).abs() < 1e-4);
}

/// Photos of one camera share what is its; where most have a camera of their own, those of one size do.
#[test]
fn cameras_are_those_of_the_intrinsics_unless_most_photos_have_their_own() {
    let scratch = Scratch::new("takers");
    solids(&scratch.join("scene"));
    let mut scene = SceneIndex::load(&scratch.join("scene"), &SceneOptions::default()).unwrap();
    let all = scene.views().count();
    assert_eq!(scene.takers(), (vec![0; all], 1));
    for (index, view) in scene.train.iter_mut().enumerate() {
        view.taken_by = 3 + index % 2;
    }
    let (takers, count) = scene.takers();
    assert_eq!((takers[0], takers[1], takers[2]), (0, 1, 0));
    assert_eq!(count, 3, "the test views have the first still");
    for (index, view) in scene.train.iter_mut().enumerate() {
        view.taken_by = index;
    }
    scene.train[1].source_width += 1;
    let (takers, count) = scene.takers();
    assert_eq!((count, takers[0], takers[1], takers[2]), (2, 0, 1, 0));
}

/// A run that goes on from a checkpoint ends with the bytes of one that never paused, exposures included.
#[test]
fn a_pause_changes_nothing() {
    let scratch = Scratch::new("losses");
    let own = [
        ("train.photo_colors", "on"),
        ("model.background", "random"),
        ("schedule.checkpoint", "[36]"),
    ];
    let run = |name: &str, from: Option<ResumeFrom>| {
        let profile = profile(&scratch.join(name), &[EVENTFUL, &own]);
        runs::train(profile, from, &Interrupt::unattached()).unwrap();
    };
    run("whole", None);
    let half = runs::checkpoints(&scratch.join("whole")).remove(0);
    run("rest", Some(ResumeFrom::File(half)));
    let last = |name: &str| runs::checkpoint(&scratch.join(&format!("{name}/checkpoints/checkpoint_00000071.kiln")));
    let (whole, rest) = (last("whole"), last("rest"));
    assert!(whole.0 == rest.0, "checkpoints differ");
    let tensors = whole.1["tensors"].as_array().unwrap();
    assert!(
        tensors.iter().any(|tensor| tensor["name"] == "exposures"),
        "{tensors:?}"
    );
}

/// Profiles with these losses have their tensors, and those without nothing for them.
#[test]
fn memory_is_as_listed() {
    let scratch = Scratch::new("bytes");
    solids(&scratch.join("scene"));
    let losses = "[{ kind: l1 }, { kind: dssim }, { kind: alpha }]";
    for (losses, colors) in [(losses, "on"), ("[{ kind: l1 }, { kind: dssim }]", "off")] {
        let settings = [("losses", losses), ("train.photo_colors", colors)];
        let plan = planned(&scratch, &settings, 128 << 20, Reduction::Segmented).unwrap();
        let has = |name: &str| plan.table.tensors().iter().any(|t| t.name == name);
        for name in [
            "step/alpha_sums",
            "step/exposed_image",
            "small/exposures",
            "small/exposure_sums",
        ] {
            assert_eq!(has(name), losses.contains("alpha"), "{name}");
        }
    }
}

#[test]
fn what_a_scene_cannot_serve_is_refused() {
    let scratch = Scratch::new("refused");
    solids(&scratch.join("scene"));
    let alpha = [
        ("dataset.masks", "\"off\""),
        ("losses", "[{ kind: l1 }, { kind: alpha }]"),
    ];
    let refused = train(&scratch, "scene", "a", &alpha).unwrap_err();
    assert!(refused.to_string().contains("the scene has none"), "{refused}");
    let blend = [("model.background", "random"), ("dataset.alpha", "blend")];
    let refused = train(&scratch, "scene", "b", &blend).unwrap_err();
    assert!(
        refused.to_string().contains("`model.background` is random"),
        "{refused}"
    );
}
