//! Photos that stay on the device, in several pages, give the bytes of photos that steps bring along, and so do those that a
//! thread brings into the ring ahead of their step: also when steps run in bands and when stalled ones are done again.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "tests stop at the first surprise, and one decoder panics"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kiln::kernels::views::Reduction;
use kiln::memory::{Budget, Gpu, PlanLimits};
use kiln::plan::{Demand, plan};
use kiln::scene::{Camera, Photo, SceneError, SceneIndex, SceneOptions, Split, ViewId};
use kiln::train::{Target, Trainer};
use kiln::vk;
use kiln_tests::gpu::{assert_valid, open, variants};
use kiln_tests::runs;
use kiln_tests::scenes::Scene;
use kiln_tests::setup::{Settings, Setup};

const VIEWS: usize = 30;
/// Views of all pages, and every mood of the decoder twice.
const STEPS: u32 = 24;

fn scene() -> Scene {
    Scene {
        seed: 5,
        count: 500,
        size: [150, 90],
        focal: 140.0,
        scales: [0.06, 0.5],
        ..Scene::default()
    }
}

/// Near and far views take turns, so that they need more and fewer intersections.
fn camera(view: usize) -> Camera {
    let mut camera = scene().camera();
    camera.translation[0] += 0.2 * (view % 4) as f32 - 0.3;
    camera.translation[2] += 3.0 * (view % 3) as f32;
    camera
}

fn photo(view: usize, masked: bool) -> Vec<u8> {
    let seed = 40 + u32::try_from(view).expect("few");
    let scene = Scene { seed, ..scene() };
    if masked { scene.masked_target() } else { scene.target() }
}

fn profile(settings: Settings<'_>) -> Setup {
    let common = [
        ("memory.max_gaussians", "500"),
        ("schedule.iterations", "1000"),
        ("schedule.sh_every", "3"),
        ("fault.chunk", "256"),
        ("strategy.densify.from", "990"),
        ("strategy.densify.until", "999"),
        ("eval.lpips", "false"),
        ("train.deterministic", "true"),
    ];
    runs::profile(Path::new("unused"), &[&common, settings])
}

fn trainer(device: &Arc<vk::Device>, setup: &Setup, masked: bool) -> Trainer {
    let Setup { profile, faults } = setup;
    let mut index = SceneIndex::load(&runs::scene(), &SceneOptions::default()).expect("bundled scene");
    index.train.truncate(VIEWS);
    index.test.truncate(1);
    index.masked = masked;
    for (number, view) in index.train.iter_mut().chain(&mut index.test).enumerate() {
        view.camera = camera(number);
    }
    let budget = Budget::of_device(device, Some(4 << 30));
    // a page holds about twelve photos
    let limits = PlanLimits {
        binding_bytes: 512 << 10,
        ..Gpu::limits(device)
    };
    let model = scene().model();
    let demand = Demand::count(profile, &index, &model);
    let (plan, report) = plan(
        profile,
        &index,
        &demand,
        budget,
        limits,
        &variants(Reduction::Segmented),
        faults,
    )
    .expect("fits");
    let pages = plan.tensors.resident.pages.len();
    let resident = profile.dataset.residency == kiln::config::Residency::Device;
    assert!(if resident { pages >= 3 } else { pages == 0 }, "{pages} pages");
    Trainer::new(device, profile.clone(), plan, report, &index, Some(&model), faults).expect("commits")
}

fn training_view(index: usize) -> ViewId {
    ViewId {
        split: Split::Train,
        index,
    }
}

/// Asks for the photo of step `step` ahead of it, from a decoder with all the moods there are.
fn stage(trainer: &mut Trainer, step: usize, masked: bool) {
    let view = (step * 7) % VIEWS;
    trainer.stage(training_view(view), move || match step % 10 {
        3 => {
            std::thread::sleep(Duration::from_millis(40));
            Ok(Photo::new(photo(view, masked), None))
        }
        6 => Err(SceneError::NoSuchView("train", view)),
        8 => panic!("a decoder that gives up"),
        _ => Ok(Photo::new(photo(view, masked), None)),
    });
}

/// Trains over the views out of order, with an evaluation in between; gives loss bits, model bytes and banded steps. With
/// `ahead`, photos are asked for one step before they are needed.
fn run(trainer: &mut Trainer, masked: bool, ahead: bool) -> (Vec<u32>, Vec<f32>, Vec<f32>, u32) {
    let mut statuses = Vec::new();
    let (mut staged, mut failed) = (0, 0);
    if trainer.is_resident() {
        for view in 0..VIEWS {
            trainer.store(view, &photo(view, masked)).expect("a place");
        }
    }
    let mut sums = Vec::new();
    for step in 0..STEPS as usize {
        let view = (step * 7) % VIEWS;
        let bytes = photo(view, masked);
        let brought = trainer.staged(training_view(view));
        failed += usize::from(matches!(brought, Some(Err(_))));
        let target = match brought {
            Some(Ok(())) => Target::Staged,
            _ if trainer.is_resident() => Target::Resident(view),
            _ => Target::Bytes(&bytes),
        };
        staged += usize::from(matches!(target, Target::Staged));
        statuses.extend(trainer.advance(&camera(view), target).expect("a step"));
        if ahead {
            stage(trainer, step + 1, masked);
        }
        if step % 12 == 3 {
            let shown = trainer
                .evaluate(&camera(1), &photo(77, masked), false)
                .expect("evaluates");
            sums.extend(shown.sums);
        }
    }
    statuses.extend(trainer.drain().expect("steps"));
    assert_eq!(statuses.len(), STEPS as usize);
    // Of 23 that were asked for two failed and two panicked; evaluations needed the places of one that was there and of one
    // failure.
    let expected = if ahead && !trainer.is_resident() {
        (18, 1)
    } else {
        (0, 0)
    };
    assert_eq!((staged, failed), expected);
    let model = trainer.model().expect("download");
    let mut values: Vec<f32> = model.means.as_flattened().to_vec();
    values.extend(&model.sh_rest);
    let losses = statuses.iter().map(|s| s.counters.loss.to_bits()).collect();
    (losses, values, sums, trainer.banded_steps())
}

