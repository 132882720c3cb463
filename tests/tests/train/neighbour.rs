//! Runs whose loss compares views with neighbouring ones from some iteration on.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use kiln::kernels::uniforms::StepUniforms;
use kiln::kernels::views::Reduction;
use kiln::memory::{BlockRounding, Budget, Gpu, PlanLimits};
use kiln::plan::{Demand, FirstModel, Job, NeighborViews, PlanError, TrainPlan, plan, scene_options};
use kiln::program::Class;
use kiln::run::ResumeFrom;
use kiln::run::interrupt::Interrupt;
use kiln::scene::{ImageOptions, ImageStore, SceneIndex, Split, ViewId};
use kiln::step::{Part, Terms, Turns};
use kiln::train::{Target, Trainer};
use kiln_tests::gpu::{self, assert_valid, open};
use kiln_tests::runs::{self, EVENTFUL, QUICK, Scratch, profile};
use kiln_tests::setup::Setup;

use super::losses::solids;

const LATE: &str = "[{ kind: l1 }, { kind: dssim }, { kind: normals, weight: 0.1, from: 40 }, \
                    { kind: neighbour, geometry: 0.3, photometric: 0.5, from: 45 }]";
const WITHOUT: &str = "[{ kind: l1 }, { kind: dssim }, { kind: normals, weight: 0.1, from: 40 }]";

