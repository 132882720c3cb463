//! Further losses on the device against their CPU twins.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use std::sync::Arc;

use kiln::step::{Capacities, ImageTerm, StepTensors, train_step};
use kiln_kernels::exposure::{CENTRE_EVERY, IDENTITY, OF_CAMERA, OF_CAMERA_WORDS, PhotoStart, VALUES, WORDS, start};
use kiln_kernels::uniforms::{Group, flags};
use kiln_kernels::views::Reduction;
use kiln_program::{Program, Span};
use kiln_tests::compare::close;
use kiln_tests::gpu::{Gpu, Keep, losses, variants};
use kiln_tests::scenes::Scene;
use kiln_tests::twin::{BACKGROUND, Twin, uniforms};
use kiln_twins::alpha_loss::alpha_loss;
use kiln_twins::exposure;
use kiln_twins::gaussian::View;
use kiln_twins::loss::{Weights, loss, masked_loss};
use kiln_twins::rasterize_backward::{ImageGradients, rasterize_backward_of};
use kiln_twins::rng::uniform;
use kiln_twins::step::{forward, target_from_u8};

const WEIGHT: f32 = 0.3;

fn capacities(scene: &Scene) -> Capacities {
    let size = (scene.size[0], scene.size[1]);
    let mut c = Capacities::new(scene.count, scene.count, 12 * scene.count, scene.sh_degree, [size]);
    c.chunk = 512;
    c
}

/// Where exposures are.
fn state_of(gpu: &Gpu) -> Span {
    gpu.tensors.learnt(&[]).first().expect("asked for").state
}

/// The image after the map.
fn exposed(t: &StepTensors) -> Span {
    let image = |term: &Arc<dyn ImageTerm>| term.before(&mut Program::new("unused"), t, &t.pixels);
    t.extra.image.iter().find_map(image).expect("asked for")
}

/// Every way of adding up gradients: the loss, the gradient of the transmittance, and what becomes of it in the records.
#[test]
fn coverage_against_the_mask() {
    for (reduction, size) in [
        (Reduction::Segmented, [64, 48]),
        (Reduction::Atomic, [37, 51]),
        (Reduction::CompareExchange, [64, 48]),
    ] {
        let scene = Scene {
            seed: 83,
            size,
            ..Scene::default()
        };
        let (model, camera) = (scene.model(), scene.camera());
        let mut c = capacities(&scene);
        (c.masked, c.losses) = (true, losses(&["alpha"]));
        let mut gpu = Gpu::new(&c, &variants(reduction), train_step, |t| {
            let keep = |view, after| Keep { view, after };
            vec![
                keep(t.pixels.gradient, "alpha_loss"),
                keep(t.splats.gradient_a, "gradient_check"),
            ]
        });
        gpu.load(&model);
        let mut u = uniforms(&camera, scene.sh_degree, 1);
        u.weights[3] = WEIGHT;
        u.flags |= flags::ALPHA_GRADIENT;
        let status = gpu.run(0, &u, &scene.masked_target());
        assert_eq!((status.stalled, status.nonfinite), (0, 0), "{status:?}");

        let twin = Twin::new(&model);
        let view = View::new(&camera);
        let out = forward(&twin.gaussians, &twin.filter_3d, &view, &twin.settings, BACKGROUND);
        let mask: Vec<f32> = scene.mask().iter().map(|counts| f32::from(u8::from(*counts))).collect();
        let target = target_from_u8(&scene.target());
        let colors = masked_loss(scene.size, &out.raster.rgb, &target, &mask, Weights::default());
        let (value, by_transmittance) = alpha_loss(&out.raster.transmittance, &mask, WEIGHT);
        assert!(
            (status.loss - colors.total - value).abs() < 1e-5,
            "{} {}",
            status.loss,
            value
        );

        let pixels = (size[0] * size[1]) as usize;
        let tensors = (gpu.tensors.pixels.gradient, gpu.tensors.splats.gradient_a);
        let found: Vec<[f32; 4]> = gpu.kept(tensors.0, "alpha_loss", pixels);
        let found: Vec<f32> = found.iter().map(|g| g[3]).collect();
        close("gradient by transmittance", &found, &by_transmittance, 1e-9, 1e-4);
        let gradients = ImageGradients {
            rgb: &colors.gradient,
            transmittance: Some(&by_transmittance),
            surface: None,
        };
        let wanted = rasterize_backward_of(
            scene.size,
            &out.visible,
            &out.lists,
            BACKGROUND,
            &out.raster,
            &gradients,
        );
        let found: Vec<[f32; 4]> = gpu.kept(tensors.1, "gradient_check", wanted.len());
        let flat = |f: &dyn Fn(usize) -> [f32; 3]| (0..wanted.len()).flat_map(f).collect::<Vec<f32>>();
        let found = flat(&|i| [found[i][0], found[i][1], found[i][2]]);
        let wanted = flat(&|i| [wanted[i].mean_px[0], wanted[i].mean_px[1], wanted[i].opacity]);
        close("records", &found, &wanted, 1e-5, 1e-3);
        gpu.assert_valid();
    }
}

