//! Trainers of a small scene that can be made to run short of anything, and what their runs report and leave.

use std::path::Path;
use std::sync::Arc;

use kiln::plan::{Demand, plan};
use kiln::record::events::{Event, EventRow};
use kiln::train::{StepStatus, Trainer};
use kiln_gaussians::Gaussians;
use kiln_gpu::memory::{Budget, Gpu};
use kiln_gpu::vk;
use kiln_kernels::views::{Reduction, Variants};
use kiln_scene::{Camera, SceneIndex, SceneOptions, SeenPoint};

use crate::gpu::variants;
use crate::scenes::Scene;
use crate::setup::{Settings, Setup};

/// 10 by 6 tiles, of which the right column and the bottom row are cut by the image's edge.
#[must_use]
pub fn scene() -> Scene {
    Scene {
        seed: 5,
        count: 500,
        size: [150, 90],
        focal: 140.0,
        scales: [0.06, 0.5],
        opacities: [0.3, 0.95],
        ..Scene::default()
    }
}

/// Near and far views take turns, so that they need more and fewer intersections.
#[must_use]
pub fn camera(scene: &Scene, iteration: u32) -> Camera {
    let mut camera = scene.camera();
    camera.translation[0] += 0.2 * (iteration % 4) as f32 - 0.3;
    camera.translation[2] += 3.0 * (iteration % 3) as f32;
    camera
}

/// In the middle of the view, 92 behind the camera.
#[must_use]
pub fn behind() -> [f32; 3] {
    scene().camera().rotation[2].map(|axis| -96.0 * axis)
}

/// Profile `cpu` with recipe `demo`, 1000 steps without densification, chunks of 256 Gaussians, and `settings`.
///
/// # Panics
/// When a setting is wrong.
#[must_use]
pub fn profile(settings: Settings<'_>) -> Setup {
    let common = [
        ("memory.max_gaussians", "500"),
        ("schedule.iterations", "1000"),
        ("schedule.sh_every", "3"),
        ("fault.chunk", "256"),
        (
            "strategy",
            "{ kind: adaptive, densify: { from: 990, until: 999, every: 50 }, reset: { every: 600, until: 900 } }",
        ),
    ];
    Setup::new("demo", common.iter().chain(settings))
}

/// A trainer of `model` with the views of [`camera`].
///
/// # Panics
/// When the plan does not fit the device.
#[must_use]
pub fn trainer(device: &Arc<vk::Device>, profile: &Setup, reduction: Reduction, model: &Gaussians) -> Trainer {
    trainer_with(device, profile, &variants(reduction), model)
}

/// The same with kernels of these variants.
#[must_use]
pub fn trainer_with(device: &Arc<vk::Device>, profile: &Setup, variants: &Variants, model: &Gaussians) -> Trainer {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes/stilllife");
    let mut index = SceneIndex::load(&root, &SceneOptions::default()).expect("bundled scene");
    index.train.truncate(6);
    index.test.truncate(1);
    for (view, iteration) in index.train.iter_mut().chain(&mut index.test).zip(0..) {
        view.camera = camera(&scene(), iteration);
    }
    // What a profile with a loss of depth is to find; others leave it alone.
    let point = |position: &[f32; 3]| SeenPoint {
        position: *position,
        error_px: position[0].abs(),
    };
    for view in &mut index.train {
        view.seen = model.means.iter().map(point).collect();
    }
    let budget = Budget::of_device(device, Some(4 << 30));
    let demand = Demand::count(profile, &index, model);
    let limits = Gpu::limits(device);
    let Setup { profile, faults } = profile;
    let (plan, report) = plan(profile, &index, &demand, budget, limits, variants, faults).expect("fits");
    Trainer::new(device, profile.clone(), plan, report, &index, Some(model), faults).expect("commits")
}

/// Densification and filter at 6 and 12, reset at 8: all while some views fit and others do not. Nothing is too large for the
/// world, or a culprit of tests would be gone before its step.
pub const BUSY: [(&str, &str); 8] = [
    ("memory.max_gaussians", "1600"),
    ("strategy.densify.from", "3"),
    ("strategy.densify.until", "100"),
    ("strategy.densify.every", "6"),
    ("strategy.densify.grad_threshold", "0.00001"),
    ("strategy.prune.world", "100"),
    ("strategy.reset.every", "8"),
    ("strategy.reset.until", "100"),
];