/// Trains the bundled scene; it has everything that happens in a long run within 72 steps.
fn train(folder: &Path, settings: &[(&str, &str)], from: Option<ResumeFrom>) {
    let own = [("train.deterministic", "true"), ("diagnose.validation", "sync")];
    let profile = profile(folder, &[EVENTFUL, &own, settings]);
    runs::train(profile, from, &Interrupt::unattached()).unwrap();
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
        let own = [
            ("dataset.resolution", "-1"),
            ("dataset.masks", "\"off\""),
            ("dataset.residency", "host"),
            ("train.deterministic", "true"),
            ("schedule.iterations", "150"),
            ("losses", losses.as_str()),
        ];
        let setup = profile(Path::new("unused"), &[QUICK, &own]);
        let scene = SceneIndex::load(&scratch.join("scene"), &scene_options(&setup).unwrap()).unwrap();
        // Three views have none nearby: their steps go without.
        let views = NeighborViews::of(&scene);
        assert_eq!(views.alone(), 3);
        let model = FirstModel::new(&setup, &scene).unwrap().gaussians;
        let demand = Demand::count(&setup, &scene, &model);
        let (budget, limits) = (Budget::of_device(&device, Some(4 << 30)), Gpu::limits(&device));
        let Setup { profile, faults } = &setup;
        let variants = gpu::variants(Reduction::Segmented);
        let (plan, report) = plan(profile, &scene, &demand, budget, limits, &variants, faults).unwrap();
        let mut trainer = Trainer::new(&device, profile.clone(), plan, report, &scene, Some(&model), faults).unwrap();
        let photos = ImageStore::open(&scene, ImageOptions::default()).unwrap();
        let photo = |index| {
            let split = Split::Train;
            photos.get(ViewId { split, index }).unwrap()
        };
        let mut means = Vec::new();
        for iteration in 1..=150 {
            let index = 5 * iteration % scene.train.len();
            trainer.see(index);
            let neighbor = trainer.neighbor_of(index);
            let seed = profile.train.seed as u32;
            let step = u32::try_from(iteration).unwrap();
            let picked = views.pick(index, (seed, step)).filter(|_| iteration >= 20);
            assert_eq!(neighbor, picked, "{iteration}");
            if let Some(neighbor) = neighbor {
                assert_ne!(neighbor, index);
                trainer.compare_with(neighbor, Some(photo(neighbor).bytes())).unwrap();
            }
            let own = photo(index);
            let camera = scene.train[index].camera.clone();
            trainer.advance(&camera, Target::Bytes(own.bytes())).unwrap();
            if iteration > 100 {
                means.push(trainer.pair_means().unwrap());
            }
        }
        trainer.drain().unwrap();
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

/// Steps before the first that compares are those of a run that never does, wherever photos are; the same neighbours in a run that
/// goes on from a checkpoint, and in steps in bands of lists or of records.
#[test]
fn nothing_but_the_settings_matters() {
    let scratch = Scratch::new("neighbour-bytes");
    let save = ("schedule.save", "[44, 60]");
    let checkpoint = ("schedule.checkpoint", "[36, 54]");
    train(&scratch.join("without"), &[save, ("losses", WITHOUT)], None);
    let host = ("dataset.residency", "host");
    train(
        &scratch.join("whole"),
        &[save, checkpoint, host, ("losses", LATE)],
        None,
    );
    let model = |name: &str, iteration| runs::raw_model(&scratch.join(name), iteration);
    assert!(model("whole", 44) == model("without", 44));
    assert!(model("whole", 60) != model("without", 60));

    for (name, at) in [("before", 0), ("behind", 1)] {
        let from = runs::checkpoints(&scratch.join("whole")).remove(at);
        train(
            &scratch.join(name),
            &[save, checkpoint, host, ("losses", LATE)],
            Some(ResumeFrom::File(from)),
        );
        assert!(model(name, 72) == model("whole", 72), "{name}: models differ");
    }
    let device = ("dataset.residency", "device");
    let ways: [(&str, &[(&str, &str)]); 4] = [
        ("resident", &[device]),
        ("bands", &[device, ("fault.bands", "7")]),
        ("bands-host", &[host, ("fault.bands", "3")]),
        ("records", &[host, ("fault.v_cap", "2500")]),
    ];
    for (name, way) in ways {
        train(&scratch.join(name), &[&[save, ("losses", LATE)], way].concat(), None);
        let stalls = runs::events(&scratch.join(name), "stall");
        // Told of once: from the first step on all are in bands of records, as none would have fit.
        let of_records: Vec<_> = stalls.iter().map(|row| row["detail"]["buffer"].as_str()).collect();
        let wanted: &[_] = if name == "records" { &[Some("visible")] } else { &[] };
        assert_eq!(of_records, wanted, "{name}");
        assert!(model(name, 72) == model("whole", 72), "{name}: models differ");
    }
}

/// Plans of the solids under `settings` for devices that bind up to `binding_bytes`.
fn planned(scratch: &Scratch, settings: &[(&str, &str)], binding_bytes: u64) -> Result<TrainPlan, PlanError> {
    let profile = profile(Path::new("unused"), &[settings]);
    let scene = SceneIndex::load(&scratch.join("scene"), &scene_options(&profile).unwrap()).unwrap();
    let model = FirstModel::new(&profile, &scene).unwrap().gaussians;
    let demand = Demand::count(&profile, &scene, &model);
    let limits = PlanLimits {
        block_bytes: 1 << 30,
        binding_bytes,
        rounding: BlockRounding::NONE,
    };
    let variants = gpu::variants(Reduction::Segmented);
    let budget = Budget::of_profile(1 << 30);
    plan(&profile, &scene, &demand, budget, limits, &variants, &profile.faults).map(|(plan, _)| plan)
}

/// The tensors of such steps, and nothing for runs without them.
#[test]
fn memory_is_as_listed() {
    let scratch = Scratch::new("neighbour-plan");
    solids(&scratch.join("scene"));
    for residency in ["host", "device"] {
        let of = |losses| {
            planned(
                &scratch,
                &[("losses", losses), ("dataset.residency", residency)],
                128 << 20,
            )
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
    let alone = planned(
        &scratch,
        &[("losses", "[{ kind: l1 }, { kind: neighbour }]")],
        128 << 20,
    )
    .unwrap();
    assert!(alone.jobs.get(Job::Step(Terms::Pair, 0)).is_some());
    assert!(alone.jobs.get(Job::Step(Terms::Surface, 0)).is_none());
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let scratch = Scratch::new("neighbour-refused");
    solids(&scratch.join("scene"));
    let alone = ("losses", "[{ kind: l1 }, { kind: neighbour }]");
    let error = |settings: &[(&str, &str)], binding_bytes| {
        let refused = planned(&scratch, settings, binding_bytes).map(|_| ());
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