/// A view's map and its camera between image and loss, their gradients, and two of their steps; other views, other cameras and skipped
/// steps stay as they are.
#[test]
fn exposures() {
    let scene = Scene {
        seed: 91,
        size: [70, 45],
        ..Scene::default()
    };
    let (model, camera, target) = (scene.model(), scene.camera(), scene.target());
    let mut c = capacities(&scene);
    (c.cameras, c.photo_cameras) = (3, 2);
    let mut gpu = Gpu::new(&c, &variants(Reduction::Segmented), train_step, |t| {
        let keep = |view, after| Keep { view, after };
        vec![
            keep(exposed(t), "exposure"),
            keep(t.pixels.gradient, "exposure.gradient"),
        ]
    });
    let (exposures, image) = (state_of(&gpu), exposed(&gpu.tensors));
    let photo = |camera, gain| PhotoStart {
        camera,
        gains: [gain, 1.0, 0.5 + 0.5 * gain],
    };
    let mut state = start(&[photo(0, 1.0), photo(1, 1.1), photo(1, 1.0)], 2);
    for (k, value) in state[WORDS..WORDS + VALUES].iter_mut().enumerate() {
        *value += 0.4 * uniform::<f32>(7, 0, k as u32, 0) - 0.2;
    }
    let cameras_at = 3 * WORDS;
    let own = cameras_at + OF_CAMERA_WORDS;
    for (k, value) in state[own..own + OF_CAMERA].iter_mut().enumerate() {
        *value = 0.5 * uniform::<f32>(7, 1, k as u32, 0) - 0.25;
    }
    gpu.device.write(&exposures, &state).expect("upload");
    let mut twin = exposure::State::<f32>::new();
    twin.map.copy_from_slice(&state[WORDS..WORDS + VALUES]);
    twin.held = [1.1, 1.0, 1.05];
    let mut of_camera = exposure::CameraState::<f32>::new();
    of_camera.values.copy_from_slice(&state[own..own + OF_CAMERA]);
    let photo = target_from_u8(&target);
    for step in 1..=3 {
        // The model is the same each time; only the map goes on.
        gpu.load(&model);
        let mut u = uniforms(&camera, scene.sh_degree, step);
        (u.view, u.camera_position[3], u.exposure_hold) = (1, 0.02, 0.03);
        if step == 3 {
            u.adam_skip_mask = Group::Sh0.bit();
        }
        let status = gpu.run(0, &u, &target);
        assert_eq!((status.stalled, status.nonfinite), (0, 0), "{status:?}");
        let reference = Twin::new(&model);
        let view = View::new(&camera);
        let (gaussians, filter) = (&reference.gaussians, &reference.filter_3d);
        let out = forward(gaussians, filter, &view, &reference.settings, BACKGROUND);
        let taken = exposure::Taken {
            map: twin.map,
            camera: of_camera.values,
            size: scene.size,
            center: [u.intrinsics[2], u.intrinsics[3]],
        };
        let mapped = taken.shown(&out.raster.rgb);
        let of_mapped = loss(scene.size, &mapped, &photo, Weights::default());
        let (by_image, by_map, by_camera) = taken.gradients(&out.raster.rgb, &of_mapped.gradient);
        assert!(
            (status.loss - of_mapped.total).abs() < 1e-5,
            "{} {}",
            status.loss,
            of_mapped.total
        );
        let rgb = |found: Vec<[f32; 4]>| found.iter().flat_map(|v| [v[0], v[1], v[2]]).collect::<Vec<f32>>();
        let found = gpu.kept(image, "exposure", mapped.len());
        close("mapped image", &rgb(found), mapped.as_flattened(), 1e-5, 1e-4);
        let found = gpu.kept(gpu.tensors.pixels.gradient, "exposure.gradient", mapped.len());
        close("image gradient", &rgb(found), by_image.as_flattened(), 1e-7, 2e-3);
        if step < 3 {
            twin.step(&by_map, 0.03, 0.02, [0.9, 0.999]);
            of_camera.step(&by_camera, 0.02, [0.9, 0.999], 2);
        }
        let found: Vec<f32> = gpu.read(exposures, own + OF_CAMERA_WORDS);
        close("map", &found[WORDS..WORDS + VALUES], &twin.map, 1e-4, 1e-3);
        assert_eq!(found[WORDS + 36], step.min(2) as f32);
        for other in [0, 2] {
            assert_eq!(found[other * WORDS..][..VALUES], IDENTITY, "another view's");
        }
        let values = &found[own..own + OF_CAMERA];
        close("camera", values, &of_camera.values, 1e-4, 1e-3);
        assert_eq!(found[own + 27], step.min(2) as f32);
        assert_eq!(found[cameras_at..own], [0.0; OF_CAMERA_WORDS], "another camera's");
    }
    gpu.assert_valid();
}

