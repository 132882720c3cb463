//! Regularizers and noise of a training step on the device against the CPU references.

use kiln::step::{Capacities, train_step};
use kiln_gaussians::Gaussians;
use kiln_kernels::uniforms::{Group, StepUniforms, flags};
use kiln_kernels::views::Reduction;
use kiln_tests::gpu::{Gpu, variants};
use kiln_tests::scenes::Scene;
use kiln_tests::twin::uniforms;
use kiln_twins::gaussian::Gaussian;
use kiln_twins::position_noise as noise_twin;
use kiln_twins::regularize::{Weights, regularize};

/// A scene whose camera looks away from it: image gradients are zero and parameters move for other reasons.
fn unseen() -> (Gaussians, StepUniforms, Vec<u8>) {
    let scene = Scene {
        count: 700,
        opacities: [0.001, 0.4],
        ..Scene::default()
    };
    let mut camera = scene.camera();
    camera.translation[2] = -100.0;
    let mut u = uniforms(&camera, scene.sh_degree, 1);
    u.seed = 77;
    (scene.model(), u, scene.target())
}

fn gpu(explores: bool) -> Gpu {
    let mut c = Capacities::new(700, 700, 6000, 3, [(64, 48)]);
    c.chunk = 512;
    Gpu::new(
        &c,
        &variants(Reduction::Segmented),
        |t| {
            let mut tensors = t.clone();
            tensors.position_noise = explores;
            train_step(&tensors)
        },
        |_| Vec::new(),
    )
}

#[test]
fn regularizers_reach_every_gaussian() {
    let (model, mut u, target) = unseen();
    (u.opacity_weight, u.scale_weight) = (0.3, 0.7);
    let mut device = gpu(false);
    device.load(&model);
    assert_eq!(device.run(0, &u, &target).visible, 0);
    let gaussians: Vec<Gaussian<f32>> = Gaussian::from_model(&model);
    let mut wanted = vec![Gaussian::ZERO; model.len()];
    let weights = Weights {
        opacity: 0.3,
        scale: 0.7,
    };
    regularize(&gaussians, &mut wanted, weights);
    // Zero before, the first moments are a tenth of the gradients.
    let first = device.planes(|c| c.geometry_m, 11, model.len());
    for (id, (found, wanted)) in first.iter().zip(&wanted).enumerate() {
        let wanted = wanted.values();
        for (p, found) in found.iter().enumerate() {
            let wanted = (1.0 - u.beta1) * wanted[p];
            assert!(
                (found - wanted).abs() <= 1e-5 * wanted.abs(),
                "Gaussian {id} value {p}: {found} for {wanted}"
            );
            assert_eq!(wanted != 0.0, (7..11).contains(&p));
        }
    }
    device.assert_valid();
}

#[test]
fn noise_moves_the_faint_and_no_skipped_step() {
    let (model, mut u, target) = unseen();
    u.noise = 3.0;
    let mut device = gpu(true);
    device.load(&model);
    let before = device.model();
    // The last step of a run updates nothing, and one may be stopped at the centres alone.
    for (skip, update) in [(Group::Means.bit(), flags::UPDATE), (0, 0)] {
        let mut u = u;
        u.adam_skip_mask = skip;
        u.flags = u.flags & !flags::UPDATE | update;
        device.run(0, &u, &target);
        assert_eq!(device.model().means, before.means);
    }
    device.load(&model);
    device.run(1, &u, &target);
    let after = device.model();
    let mut moved = 0;
    for (id, gaussian) in Gaussian::<f32>::from_model(&model).iter().enumerate() {
        let offset = noise_twin::offset(gaussian, 3.0, 77, 1, id as u32);
        for (axis, offset) in offset.into_iter().enumerate() {
            let (was, is) = (before.means[id][axis], after.means[id][axis]);
            assert!(
                (is - was - offset).abs() <= 1e-5 * offset.abs() + 1e-6,
                "Gaussian {id} axis {axis}: moved by {}, not {offset}",
                is - was
            );
            moved += u32::from(is != was);
        }
    }
    assert!((30..2000).contains(&moved), "{moved}");
    device.assert_valid();

    let mut still = gpu(false);
    still.load(&model);
    still.run(0, &u, &target);
    assert_eq!(still.model().means, before.means, "without the pass there is no noise");
    still.assert_valid();
}