#[test]
fn resident_photos_give_the_bytes_of_photos_brought_along() {
    let device = open();
    let ways: [(&str, &str, bool, std::ops::RangeInclusive<u32>); 5] = [
        ("fault.i_cap", "16000", false, 0..=0),
        ("fault.i_cap", "16000", true, 0..=0),
        ("fault.bands", "5", false, STEPS..=STEPS),
        // near views stall and are done again in bands, with those in flight behind them
        ("fault.i_cap", "3000", false, 1..=STEPS - 1),
        // the same for views with more visible Gaussians than records
        ("fault.v_cap", "300", true, 1..=STEPS),
    ];
    for (key, value, masked, banded) in ways {
        let with = |residency: &str, ahead: bool| {
            let profile = profile(&[
                (key, value),
                ("fault.i_cap", "16000"),
                (key, value),
                ("dataset.residency", residency),
            ]);
            run(&mut trainer(&device, &profile, masked), masked, ahead)
        };
        let (resident, brought) = (with("device", true), with("host", false));
        assert!(banded.contains(&resident.3), "{key} {value}: {} banded", resident.3);
        assert!(resident == brought, "{key} {value}, masked {masked}");
        let ahead = with("host", true);
        assert!(ahead == brought, "ahead of their steps, {key} {value}, masked {masked}");
    }
    assert_valid(&device);
}

/// A run may end at any step, with a photo still on its way or never fetched.
#[test]
fn a_trainer_ends_with_a_photo_on_its_way() {
    let device = open();
    for steps in 0..4 {
        let mut trainer = trainer(&device, &profile(&[("fault.i_cap", "16000")]), false);
        for step in 0..steps {
            trainer.advance(&camera(step), &photo(step, false)).expect("a step");
        }
        trainer.stage(training_view(7), || {
            std::thread::sleep(Duration::from_millis(20));
            Ok(Photo::new(photo(7, false), None))
        });
    }
    assert_valid(&device);
}

/// Command buffers are recorded once for each ring slot: hundreds of steps, densifications and evaluations record none.
#[test]
fn steps_record_nothing() {
    let device = open();
    // Where parts of a program are to be short, it is recorded anew when their times are known.
    device.limit_submissions(0);
    let settings = [
        ("fault.i_cap", "16000"),
        ("memory.max_gaussians", "900"),
        ("strategy.densify.from", "5"),
        ("strategy.densify.every", "20"),
        ("strategy.reset.every", "50"),
        ("diagnose.timed_every", "7"),
    ];
    let mut trainer = trainer(&device, &profile(&settings), false);
    let photos: Vec<_> = (0..VIEWS).map(|view| photo(view, false)).collect();
    let before = device.recordings();
    assert!(before > 0);
    let mut done = 0;
    for step in 0..300 {
        let view = (step * 7) % VIEWS;
        done += usize::from(trainer.advance(&camera(view), &photos[view]).expect("a step").is_some());
        if step % 100 == 50 {
            trainer.evaluate(&camera(1), &photos[3], true).expect("evaluates");
        }
    }
    assert!(done >= 297, "{done}");
    assert_eq!(device.recordings(), before);
    device.limit_submissions(100);
    assert_valid(&device);
}

#[test]
fn a_photo_without_a_place_is_refused() {
    let device = open();
    let mut resident = trainer(
        &device,
        &profile(&[("dataset.residency", "device"), ("fault.i_cap", "16000")]),
        false,
    );
    assert!(resident.store(VIEWS, &photo(0, false)).is_err());
    assert!(resident.advance(&camera(0), Target::Resident(VIEWS)).is_err());
    let mut other = trainer(&device, &profile(&[("fault.i_cap", "16000")]), false);
    assert!(other.store(0, &photo(0, false)).is_err());
    assert!(other.advance(&camera(0), Target::Staged).is_err(), "nothing was staged");
    let mut other = trainer(&device, &profile(&[("fault.i_cap", "16000")]), false);
    let text = other
        .advance(&camera(0), &vec![0; 1 << 20])
        .expect_err("too large")
        .to_string();
    assert!(text.contains("ring/images"), "{text}");
}
