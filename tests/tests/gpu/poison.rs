//! Values that no training should meet, through every pass of a step, and scenes at the edge of what there can be:
//! nothing that is not finite reaches a Gaussian that was, and what is left out is reported.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use kiln::record::events::Event;
use kiln::step::Capacities;
use kiln_gaussians::Gaussians;
use kiln_kernels::counters::{Counters, Stall};
use kiln_kernels::views::Reduction;
use kiln_scene::Camera;
use kiln_tests::banded;
use kiln_tests::compare::{close, same};
use kiln_tests::gpu::{Gpu, assert_valid, open, variants};
use kiln_tests::scenes::Scene;
use kiln_tests::twin::{Twin, uniforms};

const REDUCTIONS: [Reduction; 3] = [Reduction::Segmented, Reduction::Atomic, Reduction::CompareExchange];

/// Not finite, as large and as small as there is, denormal, and zeros.
const VALUES: [f32; 8] = [
    f32::NAN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::MAX,
    -1e19,
    f32::MIN_POSITIVE,
    -1e-45,
    0.0,
];

type Spoil = fn(&mut Gaussians, usize, f32);

/// Every attribute, one component or all of them.
const ATTRIBUTES: [(&str, Spoil); 11] = [
    ("means", |m, i, x| m.means[i] = [x; 3]),
    ("depth", |m, i, x| m.means[i][2] = x),
    ("quats", |m, i, x| m.quats[i] = [x; 4]),
    ("one of quats", |m, i, x| m.quats[i][1] = x),
    ("scales", |m, i, x| m.log_scales[i] = [x; 3]),
    ("one of scales", |m, i, x| m.log_scales[i][0] = x),
    ("opacity", |m, i, x| m.logit_opacities[i] = x),
    ("colour", |m, i, x| m.sh0[i] = [x; 3]),
    ("one of colours", |m, i, x| m.sh0[i][2] = x),
    ("rest of SH", |m, i, x| m.sh_rest[45 * i + 17] = x),
    ("filter", |m, i, x| m.filter_3d[i] = x),
];

fn capacities(scene: &Scene, i_cap: u32) -> Capacities {
    let size = (scene.size[0], scene.size[1]);
    let mut c = Capacities::new(scene.count, scene.count, i_cap, scene.sh_degree, [size]);
    c.chunk = 256;
    c
}

/// All values of each Gaussian that training keeps: parameters, moments, statistics.
fn kept(gpu: &mut Gpu, n: usize) -> Vec<Vec<f32>> {
    let parts = [
        gpu.values(|c| c.geometry, |c| c.sh, n),
        gpu.values(|c| c.geometry_m, |c| c.sh_m, n),
        gpu.values(|c| c.geometry_v, |c| c.sh_v, n),
        gpu.planes(|c| c.statistics, 3, n),
    ];
    (0..n)
        .map(|i| parts.iter().flat_map(|part| part[i].clone()).collect())
        .collect()
}

fn is_finite(values: &[f32]) -> bool {
    values.iter().all(|value| value.is_finite())
}

/// A step: it either leaves everything as it was and says why, or leaves nothing that is not finite where all was.
fn assert_clean_step(gpu: &mut Gpu, status: &Counters, before: &[Vec<f32>], what: &str) {
    let after = kept(gpu, before.len());
    match status.stall() {
        None => {
            assert!(status.loss.is_finite(), "{what}: {status:?}");
            for (i, (before, after)) in before.iter().zip(&after).enumerate() {
                assert!(is_finite(after) || !is_finite(before), "{what}: Gaussian {i} is spoilt");
            }
        }
        Some(Stall::NonFinite) => {
            let first = status.nonfinite_index;
            assert!(
                status.nonfinite > 0 && first < status.visible.max(1),
                "{what}: {status:?}"
            );
            let bits = |list: &[Vec<f32>]| -> Vec<u32> { list.iter().flatten().map(|v| v.to_bits()).collect() };
            assert!(bits(before) == bits(&after), "{what}: a stalled step wrote something");
        }
        Some(other) => assert_eq!(Some(other), None, "{what}: {status:?}"),
    }
}

