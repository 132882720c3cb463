//! Runs whose loss compares views with neighbouring ones from some iteration on.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;
use std::sync::Arc;

use kiln::kernels::uniforms::StepUniforms;
use kiln::kernels::views::Reduction;
use kiln::memory::{Budget, Gpu};
use kiln::plan::{Demand, FirstModel, Job, NeighborViews, TrainPlan, plan, scene_options};
use kiln::program::Class;
use kiln::record::events::{Event, StallBuffer};
use kiln::run::ResumeFrom;
use kiln::scene::{ImageOptions, ImageStore, Photo, SceneIndex, Split, ViewId};
use kiln::step::{Part, Terms, Turns};
use kiln::train::{StepStatus, Target, Trainer};
use kiln::vk::Device;
use kiln_tests::gpu::{self, assert_valid, open};
use kiln_tests::runs::{self, QUICK, Scratch, profile};
use kiln_tests::setup::{Settings, Setup};

use super::losses::{planned, solids, train_eventful};

const LATE: &str = "[{ kind: l1 }, { kind: dssim }, { kind: normals, weight: 0.1, from: 40 }, \
                    { kind: neighbour, geometry: 0.3, photometric: 0.5, from: 45 }]";
const WITHOUT: &str = "[{ kind: l1 }, { kind: dssim }, { kind: normals, weight: 0.1, from: 40 }]";

/// The solids, whose photos steps bring along, and what trains them.
struct Pairs {
    scene: SceneIndex,
    photos: ImageStore,
    trainer: Trainer,
    i_cap: u32,
}

impl Pairs {
    fn new(device: &Arc<Device>, scratch: &Scratch, settings: &[(&str, &str)]) -> Self {
        let own = [
            ("dataset.resolution", "-1"),
            ("dataset.masks", "\"off\""),
            ("dataset.residency", "host"),
            ("train.deterministic", "true"),
            ("schedule.iterations", "150"),
        ];
        let Setup { profile, faults } = &profile(Path::new("unused"), &[QUICK, &own, settings]);
        let scene = SceneIndex::load(&scratch.join("scene"), &scene_options(profile).unwrap()).unwrap();
        let model = FirstModel::new(profile, &scene).unwrap().gaussians;
        let demand = Demand::count(profile, &scene, &model);
        let (budget, limits) = (Budget::of_device(device, Some(4 << 30)), Gpu::limits(device));
        let variants = gpu::variants(Reduction::Segmented);
        let (plan, report) = plan(profile, &scene, &demand, budget, limits, &variants, faults).unwrap();
        let i_cap = report.capacities.i_cap;
        let trainer = Trainer::new(device, profile.clone(), plan, report, &scene, Some(&model), faults).unwrap();
        let photos = ImageStore::open(&scene, ImageOptions::default()).unwrap();
        Self {
            scene,
            photos,
            trainer,
            i_cap,
        }
    }

    fn photo(&self, index: usize) -> Photo {
        let split = Split::Train;
        self.photos.get(ViewId { split, index }).unwrap()
    }

    /// A step of view `index`, compared with `neighbor` if there is one; a step that has ended meanwhile.
    fn step(&mut self, index: usize, neighbor: Option<usize>) -> Option<StepStatus> {
        self.trainer.see(index);
        if let Some(neighbor) = neighbor {
            let photo = self.photo(neighbor);
            self.trainer.compare_with(neighbor, Some(photo.bytes())).unwrap();
        }
        let (photo, camera) = (self.photo(index), self.scene.train[index].camera.clone());
        self.trainer.advance(&camera, Target::Bytes(photo.bytes())).unwrap()
    }
}

/// Both terms fall under their gradients: after 120 steps on the solids both are smaller than where they weigh next to nothing.
#[test]
fn views_agree_with_their_neighbours() {
    let scratch = Scratch::new("neighbour");
    solids(&scratch.join("scene"));
    let device = open();
    let run = |weight: &str| {
        let losses = format!(
            "[{{ kind: l1 }}, {{ kind: dssim }}, {{ kind: neighbour, geometry: {weight}, photometric: {weight}, from: 20 }}]"
        );
        let mut pairs = Pairs::new(&device, &scratch, &[("losses", &losses)]);
        // Three views have none nearby: their steps go without.
        let views = NeighborViews::of(&pairs.scene);
        assert_eq!((views.alone(), pairs.trainer.views_alone()), (3, 3));
        let mut means = Vec::new();
        for iteration in 1..=150 {
            let index = 5 * iteration % pairs.scene.train.len();
            let neighbor = pairs.trainer.neighbor_of(index);
            let step = u32::try_from(iteration).unwrap();
            let picked = views.pick(index, (0, step)).filter(|_| iteration >= 20);
            assert_eq!(neighbor, picked, "{iteration}");
            assert_ne!(neighbor, Some(index));
            means.extend(pairs.step(index, neighbor));
        }
        means.extend(pairs.trainer.drain().unwrap());
        assert_eq!(means.len(), 150);
        let late = means.iter().filter(|status| status.iteration > 100);
        let means: Vec<[f32; 2]> = late.filter_map(|status| status.pair).collect();
        [0, 1].map(|term| means.iter().map(|mean| f64::from(mean[term])).sum::<f64>() / means.len() as f64)
    };
    let (loose, tight) = (run("1e-9"), run("0.5"));
    assert!(loose.iter().all(|mean| *mean > 0.0 && *mean < 1.0), "{loose:?}");
    assert!(
        tight[0] < 0.85 * loose[0] && tight[1] < 0.95 * loose[1],
        "{tight:?} {loose:?}"
    );
    assert_valid(&device);
}

