//! What a Gaussian takes beside its values, what cameras see is what it has room for, and a run reserves what it says.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]

use std::fs;
use std::path::Path;

use kiln::plan::{
    Demand, DemandSource, FirstModel, Job, open_device, plan, plan_with_photos, scene_options, variants_for,
};
use kiln::run::interrupt::Interrupt;
use kiln::step::Terms;
use kiln_config::Residency;
use kiln_gpu::memory::{BlockRounding, Budget, GIB, Gpu, PlanLimits};
use kiln_gpu::vk::Overhead;
use kiln_kernels::views::{Loops, Reduction, Threads, Variants};
use kiln_program::{Command, Groups};
use kiln_scene::SceneIndex;
use kiln_tests::runs::{self, EVENTFUL, Scratch};
use kiln_tests::{child, cpu};
use kiln_twins::filter_3d::filter_3d;
use kiln_twins::gaussian::{Gaussian, View};
use kiln_twins::project::{Filter2d, Settings, project};

#[test]
fn statistics_and_moments_take_three_words_and_what_their_storage_says() {
    // Three statistics and two moments of 11 values and of 3 colours a basis function; below f32 colours go in fours, with
    // a scale for their second moments, and compact keeps the geometry's moments in 16 bits.
    let ways: [(&[(&str, &str)], u64); 6] = [
        (&[("strategy.kind", "adaptive")], 12 + 2 * 4 * (11 + 48)),
        (
            &[("strategy.kind", "adaptive_abs"), ("model.sh_degree", "1")],
            12 + 2 * 4 * (11 + 12),
        ),
        (
            &[("strategy.kind", "fixed"), ("model.sh_degree", "0")],
            12 + 2 * 4 * (11 + 3),
        ),
        (&[("fault.chunk", "1024")], 12 + 2 * 4 * (11 + 48)),
        (&[("memory.storage", "half")], 12 + 2 * (4 * 11 + 2 * 48) + 4),
        (
            &[("memory.storage", "compact"), ("model.sh_degree", "2")],
            12 + 2 * (2 * 12 + 28) + 4,
        ),
    ];
    for (way, per_gaussian) in ways {
        let common = [("memory.max_gaussians", "5000"), ("dataset.resolution", "80")];
        let profile = runs::profile(Path::new("unused"), &[&common, way]);
        let scene = SceneIndex::load(&runs::scene(), &scene_options(&profile).unwrap()).unwrap();
        let limits = PlanLimits {
            block_bytes: GIB,
            binding_bytes: GIB,
            rounding: BlockRounding::NONE,
        };
        let variants = Variants {
            reduction: Reduction::Segmented,
            sort_subgroup: 0,
            threads: Threads::Columns,
            loops: Loops::Long,
        };
        let budget = Budget::of_profile(GIB);
        let model = FirstModel::new(&profile, &scene).unwrap().gaussians;
        let demand = Demand::count(&profile, &scene, &model);
        let (plan, report) = plan(&profile, &scene, &demand, budget, limits, &variants, &profile.faults).unwrap();
        let bytes = |parts: &[&str]| -> u64 {
            let tensors = plan.table.tensors().iter();
            let named = tensors.filter(|t| parts.iter().any(|part| t.name.starts_with(part)));
            named.map(|t| t.bytes).sum()
        };
        let n_cap = u64::from(report.capacities.n_cap);
        let allocated = bytes(&[
            "model/statistics[",
            "model/geometry_m[",
            "model/geometry_v[",
            "model/sh_m[",
            "model/sh_v[",
        ]);
        assert_eq!(allocated, n_cap * per_gaussian, "{way:?}");
        let pixels = u64::from(report.capacities.max_pixels);
        assert_eq!(
            bytes(&["step/ssim_maps"]),
            // Three blurred maps of three channels.
            pixels * 36,
            "{way:?}"
        );
    }
}