/// One Gaussian in seven gets a value that makes no sense, attribute by attribute.
#[test]
fn no_value_of_any_attribute_reaches_other_gaussians() {
    let scene = Scene {
        count: 260,
        ..Scene::default()
    };
    // Large enough for Gaussians that cover the whole image.
    let mut gpu = Gpu::training(&capacities(&scene, 20_000), &variants(Reduction::Segmented));
    let (mut stalled, mut done) = (0, 0);
    for (attribute, spoil) in ATTRIBUTES {
        for value in VALUES {
            let mut model = scene.model();
            for i in (3..model.len()).step_by(7) {
                spoil(&mut model, i, value);
            }
            gpu.load(&model);
            for iteration in 1..=2 {
                let before = kept(&mut gpu, model.len());
                let status = gpu.run(iteration % 3, &uniforms(&scene.camera(), 3, iteration), &scene.target());
                assert_clean_step(
                    &mut gpu,
                    &status,
                    &before,
                    &format!("{attribute} = {value:e}, step {iteration}"),
                );
                if status.stall().is_some() {
                    stalled += 1;
                    break;
                }
                done += 1;
            }
        }
    }
    // Colours of NaN and infinity must stall; zeros must not.
    assert!(stalled > 5 && done > 100, "{stalled} steps stalled, {done} did not");
    gpu.assert_valid();
}

/// A camera that looks along z, so that positions in front of it are easy to write down.
fn ahead(scene: &Scene) -> Camera {
    Camera {
        rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        translation: [0.0, 0.0, 4.0],
        ..scene.camera()
    }
}

/// Runs two steps of each model on every reduction and the reference; gives what the first step of each saw.
fn edges(scene: &Scene, camera: &Camera, models: &[(&str, Gaussians)]) -> Vec<Counters> {
    let target = scene.target();
    let mut seen = Vec::new();
    for reduction in REDUCTIONS {
        let mut gpu = Gpu::training(&capacities(scene, 40_000), &variants(reduction));
        seen.clear();
        for (what, model) in models {
            gpu.load(model);
            let mut twin = Twin::new(model);
            for iteration in 1..=2 {
                let before = kept(&mut gpu, model.len());
                let u = uniforms(camera, scene.sh_degree, iteration);
                let status = gpu.run(iteration % 3, &u, &target);
                assert_eq!(status.stall(), None, "{what}: {status:?}");
                assert_clean_step(&mut gpu, &status, &before, what);
                let step = twin.train(camera, &target, iteration);
                let loss = step.loss.total;
                close(&format!("{what}: loss"), &[status.loss], &[loss], 1e-4, 5e-4);
                let visible = step.forward.visible.len() as u32;
                let apart = status.visible.abs_diff(visible);
                assert!(apart <= visible / 100, "{what}: {} and {visible}", status.visible);
                if iteration == 1 {
                    seen.push(status);
                }
                if status.visible == 0 {
                    // Statistics may count those that are on screen and too faint to see.
                    let learnt = |list: &[Vec<f32>]| -> Vec<f32> {
                        list.iter().flat_map(|v| v[..v.len() - 4].to_vec()).collect()
                    };
                    let after = kept(&mut gpu, model.len());
                    same(&format!("{what}: nothing to see"), &learnt(&after), &learnt(&before));
                }
            }
        }
        gpu.assert_valid();
    }
    seen
}

#[test]
fn images_of_one_pixel_and_of_one_row_of_tiles() {
    let one = Scene {
        size: [1, 1],
        count: 40,
        ..Scene::default()
    };
    let seen = edges(&one, &ahead(&one), &[("1 x 1", one.model())]);
    assert!(seen[0].visible > 0);
    for (what, size) in [("8191 x 17", [8191, 17]), ("17 x 8191", [17, 8191])] {
        let thin = Scene {
            size,
            count: 120,
            focal: 5000.0,
            spread: [3.0, 3.0, 1.0],
            ..Scene::default()
        };
        let mut model = thin.model();
        // Along the image, whichever way it lies.
        let across = usize::from(size[0] > size[1]);
        for mean in &mut model.means {
            mean[across] *= 0.001;
        }
        let seen = edges(&thin, &ahead(&thin), &[(what, model)]);
        assert!(seen[0].visible > 80 && seen[0].intersections > 500, "{what}: {seen:?}");
    }
}

