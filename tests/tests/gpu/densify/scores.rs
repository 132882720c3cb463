//! Statistics of scores after whole steps on the device: errors splatted back, against the CPU reference.

use kiln::step::{Capacities, train_step};
use kiln_kernels::uniforms::flags;
use kiln_kernels::views::{Reduction, Threads, Variants};
use kiln_tests::gpu::{Gpu, variants};
use kiln_tests::scenes::Scene;
use kiln_tests::twin::{Twin, uniforms};
use kiln_twins::error_guided::splat_back;
use kiln_twins::step::target_from_u8;

fn close(found: f32, wanted: f32) -> bool {
    (found - wanted).abs() <= 2e-4 * wanted.abs() + 2e-5
}

#[test]
fn errors_and_gradients_take_turns_in_every_reduction() {
    let scene = Scene {
        seed: 41,
        size: [70, 45],
        ..Scene::default()
    };
    let (model, camera, target) = (scene.model(), scene.camera(), scene.target());
    let twin = Twin::new(&model);
    let out = twin.step(&camera, &target);
    let size = [camera.width_px, camera.height_px];
    let pixels = out.forward.raster.rgb.iter().zip(target_from_u8::<f32>(&target));
    let error: Vec<f32> = pixels
        .map(|(x, y)| (0..3).map(|c| (x[c] - y[c]).abs()).sum::<f32>() / 3.0)
        .collect();
    let (visible, lists, raster) = (&out.forward.visible, &out.forward.lists, &out.forward.raster);
    let errors = splat_back(size, visible, lists, raster, &error);
    for reduction in [Reduction::Segmented, Reduction::Atomic, Reduction::CompareExchange] {
        for threads in [Threads::Pixels, Threads::Columns] {
            let variants = Variants {
                threads,
                ..variants(reduction)
            };
            let mut c = Capacities::new(scene.count, scene.count, 20 * scene.count, scene.sh_degree, [(70, 45)]);
            c.chunk = 256;
            let step = |scores: bool| {
                let mut gpu = Gpu::new(
                    &c,
                    &variants,
                    |t| {
                        let mut tensors = t.clone();
                        tensors.pixels.scores = scores;
                        train_step(&tensors)
                    },
                    |_| Vec::new(),
                );
                gpu.load(&model);
                // Two views between events, the model as it is.
                for iteration in [1, 2, 3] {
                    let mut u = uniforms(&camera, scene.sh_degree, iteration);
                    u.flags = flags::STATISTICS | flags::SCORES;
                    assert_eq!(gpu.run(iteration % 3, &u, &target).stalled, 0);
                }
                gpu.assert_valid();
                gpu.planes(|c| c.statistics, 3, model.len())
            };
            let statistics = step(true);
            let mut shown = vec![false; model.len()];
            for (record, error) in visible.iter().zip(&errors) {
                let [found, pull, count] = statistics[record.id as usize][..] else {
                    unreachable!("three planes");
                };
                shown[record.id as usize] = true;
                // One even iteration and two odd ones.
                assert!(
                    close(found, *error) && count == 2.0 && pull >= 0.0,
                    "{reduction:?}, Gaussian {}: {found}, not {error}; {count} steps, {pull}",
                    record.id
                );
            }
            assert!(
                statistics.iter().any(|values| values[1] > 1e-3),
                "no gradient was added"
            );
            let mut others = statistics.iter().zip(&shown).filter(|(_, shown)| !**shown);
            assert!(others.all(|(values, _)| *values == [0.0; 3]), "only the visible count");
            // Without the constant nothing is splatted, which is what other strategies pay: nothing.
            let without = step(false);
            assert!(without.iter().all(|values| values[0] == 0.0));
        }
    }
    assert!(errors.iter().any(|e| *e > 0.5));
}