/// dzn takes 64 KiB for each recorded indirect dispatch, and rounds blocks.
#[test]
fn what_the_driver_takes_for_itself_is_in_the_plan() {
    let settings = [("memory.max_gaussians", "up to 4000000"), ("dataset.resolution", "80")];
    let profile = runs::profile(Path::new("unused"), &[&settings]);
    let scene = SceneIndex::load(&runs::scene(), &scene_options(&profile).unwrap()).unwrap();
    let limits = PlanLimits {
        block_bytes: GIB,
        binding_bytes: 128 << 20,
        rounding: BlockRounding::NONE,
    };
    let variants = Variants {
        reduction: Reduction::Segmented,
        sort_subgroup: 0,
        threads: Threads::Columns,
        loops: Loops::Long,
    };
    let model = FirstModel::new(&profile, &scene).unwrap().gaussians;
    let demand = Demand::count(&profile, &scene, &model);
    let planned = |overhead| {
        let budget = Budget {
            overhead,
            ..Budget::of_profile(GIB / 4)
        };
        plan(&profile, &scene, &demand, budget, limits, &variants, &profile.faults).unwrap()
    };
    let (_, own) = planned(Overhead::None);
    let (plan, dzn) = planned(Overhead::Dzn);
    assert_eq!(own.driver_bytes, 0);
    let of_steps = |job| {
        let commands = plan.jobs.get(job).map_or(&[][..], |program| &program.commands);
        let is_indirect =
            |c: &&Command| matches!(c, Command::Dispatch(pass) if matches!(pass.groups, Groups::Indirect(_)));
        commands.iter().filter(is_indirect).count() as u64
    };
    let steps = of_steps(Job::Step(Terms::Image, 0)) * u64::from(dzn.capacities.slots);
    assert!(
        steps > 0 && dzn.driver_bytes > steps * (64 << 10),
        "{steps} {}",
        dzn.driver_bytes
    );
    // What it takes, the model does not.
    assert!(dzn.device_bytes + dzn.driver_bytes <= GIB / 4);
    assert!(dzn.capacities.n_cap < own.capacities.n_cap, "{:?}", dzn.capacities);
}

#[test]
fn the_count_over_the_training_views_is_what_steps_see() {
    let settings = [
        ("dataset.resolution", "160"),
        ("init", "{ kind: random_box, count: 9000 }"),
    ];
    let profile = runs::profile(Path::new("unused"), &[&settings]);
    let scene = SceneIndex::load(&runs::scene(), &scene_options(&profile).unwrap()).unwrap();
    let model = FirstModel::new(&profile, &scene).unwrap().gaussians;
    let demand = Demand::count(&profile, &scene, &model);
    assert_eq!(demand, Demand::count(&profile, &scene, &model), "threads do not matter");
    let views = scene.train.len() as u32;
    assert_eq!(demand.from, DemandSource::Counted { sample: 4096, views });
    // The whole model, by the twin of the step.
    let gaussians = Gaussian::<f64>::from_model(&model);
    let cameras: Vec<View<f64>> = scene
        .train
        .iter()
        .map(|v| View::new(&v.camera).beyond(scene.near_z()))
        .collect();
    let means: Vec<_> = gaussians.iter().map(|g| g.mean).collect();
    let filters = filter_3d(&means, &cameras);
    let settings = Settings {
        filter_2d: Filter2d::Mip { kernel_size: 0.1 },
        sh_degree: 3,
        tight_tiles: true,
        dropout: None,
        plane_depths: false,
    };
    let counts = cameras.iter().map(|view| {
        let each = gaussians.iter().zip(&filters);
        let visible = each.filter_map(|(g, f)| project(0, g, *f, view, &settings));
        visible.fold((0.0, 0.0), |(v, i), splat| (v + 1.0, i + f64::from(splat.n_tiles)))
    });
    let counts: Vec<(f64, f64)> = counts.collect();
    let n = model.len() as f64;
    let most = |f: fn(&(f64, f64)) -> f64| counts.iter().map(f).fold(0.0, f64::max) / n;
    let (visible, intersections) = (most(|c| c.0), most(|c| c.1));
    let sum = |f: fn(&(f64, f64)) -> f64| counts.iter().map(f).sum::<f64>();
    let per_visible = sum(|c| c.1) / sum(|c| c.0);
    assert!(
        (demand.visible_share - visible).abs() < 0.03,
        "{demand:?}, all: {visible}"
    );
    assert!(
        (demand.intersections / intersections - 1.0).abs() < 0.1,
        "{demand:?}, all: {intersections}"
    );
    assert!(
        (demand.per_visible / per_visible - 1.0).abs() < 0.05,
        "{demand:?}, all: {per_visible}"
    );
}