#[test]
fn one_gaussian_none_visible_and_all_in_one_tile() {
    let one = Scene {
        count: 1,
        spread: [0.1; 3],
        ..Scene::default()
    };
    let seen = edges(&one, &ahead(&one), &[("one Gaussian", one.model())]);
    assert_eq!(seen[0].visible, 1);

    // The camera is at -4.
    type Place = fn(usize) -> [f32; 3];
    let places: [(&str, Place); 4] = [
        ("behind the camera", |_| [0.1, 0.1, -9.0]),
        ("on the camera's plane", |i| [0.01 * i as f32, 0.2, -4.0]),
        ("at the camera", |_| [0.0, 0.0, -4.0]),
        ("a hair in front of it", |i| [0.0, 1e-6 * i as f32, -4.0 + 1e-6]),
    ];
    let scene = Scene::default();
    let models = places.map(|(what, place)| {
        let mut model = scene.model();
        model.means = (0..model.len()).map(place).collect();
        (what, model)
    });
    let seen = edges(&scene, &ahead(&scene), &models);
    assert!(seen.iter().all(|status| status.visible == 0), "{seen:?}");

    let crowd = Scene {
        count: 3000,
        ..Scene::default()
    };
    let mut model = crowd.model();
    // Pixel (40, 24): the middle of a tile of 16 x 16.
    model.means.fill([0.533, 0.0, 0.0]);
    model.log_scales.fill([-3.5; 3]);
    let seen = edges(&crowd, &ahead(&crowd), &[("all in one tile", model)]);
    assert_eq!((seen[0].visible, seen[0].intersections), (3000, 3000));
}

#[test]
fn solid_flat_and_vanishing_gaussians() {
    type Change = fn(&mut Gaussians);
    let spoils: [(&str, Change); 6] = [
        ("opaque", |m| m.logit_opacities.fill(60.0)),
        ("clear", |m| m.logit_opacities.fill(-60.0)),
        ("without extent", |m| {
            m.log_scales.fill([-120.0; 3]);
            m.filter_3d.fill(0.0);
        }),
        ("flat as paper", |m| {
            m.log_scales.iter_mut().for_each(|scale| scale[2] = -60.0)
        }),
        ("needles", |m| m.log_scales.fill([0.5, -60.0, -60.0])),
        ("long quaternions", |m| {
            m.quats.as_flattened_mut().iter_mut().for_each(|value| *value *= 1e15);
        }),
    ];
    let scene = Scene::default();
    let models = spoils.map(|(what, spoil)| {
        let mut model = scene.model();
        spoil(&mut model);
        (what, model)
    });
    let seen = edges(&scene, &ahead(&scene), &models);
    assert!(seen[0].visible > 100 && seen[1].visible == 0, "{seen:?}");
}

/// What people read about a step that was left out: pass, tensor, index and how many, and the count at the end.
#[test]
fn a_step_left_out_is_told_with_pass_tensor_and_index() {
    let device = open();
    let mut model = banded::scene().model();
    for i in [17, 40] {
        model.means[i] = banded::behind();
        model.log_scales[i] = [0.0; 3];
        model.logit_opacities[i] = 2.0;
        model.sh0[i] = [f32::NAN; 3];
    }
    let mut trainer = banded::trainer(&device, &banded::profile(&[]), Reduction::Segmented, &model);
    let target = banded::scene().target();
    for i in 1..=5 {
        let mut camera = banded::camera(&banded::scene(), i);
        if i % 2 == 0 {
            camera.translation[2] += 100.0;
        }
        trainer.advance(&camera, &target).expect("a step");
    }
    let done = trainer.drain().expect("steps");
    assert!(
        done.iter()
            .all(|status| status.iteration % 2 == 1 && status.counters.loss.is_finite())
    );
    assert_eq!(trainer.skipped_steps(), 2);
    let events = trainer.take_events();
    let told: Vec<_> = events
        .iter()
        .filter_map(|row| match &row.event {
            Event::Nonfinite {
                pass,
                tensor,
                index,
                count,
            } => Some((row.it, pass.as_str(), tensor.as_str(), *index, *count)),
            _ => None,
        })
        .collect();
    assert_eq!(told.iter().map(|row| row.0).collect::<Vec<_>>(), [2, 4], "{events:?}");
    for (_, pass, tensor, index, count) in told {
        assert_eq!((pass, tensor), ("loss_reduce", "loss"));
        assert!(index < 500 && (1..=500).contains(&count), "{index}, {count}");
    }
    let after = trainer.model().expect("download");
    let spoilt = |i: usize| [17, 40].contains(&i);
    assert!((0..after.len()).all(|i| is_finite(&after.sh0[i]) != spoilt(i)));
    assert_valid(&device);
}