/// A neighbour that alone has more than the lists have room for: one step finds out, and those after it are in bands at once.
#[test]
fn a_crowded_neighbour_is_found_once() {
    const STEPS: u32 = 5;
    let scratch = Scratch::new("neighbour-crowded");
    solids(&scratch.join("scene"));
    let device = open();
    let losses = ("losses", "[{ kind: l1 }, { kind: neighbour, from: 1 }]");
    // As many Gaussians in all steps.
    let still = ("strategy.densify", "{ from: 100, until: 110, every: 10 }");
    let mut pairs = Pairs::new(&device, &scratch, &[losses, still]);
    let n = pairs.scene.train.len();
    let mut statuses: Vec<StepStatus> = (0..n).filter_map(|index| pairs.step(index, None)).collect();
    statuses.extend(pairs.trainer.drain().unwrap());
    let counts = statuses.iter().map(|status| status.counters.intersections);
    let mut counts: Vec<(u32, usize)> = counts.zip(0..n).collect();
    counts.sort_unstable();
    let [(few, small), (many, large)] = [counts[0], counts[n - 1]];
    assert!(many > few + few / 20, "{counts:?}");

    let cap = ((few + many) / 2).to_string();
    // Lists have no less room than records.
    let short = [("fault.i_cap", cap.as_str()), ("fault.v_cap", &cap)];
    let mut pairs = Pairs::new(&device, &scratch, &[&[losses, still], &short[..]].concat());
    assert_eq!(pairs.i_cap.to_string(), cap);
    let mut statuses: Vec<StepStatus> = (0..STEPS).filter_map(|_| pairs.step(small, Some(large))).collect();
    statuses.extend(pairs.trainer.drain().unwrap());
    assert_eq!(statuses.len(), STEPS as usize);
    for StepStatus { counters, pair, .. } in &statuses {
        assert!(counters.intersections < pairs.i_cap, "its own view alone would fit");
        assert!(pair.is_some());
    }
    assert_eq!(pairs.trainer.banded_steps(), STEPS);
    let stalls: Vec<_> = pairs.trainer.take_events().into_iter().map(|row| row.event).collect();
    let told = matches!(
        stalls[..],
        [Event::Stall { buffer: StallBuffer::Intersections, wanted, capacity }]
            if wanted > capacity && capacity == u64::from(pairs.i_cap)
    );
    assert!(told, "{stalls:?}");
    // With one that fits, the next but one is whole again.
    for _ in 0..3 {
        pairs.step(small, Some(small));
    }
    pairs.trainer.drain().unwrap();
    assert_eq!(pairs.trainer.banded_steps(), STEPS + 1);
    assert_valid(&device);
}