/// At some iterations all maps move together, so that their mean does nothing; more of them than are at work at once.
#[test]
fn the_mean_of_all_exposures_is_held() {
    let scene = Scene {
        seed: 92,
        size: [40, 30],
        count: 60,
        ..Scene::default()
    };
    let (model, target) = (scene.model(), scene.target());
    for cameras in [1, 20, 21, 50] {
        let mut c = capacities(&scene);
        (c.cameras, c.photo_cameras) = (cameras, 1);
        let mut gpu = Gpu::new(&c, &variants(Reduction::Segmented), train_step, |_| Vec::new());
        let exposures = state_of(&gpu);
        let photos = vec![PhotoStart::default(); cameras as usize];
        let mut state = start(&photos, 1);
        for (view, words) in (0..cameras).zip(state.chunks_exact_mut(WORDS)) {
            for (k, value) in (0..).zip(&mut words[..VALUES]) {
                *value += uniform::<f32>(8, view, k, 0) - 0.2;
            }
        }
        gpu.device.write(&exposures, &state).expect("upload");
        let maps = |words: &[f32]| -> Vec<exposure::State<f32>> {
            let map = |words: &[f32]| exposure::State {
                map: std::array::from_fn(|k| words[k]),
                ..exposure::State::new()
            };
            words[..cameras as usize * WORDS].chunks_exact(WORDS).map(map).collect()
        };
        let step = |gpu: &mut Gpu, iteration: u32| -> Vec<f32> {
            gpu.load(&model);
            let mut u = uniforms(&scene.camera(), scene.sh_degree, iteration);
            (u.view, u.camera_position[3]) = (cameras - 1, 0.02);
            assert_eq!(gpu.run(0, &u, &target).stalled, 0);
            gpu.read(exposures, state.len())
        };
        let before = step(&mut gpu, CENTRE_EVERY - 1);
        let others = (cameras as usize - 1) * WORDS;
        assert_eq!(before[..others], state[..others], "views that were not trained");
        // The same step without the centring, for its own view's map.
        let moved = step(&mut gpu, CENTRE_EVERY - 1);
        gpu.device.write(&exposures, &before).expect("upload");
        let found = step(&mut gpu, CENTRE_EVERY);
        let mut wanted = maps(&moved);
        exposure::centre(&mut wanted);
        for (found, wanted) in maps(&found).iter().zip(&wanted) {
            close("map", &found.map, &wanted.map, 1e-5, 1e-5);
        }
        let untouched = |words: &[f32]| {
            words[..cameras as usize * WORDS]
                .chunks_exact(WORDS)
                .map(|w| w[VALUES..].to_vec())
                .collect::<Vec<_>>()
        };
        assert_eq!(untouched(&found), untouched(&moved), "moments and numbers of steps");
        gpu.assert_valid();
    }
}

/// Of several cameras the responses are centred with the maps, and of one alone there is none.
#[test]
fn responses_say_what_cameras_differ_by() {
    let scene = Scene {
        seed: 93,
        size: [40, 30],
        count: 60,
        ..Scene::default()
    };
    let (model, target) = (scene.model(), scene.target());
    for cameras in [1_u32, 2, 30] {
        let mut c = capacities(&scene);
        (c.cameras, c.photo_cameras) = (cameras, cameras);
        let mut gpu = Gpu::new(&c, &variants(Reduction::Segmented), train_step, |_| Vec::new());
        let exposures = state_of(&gpu);
        let photos: Vec<PhotoStart> = (0..cameras)
            .map(|camera| PhotoStart {
                camera,
                ..PhotoStart::default()
            })
            .collect();
        let begin = cameras as usize * WORDS;
        let mut state = start(&photos, cameras);
        for (camera, words) in (0..).zip(state[begin..].chunks_exact_mut(OF_CAMERA_WORDS)) {
            let several = if cameras > 1 { OF_CAMERA } else { 3 };
            for (k, value) in (0..).zip(&mut words[..several]) {
                *value = 0.3 * uniform::<f32>(8, camera, k, 1) - 0.1;
            }
        }
        let found = [CENTRE_EVERY - 1, CENTRE_EVERY].map(|iteration| {
            gpu.device.write(&exposures, &state).expect("upload");
            gpu.load(&model);
            let mut u = uniforms(&scene.camera(), scene.sh_degree, iteration);
            (u.view, u.camera_position[3]) = (cameras - 1, 0.02);
            assert_eq!(gpu.run(0, &u, &target).stalled, 0);
            let words: Vec<f32> = gpu.read(exposures, state.len());
            let values = |words: &[f32]| exposure::CameraState::<f32> {
                values: std::array::from_fn(|k| words[k]),
                ..exposure::CameraState::new()
            };
            let of_cameras = words[begin..].chunks_exact(OF_CAMERA_WORDS).map(values);
            of_cameras.collect::<Vec<_>>()
        });
        let [mut wanted, found] = found;
        if cameras > 1 {
            exposure::centre_responses(&mut wanted);
        }
        for (found, wanted) in found.iter().zip(&wanted) {
            close("response", &found.values, &wanted.values, 1e-5, 1e-5);
            let has_response = found.values[3..].iter().any(|value| *value != 0.0);
            assert_eq!(has_response, cameras > 1);
        }
        gpu.assert_valid();
    }
}