#[test]
fn counting_takes_no_time() {
    if child::role().is_none() {
        let said = child::run(module_path!(), "counting_takes_no_time", "count", &[]);
        return println!("{said}");
    }
    let profile = runs::profile(
        Path::new("unused"),
        &[&[("init", "{ kind: random_box, count: 100000 }")]],
    );
    let mut scene = SceneIndex::load(&runs::scene(), &scene_options(&profile).unwrap()).unwrap();
    let model = FirstModel::new(&profile, &scene).unwrap().gaussians;
    scene.train = scene.train.iter().cycle().take(300).cloned().collect();
    let before = cpu::used();
    let demand = Demand::count(&profile, &scene, &model);
    let took = cpu::used() - before;
    assert!(demand.visible_share > 0.0);
    // A second is the promise for two cores.
    assert!(took.as_secs_f64() < 2.0, "{took:?}");
    println!("300 views of 100000 Gaussians: {took:?} of processor time");
}

#[test]
fn a_run_reserves_what_was_planned_and_says_where_capacities_come_from() {
    let scratch = Scratch::new("reserved");
    let root = scratch.join("run");
    let profile = runs::profile(&root, &[EVENTFUL, &[("schedule.iterations", "2")]]);
    let scene = SceneIndex::load(&runs::scene(), &scene_options(&profile).unwrap()).unwrap();
    let model = FirstModel::new(&profile, &scene).unwrap().gaussians;
    let demand = Demand::count(&profile, &scene, &model);
    runs::train(profile.clone(), None, &Interrupt::unattached()).unwrap();
    let open = open_device(&profile, profile.faults.clone()).unwrap();
    let budget = Budget::of_device(&open.device, None);
    let variants = variants_for(open.device.caps(), open.tier, &profile, &open.faults).unwrap();
    let limits = Gpu::limits(&open.device);
    let mut settled = (*profile).clone();
    let (_, report) = plan_with_photos(
        &mut settled,
        &scene,
        budget.cap_bytes,
        None,
        |settled| plan(settled, &scene, &demand, budget, limits, &variants, &profile.faults),
        |(_, report)| report,
    )
    .unwrap();
    let rows = runs::rows(&root.join("memory.jsonl"));
    assert_eq!(rows[0]["reserved"], report.device_bytes);
    assert_eq!(rows[0]["capacities_from"], "generous");
    assert_eq!(rows[0]["v_cap"], report.capacities.v_cap);
    assert!(rows.iter().all(|row| row["reserved"] == report.device_bytes));
    assert!(rows.iter().skip(1).all(|row| row["capacities_from"].is_null()));
}

#[test]
fn growth_towards_a_capacity_is_said_once_and_with_the_numbers() {
    let scratch = Scratch::new("headroom");
    let root = scratch.join("run");
    let probe = scratch.join("probe");
    runs::train(runs::profile(&probe, &[EVENTFUL]), None, &Interrupt::unattached()).unwrap();
    assert!(
        runs::events(&probe, "warning").is_empty(),
        "there is room for everything"
    );
    let rows = runs::rows(&probe.join("metrics.jsonl"));
    let intersections = rows.iter().filter_map(|row| row["intersections"].as_u64());
    let most = intersections.max().unwrap().to_string();
    // About enough; after some densification it looks as if it will not be.
    let tight = [("fault.i_cap", most.as_str())];
    runs::train(
        runs::profile(&root, &[EVENTFUL, &tight]),
        None,
        &Interrupt::unattached(),
    )
    .unwrap();
    let said = runs::events(&root, "warning");
    assert!((1..=3).contains(&said.len()), "{said:?}");
    let text = said[0]["detail"]["message"].as_str().unwrap();
    let first = &runs::rows(&root.join("memory.jsonl"))[0];
    assert!(
        text.contains(&format!("of {} tile intersections", first["i_cap"])),
        "{text}"
    );
    assert!(said[0]["it"].as_u64().unwrap().is_multiple_of(8), "{said:?}");
    assert_eq!(first["capacities_from"], "forced");
}