/// Steps before the first that compares are those of a run that never does, wherever photos are; the same neighbours in a run that
/// goes on from a checkpoint, and in steps in bands of lists or of records.
#[test]
fn nothing_but_the_settings_matters() {
    let scratch = Scratch::new("neighbour-bytes");
    let save = ("schedule.save", "[44, 46]");
    let checkpoint = ("schedule.checkpoint", "[36, 54]");
    let until = ("schedule.iterations", "46");
    train_eventful(&scratch.join("without"), &[save, until, ("losses", WITHOUT)], None);
    let host = ("dataset.residency", "host");
    let own = [save, checkpoint, host, ("losses", LATE)];
    train_eventful(&scratch.join("whole"), &own, None);
    let model = |name: &str, iteration| runs::raw_model(&scratch.join(name), iteration);
    assert!(model("whole", 44) == model("without", 44));
    assert!(model("whole", 46) != model("without", 46));
    for row in runs::rows(&scratch.join("whole/metrics.jsonl")) {
        let (is_step, it) = (row["type"] == "train", row["it"].as_u64().unwrap());
        for term in ["neighbour_geometry", "neighbour_photometric"] {
            let mean = row[term].as_f64();
            assert_eq!(mean.is_some(), is_step && it >= 45, "{it} {term}");
            assert!(
                mean.is_none_or(|mean| mean > 0.0 && mean < 1.0),
                "{it} {term}: {mean:?}"
            );
        }
    }
    let device = ("dataset.residency", "device");
    // Each goes on from a checkpoint, before steps compare or among those that do.
    let ways: [(&str, u32, Settings<'_>); 4] = [
        ("resident", 36, &[device]),
        ("bands", 54, &[device, ("fault.bands", "7")]),
        ("bands-host", 36, &[host, ("fault.bands", "3")]),
        ("records", 54, &[host, ("fault.v_cap", "2500")]),
    ];
    for (name, after, way) in ways {
        let file = scratch.join(&format!("whole/checkpoints/checkpoint_{after:08}.kiln"));
        let settings = [&[("losses", LATE)], way].concat();
        train_eventful(&scratch.join(name), &settings, Some(ResumeFrom::File(file)));
        let stalls = runs::events(&scratch.join(name), "stall");
        // Reported once: from the first step on all are in bands of records, as none would have fit.
        let of_records: Vec<_> = stalls.iter().map(|row| row["detail"]["buffer"].as_str()).collect();
        let wanted: &[_] = if name == "records" { &[Some("visible")] } else { &[] };
        assert_eq!(of_records, wanted, "{name}");
        assert!(model(name, 72) == model("whole", 72), "{name}: models differ");
    }
}

/// The tensors of such steps, and nothing for runs without them.
#[test]
fn memory_is_as_listed() {
    let scratch = Scratch::new("neighbour-plan");
    solids(&scratch.join("scene"));
    for residency in ["host", "device"] {
        let of = |losses| {
            let own = [("losses", losses), ("dataset.residency", residency)];
            planned(&scratch, &own, 128 << 20, Reduction::Segmented)
        };
        let (with, without) = (of(LATE).unwrap(), of(WITHOUT).unwrap());
        let tensors = |plan: &TrainPlan| -> Vec<(String, Class, u64)> {
            let tensors = plan.table.tensors().iter();
            let own = tensors.filter(|t| t.name.contains("neighbor_") || t.name.contains("pair"));
            own.map(|t| (t.name.clone(), t.class, t.bytes)).collect()
        };
        assert_eq!(tensors(&without), []);
        let c = with.tensors.capacities;
        let (px, tiles, slots) = (u64::from(c.max_pixels), u64::from(c.max_tiles), u64::from(c.slots));
        assert_eq!(px, 64 * 48);
        let rings = with.tensors.rings;
        let mut wanted = vec![
            (
                "small/neighbor_uniforms",
                Class::Small,
                size_of::<StepUniforms>() as u64,
            ),
            ("images/neighbor_map", Class::Images, 8 * px),
            ("small/pair_means", Class::Small, 16),
            ("pair/pixels", Class::Arena, 8 * px),
            ("pair/patches", Class::Arena, 16 * px),
            ("pair/sums", Class::Arena, 8 * (tiles + px.div_ceil(256))),
            ("ring/neighbor_uniforms", Class::Upload, slots * 512),
            ("ring/neighbor_images", Class::Upload, slots * rings.images_stride),
        ];
        if residency == "device" {
            wanted.pop();
        }
        let wanted: Vec<_> = wanted
            .into_iter()
            .map(|(name, class, bytes)| (name.to_owned(), class, bytes))
            .collect();
        assert_eq!(tensors(&with), wanted);
        for (terms, there) in [(Terms::Surface, true), (Terms::Pair, true), (Terms::Neighbor, true)] {
            assert_eq!(with.jobs.get(Job::Step(terms, 0)).is_some(), there, "{terms:?}");
            let part = Job::Band(terms, Turns::Lists, Part::Loss(0));
            assert!(with.jobs.get(part).is_some(), "{terms:?}");
        }
        assert!(without.jobs.get(Job::Step(Terms::Pair, 0)).is_none());
        assert!(without.jobs.get(Job::Step(Terms::Neighbor, 0)).is_none());
    }
    // Alone it needs the same surfaces, and no step that looks at those of one view.
    let losses = ("losses", "[{ kind: l1 }, { kind: neighbour }]");
    let alone = planned(&scratch, &[losses], 128 << 20, Reduction::Segmented).unwrap();
    assert!(alone.jobs.get(Job::Step(Terms::Pair, 0)).is_some());
    assert!(alone.jobs.get(Job::Step(Terms::Surface, 0)).is_none());
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let scratch = Scratch::new("neighbour-refused");
    solids(&scratch.join("scene"));
    let alone = ("losses", "[{ kind: l1 }, { kind: neighbour }]");
    let error = |settings: &[(&str, &str)], binding_bytes| {
        let refused = planned(&scratch, settings, binding_bytes, Reduction::Segmented).map(|_| ());
        refused.unwrap_err().to_string()
    };
    let streamed = error(&[alone, ("dataset.residency", "stream")], 128 << 20);
    assert!(streamed.contains("`dataset.residency` is stream"), "{streamed}");
    let large = error(&[alone, ("dataset.residency", "host")], 16 * 64 * 48 - 1);
    assert!(
        large.contains("the loss `neighbour` takes images of at most 3071 pixels"),
        "{large}"
    );
}
