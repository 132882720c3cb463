//! Corrections of cameras on the device against their CPU twin, and what they leave alone.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use kiln::kernels::pose::{VALUES, WORDS};
use kiln::kernels::uniforms::{StepUniforms, flags};
use kiln::kernels::views::Reduction;
use kiln::scene::{Camera, Split, ViewId};
use kiln::step::{Capacities, train_step};
use kiln::twins::gaussian::View;
use kiln::twins::loss::Weights;
use kiln::twins::pose::{self, State};
use kiln::twins::step::{step, surface_step, target_from_u8};
use kiln_tests::banded::{Run, camera, profile, scene, trainer};
use kiln_tests::compare::close;
use kiln_tests::gpu::{Gpu, assert_valid, losses, open, variants};
use kiln_tests::scenes::{Scene, fisheye};
use kiln_tests::twin::{BACKGROUND, Twin, uniforms};

const EXTENT: f32 = 2.5;
const RATE: f32 = 0.003;
const NORMALS: f32 = 0.5;

/// Uniforms of a step of view 1 that corrects its camera; the model is not updated.
fn block(camera: &Camera, sh_degree: u32, iteration: u32) -> StepUniforms {
    let mut u = uniforms(camera, sh_degree, iteration);
    u.flags = flags::UPDATE | flags::POSES;
    u.adam_skip_mask = 63;
    (u.view, u.pose_rate, u.pose_extent) = (1, RATE, EXTENT);
    u
}

/// Three steps from a correction that is not none, with and without planes, in chunks: the image is that of the corrected camera, the
/// correction goes on as the twin's does, and those of other views stay as they are.
#[test]
fn corrections() {
    let pinhole = Scene {
        seed: 17,
        size: [70, 45],
        ..Scene::default()
    };
    let fisheye = Scene {
        focal: 21.0,
        scales: [0.02, 0.15],
        lens: Some(fisheye(1.6)),
        ..pinhole
    };
    for (scene, normals) in [(&pinhole, 0.0), (&pinhole, NORMALS), (&fisheye, 0.0)] {
        let (model, camera, target) = (scene.model(), scene.camera(), scene.target());
        let size = (scene.size[0], scene.size[1]);
        let mut c = Capacities::new(scene.count, scene.count, 12 * scene.count, scene.sh_degree, [size]);
        (c.chunk, c.poses) = (256, 3);
        c.losses = losses(if normals > 0.0 { &["normals"] } else { &[] });
        c.lens = scene.lens.is_some();
        let mut gpu = Gpu::new(&c, &variants(Reduction::Segmented), train_step, |_| Vec::new());
        let poses = gpu.tensors.extra.poses.expect("asked for");
        let mut words: Vec<f32> = vec![0.0; 3 * WORDS];
        words[WORDS..WORDS + VALUES].copy_from_slice(&[0.02, -0.03, 0.01, 0.01, 0.02, -0.02]);
        words[2 * WORDS] = 0.5;
        gpu.device.write(&poses.state, &words).expect("upload");
        let mut twin = State::<f32>::default();
        twin.correction.copy_from_slice(&words[WORDS..WORDS + VALUES]);
        gpu.load(&model);
        let reference = Twin::new(&model);
        let (gaussians, filter, settings) = (&reference.gaussians, &reference.filter_3d, &reference.settings);
        let photo = target_from_u8(&target);
        for iteration in 1..=3 {
            let mut u = block(&camera, scene.sh_degree, iteration);
            u.normals_weight = normals;
            let status = gpu.run(0, &u, &target);
            assert_eq!((status.stalled, status.nonfinite), (0, 0), "{status:?}");
            let view = pose::corrected(&View::new(&camera), &twin.correction, EXTENT);
            let weights = Weights::default();
            let out = if normals > 0.0 {
                surface_step(gaussians, filter, &view, settings, BACKGROUND, &photo, weights, normals).0
            } else {
                step(gaussians, filter, &view, settings, BACKGROUND, &photo, weights)
            };
            assert!(
                (status.loss - out.loss.total).abs() < 2e-5,
                "{} {}",
                status.loss,
                out.loss.total
            );
            let (visible, gradients) = (&out.forward.visible, &out.gradients_2d);
            let motion = pose::motion(gaussians, filter, &view, settings, visible, gradients);
            let gradient = pose::by_correction(&twin.correction, EXTENT, motion);
            twin.step(&gradient, RATE, [0.9, 0.999]);
            let found: Vec<f32> = gpu.read(poses.state, 3 * WORDS);
            let mine = &found[WORDS..2 * WORDS];
            close("correction", &mine[..VALUES], &twin.correction, 2e-5, 1e-3);
            close("first moments", &mine[6..12], &twin.m, 1e-5, 5e-3);
            assert_eq!(mine[18], iteration as f32);
            for other in [0, 2] {
                assert_eq!(
                    found[other * WORDS..][..WORDS],
                    words[other * WORDS..][..WORDS],
                    "another view's"
                );
            }
        }
        // Steps that do not ask for it are drawn from where they say and teach nothing, as are those whose rate is 0.
        let before: Vec<f32> = gpu.read(poses.state, 3 * WORDS);
        for (flags, rate) in [(flags::UPDATE, RATE), (flags::UPDATE | flags::POSES, 0.0)] {
            let mut u = block(&camera, scene.sh_degree, 4);
            (u.flags, u.pose_rate) = (flags, rate);
            gpu.run(0, &u, &target);
            let after: Vec<f32> = gpu.read(poses.state, 3 * WORDS);
            assert_eq!(before, after);
        }
        gpu.assert_valid();
    }
}