/// Steps that want more intersections than there is room for go in bands only where the budget holds no more.
#[test]
fn a_run_is_planned_again_while_its_budget_has_room_for_intersections() {
    let scratch = Scratch::new("room");
    let train = |name: &str, faults: &[(&str, &str)]| {
        let root = scratch.join(name);
        runs::train(
            runs::profile(&root, &[EVENTFUL, faults]),
            None,
            &Interrupt::unattached(),
        )
        .unwrap();
        root
    };
    let whole = train("whole", &[]);
    let of_steps = |root: &Path| runs::rows(&root.join("metrics.jsonl"));
    let most = of_steps(&whole)
        .iter()
        .filter_map(|row| row["intersections"].as_u64())
        .max();
    // Too little from a densification in the first half on.
    let first = (most.unwrap() * 3 / 4).to_string();
    let grown = train("grown", &[("fault.first_i_cap", &first)]);
    let forced = train("forced", &[("fault.i_cap", &first)]);
    let model = |root: &Path| fs::read(root.join("point_cloud/iteration_72/point_cloud.ply")).unwrap();
    assert!(model(&whole) == model(&grown), "more room changes no byte");
    assert!(model(&whole) == model(&forced));
    let said: Vec<_> = runs::events(&grown, "chosen");
    let said: Vec<_> = said
        .iter()
        .filter_map(|row| row["detail"]["message"].as_str())
        .collect();
    let again: Vec<_> = said
        .iter()
        .filter(|text| text.contains("more tile intersections"))
        .collect();
    let [again] = again[..] else { panic!("{said:?}") };
    let room: Vec<u64> = again
        .split(" room for ")
        .filter_map(|rest| rest.split(',').next()?.parse().ok())
        .collect();
    assert!(room[0] >= 2 * first.parse::<u64>().unwrap(), "{again}");
    assert_eq!(runs::events(&grown, "resume").len(), 1);
    let (stalls, warnings) = (runs::events(&grown, "stall"), runs::events(&grown, "warning"));
    // Steps in flight when the first one stalled.
    assert!(stalls.len() <= 3 && warnings.is_empty(), "{stalls:?} {warnings:?}");
    assert!(runs::events(&forced, "stall").len() > 1 && !runs::events(&forced, "warning").is_empty());
}

/// Photos are on the device where nothing else gets less room for it, and in host memory where that is short of cap.
#[test]
fn photos_come_after_gaussians() {
    let profile = runs::profile(Path::new("unused"), &[]);
    let scene = SceneIndex::load(&runs::scene(), &scene_options(&profile).unwrap()).unwrap();
    let model = FirstModel::new(&profile, &scene).unwrap().gaussians;
    let demand = Demand::count(&profile, &scene, &model);
    let open = open_device(&profile, profile.faults.clone()).unwrap();
    let variants = variants_for(open.device.caps(), open.tier, &profile, &open.faults).unwrap();
    let limits = Gpu::limits(&open.device);
    let settle = |cap_bytes: u64| {
        let budget = Budget::of_profile(cap_bytes);
        let mut settled = (*profile).clone();
        let (_, report) = plan_with_photos(
            &mut settled,
            &scene,
            cap_bytes,
            None,
            |settled| plan(settled, &scene, &demand, budget, limits, &variants, &profile.faults),
            |(_, report)| report,
        )
        .unwrap();
        (settled.dataset.residency, report)
    };
    let (residency, roomy) = settle(8 << 30);
    assert_eq!(residency, Residency::Device);
    let (residency, short) = settle(roomy.device_bytes - 1);
    assert_eq!(residency, Residency::Host);
    assert_eq!(short.capacities.n_cap, roomy.capacities.n_cap);
    assert!(short.device_bytes < roomy.device_bytes);
}
