//! Whole training steps on the device against the CPU reference.

use kiln::kernels::views::Reduction;
use kiln::step::{Capacities, train_step};
use kiln_tests::compare::close;
use kiln_tests::gpu::{Gpu, Keep, variants};
use kiln_tests::scenes::Scene;
use kiln_tests::twin::{Twin, uniforms};

fn whole_step(scene: &Scene, reduction: Reduction, chunk: u32) {
    let mut capacities = Capacities::new(
        scene.count,
        scene.count,
        40 * scene.count,
        scene.sh_degree,
        [(scene.size[0], scene.size[1])],
    );
    capacities.chunk = chunk;
    let mut gpu = Gpu::new(&capacities, &variants(reduction), train_step, |t| {
        let raster = if reduction == Reduction::Segmented {
            "rasterize.column"
        } else {
            "rasterize"
        };
        vec![
            Keep {
                view: t.pixels.image,
                after: raster,
            },
            Keep {
                view: t.pixels.gradient,
                after: "loss_gradient",
            },
        ]
    });
    let (model, camera, target) = (scene.model(), scene.camera(), scene.target());
    gpu.load(&model);
    let n = model.len();
    let mut twin = Twin::new(&model);
    let status = gpu.run(0, &uniforms(&camera, scene.sh_degree, 1), &target);
    let wanted = twin.train(&camera, &target, 1);
    assert_eq!(status.stalled, 0, "{status:?}");
    eprintln!("{status:?}");
    let pixels = (scene.size[0] * scene.size[1]) as usize;
    let image: Vec<[f32; 4]> = gpu.kept(gpu.tensors.pixels.image, pixels);
    let rgb: Vec<f32> = image.iter().flat_map(|p| [p[0], p[1], p[2]]).collect();
    close("image", &rgb, wanted.forward.raster.rgb.as_flattened(), 1e-4, 1e-3);
    let gradient: Vec<[f32; 4]> = gpu.kept(gpu.tensors.pixels.gradient, pixels);
    let rgb: Vec<f32> = gradient.iter().flat_map(|p| [p[0], p[1], p[2]]).collect();
    close("image gradient", &rgb, wanted.loss.gradient.as_flattened(), 1e-6, 1e-3);
    assert_eq!(status.visible as usize, wanted.forward.visible.len());
    assert_eq!(status.intersections as usize, wanted.forward.lists.visible.len());
    close("loss", &[status.loss], &[wanted.loss.total], 1e-5, 1e-4);
    let first = gpu.values(|c| c.geometry_m, |c| c.sh_m, n);
    let names = [
        ("mean", 0..3),
        ("quat", 3..7),
        ("scale", 7..10),
        ("opacity", 10..11),
        ("sh0", 11..14),
    ];
    for (name, span) in names.into_iter().chain([("sh rest", 14..first[0].len())]) {
        let found: Vec<f32> = first.iter().flat_map(|v| v[span.clone()].to_vec()).collect();
        let wanted: Vec<f32> = twin
            .moments
            .iter()
            .flat_map(|m| m.first.values()[span.clone()].to_vec())
            .collect();
        if !span.is_empty() {
            eprintln!("{name} {:e}", kiln_tests::compare::relative(&found, &wanted));
            close(name, &found, &wanted, 1e-4, 2e-3);
        }
    }
    gpu.assert_valid();
}

#[test]
fn segmented() {
    whole_step(&Scene::default(), Reduction::Segmented, 1024);
}

#[test]
fn atomic() {
    whole_step(&Scene::default(), Reduction::Atomic, 1024);
}