/// What a run reports and leaves.
#[derive(Debug)]
pub struct Run {
    /// Status words, in order.
    pub statuses: Vec<StepStatus>,
    /// Events, in order.
    pub events: Vec<EventRow>,
    /// The model at the end.
    pub model: Gaussians,
    /// Metric sums of the evaluated view.
    pub sums: Vec<f32>,
    /// Its image.
    pub image: Vec<[f32; 4]>,
    /// Its splats per tile.
    pub tile_counts: Vec<u32>,
    /// Steps done in bands.
    pub banded: u32,
    /// Steps left out.
    pub skipped: u32,
}

impl Run {
    /// Trains `iterations` steps on `view` of each, one at a time when `patient`, and evaluates one view.
    ///
    /// # Panics
    /// When a step fails.
    pub fn new(trainer: &mut Trainer, iterations: u32, view: impl Fn(u32) -> Camera, patient: bool) -> Self {
        let target = scene().target();
        let mut statuses = Vec::new();
        for iteration in 1..=iterations {
            statuses.extend(trainer.advance(&view(iteration), &target).expect("a step"));
            if patient {
                statuses.extend(trainer.drain().expect("a step"));
            }
        }
        statuses.extend(trainer.drain().expect("steps"));
        let shown = trainer
            .evaluate(&camera(&scene(), 3), &target, true)
            .expect("an evaluation");
        Self {
            statuses,
            events: trainer.take_events(),
            model: trainer.model().expect("download"),
            sums: shown.sums,
            image: shown.image.expect("asked for"),
            tile_counts: shown.tile_counts.expect("asked for"),
            banded: trainer.banded_steps(),
            skipped: trainer.skipped_steps(),
        }
    }

    /// Intersections of every step.
    #[must_use]
    pub fn wanted(&self) -> Vec<u32> {
        self.statuses.iter().map(|s| s.counters.intersections).collect()
    }

    /// Stalls that were reported.
    #[must_use]
    pub fn stalls(&self) -> usize {
        let stall = |row: &&EventRow| matches!(row.event, Event::Stall { .. });
        self.events.iter().filter(stall).count()
    }

    /// Compares everything but stalls and warnings that room is short, bit by bit.
    ///
    /// # Panics
    /// At the first difference.
    pub fn assert_same(&self, other: &Self, what: &str) {
        assert_eq!(told(self), told(other), "{what}: status words");
        let events = |run: &Self| -> Vec<EventRow> {
            let kept = |row: &&EventRow| !matches!(row.event, Event::Stall { .. } | Event::Warning { .. });
            run.events.iter().filter(kept).cloned().collect()
        };
        assert_eq!(events(self), events(other), "{what}: events");
        assert_eq!(words(&self.model), words(&other.model), "{what}: model");
        assert_eq!(bits(&self.sums), bits(&other.sums), "{what}: metrics");
        assert_eq!(
            bits(self.image.as_flattened()),
            bits(other.image.as_flattened()),
            "{what}: image"
        );
        assert_eq!(self.tile_counts, other.tile_counts, "{what}: tile counts");
    }
}

/// What the status words of a run say about its steps.
#[must_use]
pub fn told(run: &Run) -> Vec<[u32; 6]> {
    let of = |s: &StepStatus| {
        let c = &s.counters;
        [
            s.iteration,
            c.iteration,
            c.gaussians,
            c.visible,
            c.intersections,
            c.loss.to_bits(),
        ]
    };
    run.statuses.iter().map(of).collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// Every number of a model, bit by bit.
#[must_use]
pub fn words(model: &Gaussians) -> Vec<u32> {
    let mut all = bits(model.means.as_flattened());
    all.extend(bits(model.quats.as_flattened()));
    all.extend(bits(model.log_scales.as_flattened()));
    all.extend(bits(&model.logit_opacities));
    all.extend(bits(model.sh0.as_flattened()));
    all.extend(bits(&model.sh_rest));
    all.extend(bits(&model.filter_3d));
    all
}