fn corrected_camera(trainer: &mut kiln::train::Trainer) -> Camera {
    let poses = trainer.refined_poses().expect("read").expect("asked for");
    let id = ViewId {
        split: Split::Train,
        index: 0,
    };
    poses.camera(id, &scene().camera())
}

/// Bands of lists and of records, and a stall on the way to them: the same bytes of model and correction.
#[test]
fn corrections_are_the_same_bytes_in_bands() {
    const REFINE: (&str, &str) = ("train.refine_poses", "{ lr: 0.01 }");
    let device = open();
    let run = |settings: &[(&str, &str)]| {
        let profile = profile(&[&[REFINE], settings].concat());
        let mut trainer = trainer(&device, &profile, Reduction::Segmented, &scene().model());
        let run = Run::new(&mut trainer, 6, |i| camera(&scene(), i), false);
        (run, corrected_camera(&mut trainer))
    };
    let (whole, corrected) = run(&[]);
    assert_ne!(corrected, scene().camera());
    let ways: [&[(&str, &str)]; 4] = [
        &[("fault.bands", "7")],
        &[("fault.i_cap", "1500")],
        &[("fault.v_cap", "150")],
        &[("fault.v_cap", "150"), ("fault.i_cap", "700")],
    ];
    for way in ways {
        let (banded, camera) = run(way);
        assert!(banded.banded > 0, "{way:?}");
        banded.assert_same(&whole, &format!("{way:?}"));
        assert_eq!(camera, corrected, "{way:?}");
    }
    assert_valid(&device);
}

/// A test camera that is off goes to its photo, whole and in bands to the same place; the model, training cameras and later steps
/// know nothing of it.
#[test]
fn test_cameras_go_to_their_photos() {
    let device = open();
    let given = camera(&scene(), 3);
    let mut off = given.clone();
    off.translation[0] += 0.03;
    off.translation[1] -= 0.02;
    let settings = ("train.refine_poses", "{ lr: 0.003, lr_end: 0.0001, test_steps: 60 }");
    let id = ViewId {
        split: Split::Test,
        index: 0,
    };
    let run = |more: &[(&str, &str)], alignments: u32| {
        let profile = profile(&[&[settings], more].concat());
        let mut trainer = trainer(&device, &profile, Reduction::Segmented, &scene().model());
        let photo = trainer.evaluate(&given, &scene().target(), true).expect("a photo");
        let image = photo.image.expect("asked for");
        let bytes: Vec<u8> = image
            .iter()
            .flat_map(|p| [p[0], p[1], p[2]])
            .map(|v| (255.0 * v).round() as u8)
            .collect();
        let mut error = Vec::new();
        for _ in 0..alignments {
            trainer.align(0, &off, &bytes).expect("steps");
            let poses = trainer.refined_poses().expect("read").expect("asked for");
            let found = poses.camera(id, &off);
            let far = std::iter::zip(found.position(), given.position()).map(|(a, b)| (a - b).abs());
            error.push((far.sum::<f32>(), found));
        }
        let run = Run::new(&mut trainer, 3, |i| camera(&scene(), i), false);
        (run, error)
    };
    let (plain, _) = run(&[], 0);
    let (whole, error) = run(&[], 2);
    whole.assert_same(&plain, "after an alignment");
    println!("{error:?}");
    assert!(error[0].0 < 0.02 && error[1].0 < 0.01, "of 0.05: {error:?}");
    for way in [("fault.bands", "7"), ("fault.v_cap", "150")] {
        let (_, banded) = run(&[way], 1);
        assert_eq!(banded, error[..1], "{way:?}");
    }
    assert_valid(&device);
}
