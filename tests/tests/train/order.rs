//! Whole runs with the model sorted by place: the same bytes however often, through pauses, in other chunks and with visibility
//! one by one, and neighbours that are near each other.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::{Path, PathBuf};

use kiln::export::read_ply;
use kiln::run::ResumeFrom;
use kiln::run::interrupt::Interrupt;
use kiln_tests::runs::{self, EVENTFUL, NO_BACKGROUND, Scratch, profile};

type Settings = &'static [(&'static str, &'static str)];

const MORTON: Settings = &[("train.order", "morton"), ("diagnose.validation", "true")];
const CHECKPOINT: Settings = &[("schedule.checkpoint", "[41]")];
const SMALL_CHUNKS: Settings = &[("fault.chunk", "1024")];
/// Visibility one by one.
const NO_CLUSTERS: Settings = &[("fault.no_clusters", "true")];

fn train(root: &Path, settings: &[&[(&str, &str)]], from: Option<PathBuf>) {
    let resume = from.map(ResumeFrom::File);
    runs::train(profile(root, settings), resume, &Interrupt::unattached()).unwrap();
}

/// Mean over groups of 256 Gaussians of the root mean square distance from their middle.
fn spread(root: &Path) -> f64 {
    let path = root.join("point_cloud/iteration_72/point_cloud_raw.ply");
    let means = read_ply(&path).unwrap().0.means;
    assert!(means.len() > 3000, "{}", means.len());
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
    let [whole, again, part, creation] = ["whole", "again", "part", "creation"].map(|name| scratch.join(name));
    train(&whole, &[EVENTFUL, CHECKPOINT, MORTON], None);
    train(&again, &[EVENTFUL, CHECKPOINT, MORTON, SMALL_CHUNKS, NO_CLUSTERS], None);
    let paused = whole.join("checkpoints/checkpoint_00000041.kiln");
    train(&part, &[EVENTFUL, CHECKPOINT, MORTON], Some(paused));
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

    train(&creation, &[EVENTFUL], None);
    let (sorted, created) = (spread(&whole), spread(&creation));
    assert!(
        sorted < 0.7 * created,
        "{sorted} sorted, {created} in the order of creation"
    );
}

/// The other strategies, noise on the centres and storage that rounds: every event leaves a model in order, and culling by groups
/// changes none.
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
        let morton = &MORTON[..1];
        let ways = [
            ("sorted", morton, &[][..]),
            ("one-by-one", morton, NO_CLUSTERS),
            ("created", &[], &[]),
        ];
        let [(sorted, model), (_, one_by_one), (created, _)] = ways.map(|(way, order, clusters)| {
            let root = scratch.join(&format!("{name}-{way}"));
            train(&root, &[short, strategy, order, clusters], None);
            (spread(&root), runs::raw_model(&root, 72))
        });
        assert!(model == one_by_one, "{name}: clusters change the model");
        assert!(
            sorted < 0.7 * created,
            "{name}: {sorted} sorted, {created} in the order of creation"
        );
    }
}
