//! Whole runs with the model sorted by place: the same bytes however often, through pauses and in other chunks, and neighbours
//! that are near each other.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::{Path, PathBuf};

use kiln::export::read_ply;
use kiln::plan::scene_options;
use kiln::run::ResumeFrom;
use kiln::run::interrupt::Interrupt;
use kiln_gaussians::morton::{self, Frame};
use kiln_scene::SceneIndex;
use kiln_tests::runs::{self, EVENTFUL, NO_BACKGROUND, Scratch, profile};

type Settings = &'static [(&'static str, &'static str)];

const VALIDATED: Settings = &[("diagnose.validation", "true")];
const CHECKPOINT: Settings = &[("schedule.checkpoint", "[41]")];
const SMALL_CHUNKS: Settings = &[("fault.chunk", "1024")];

fn train(root: &Path, settings: &[&[(&str, &str)]], from: Option<PathBuf>) {
    let resume = from.map(ResumeFrom::File);
    runs::train(profile(root, settings), resume, &Interrupt::unattached()).unwrap();
}

/// Neighbours in the model of a run are as near each other as along the curve, but for what they moved since the last event.
fn assert_in_order(root: &Path) {
    let path = root.join("point_cloud/iteration_72/point_cloud_raw.ply");
    let model = read_ply(&path).unwrap().0;
    assert!(model.len() > 3000, "{}", model.len());
    let scene = SceneIndex::load(&runs::scene(), &scene_options(&profile(root, &[])).unwrap()).unwrap();
    let frame = Frame::new(scene.center(), scene.extent);
    let best = spread(&model.taken(&morton::order(&frame, &model.means)).means);
    let found = spread(&model.means);
    assert!(
        found < 1.05 * best,
        "{found}, {best} along the curve: {}",
        root.display()
    );
}

/// Mean over groups of 256 Gaussians of the root mean square distance from their middle.
fn spread(means: &[[f32; 3]]) -> f64 {
    let groups: Vec<f64> = means
        .chunks_exact(256)
        .map(|group| {
            let variance = |axis: usize| {
                let values = || group.iter().map(|mean| f64::from(mean[axis]));
                let mean = values().sum::<f64>() / 256.0;
                values().map(|value| (value - mean).powi(2)).sum::<f64>() / 256.0
            };
            (0..3).map(variance).sum::<f64>().sqrt()
        })
        .collect();
    groups.iter().sum::<f64>() / groups.len() as f64
}

/// Density control: births, deaths, resets and a pause between two events.
#[test]
fn sorted_runs_repeat_resume_and_fit_any_chunks() {
    let scratch = Scratch::new("order");
    let [whole, again, part] = ["whole", "again", "part"].map(|name| scratch.join(name));
    train(&whole, &[EVENTFUL, CHECKPOINT, VALIDATED], None);
    train(&again, &[EVENTFUL, CHECKPOINT, VALIDATED, SMALL_CHUNKS], None);
    let paused = whole.join("checkpoints/checkpoint_00000041.kiln");
    train(&part, &[EVENTFUL, CHECKPOINT, VALIDATED], Some(paused));
    runs::assert_eventful(&whole, 0, 41, 3);
    runs::assert_eventful(&whole, 41, 72, 3);
    assert_eq!(runs::history(&whole), runs::history(&again));
    for other in [&again, &part] {
        assert!(
            runs::raw_model(&whole, 72) == runs::raw_model(other, 72),
            "models differ: {}",
            other.display()
        );
        let planes = |root: &Path| runs::checkpoint(&root.join("checkpoints/checkpoint_00000071.kiln")).0;
        assert!(
            planes(&whole) == planes(other),
            "checkpoints differ: {}",
            other.display()
        );
    }
    assert_in_order(&whole);
}

/// The other strategies, noise on the centres and storage that rounds: every event leaves a model in order.
#[test]
fn every_strategy_leaves_its_model_in_order() {
    let strategies: [(&str, Settings); 2] = [
        (
            "mcmc",
            &[
                (
                    "strategy",
                    "{ kind: mcmc, densify: { from: 2, until: 70, every: 8, growth: 0.1, dead_opacity: 0.1 }, noise: 50000 }",
                ),
                ("memory.storage", "compact"),
            ],
        ),
        (
            "error_guided",
            &[
                (
                    "strategy",
                    "{ kind: error_guided, densify: { from: 2, until: 70, every: 8, ramp: 3, growth: 0.25 }, \
                       prune: { opacity: 0.06 } }",
                ),
                ("memory.storage", "half"),
            ],
        ),
    ];
    let short: Settings = &[
        // Distances between points of far shells would outweigh all others.
        NO_BACKGROUND,
        ("dataset.resolution", "80"),
        ("schedule.iterations", "72"),
        ("schedule.test", "[]"),
        ("schedule.save", "[]"),
        ("memory.max_gaussians", "6000"),
        ("eval.lpips", "false"),
        ("eval.views_logged", "1"),
    ];
    let scratch = Scratch::new("order-strategies");
    for (name, strategy) in strategies {
        let root = scratch.join(name);
        train(&root, &[short, strategy], None);
        assert_in_order(&root);
    }
}
