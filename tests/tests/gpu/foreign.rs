//! A model as gsplat draws it: `tests/golden/gsplat`, with the script that recorded it.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use kiln::export::read_ply;
use kiln::step::{Capacities, evaluate_view};
use kiln_kernels::uniforms::{StepUniforms, flags};
use kiln_kernels::views::{Reduction, Threads};
use kiln_scene::Camera;
use kiln_tests::gpu::{Gpu, Keep, variants};
use serde_json::Value;

/// Numbers of a list, as the camera has them.
fn numbers<const N: usize>(list: &Value) -> [f32; N] {
    std::array::from_fn(|at| list[at].as_f64().expect("a number") as f32)
}

/// Both kernels of gsplat 1.5.3, on the rasterisers of either kind. Programs differ in where they cut a splat off: gsplat at
/// the tiles that 3.33 standard deviations reach and Kiln at those of 3, where a splat weighs 1.1 % of its opacity at most.
#[test]
fn a_model_looks_as_in_gsplat() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/gsplat");
    let file = |name: &str| std::fs::read(folder.join(name)).expect("a recorded file");
    let golden: Value = serde_json::from_slice(&file("golden.json")).expect("JSON");
    let (model, _) = read_ply(&folder.join("model.ply")).expect("a model");
    let size: [u32; 2] = numbers(&golden["size_px"]).map(|side| side as u32);
    let focal: [f32; 2] = numbers(&golden["focal_px"]);
    let center: [f32; 2] = numbers(&golden["principal_point_px"]);
    let camera = Camera {
        width_px: size[0],
        height_px: size[1],
        fx: focal[0],
        fy: focal[1],
        cx: center[0],
        cy: center[1],
        rotation: std::array::from_fn(|row| numbers(&golden["rotation"][row])),
        translation: numbers(&golden["translation"]),
        lens: None,
    };
    let (background, variance) = (numbers(&golden["background"]), &golden["variance_px2"]);
    let [variance_px2] = numbers(&Value::from(vec![variance.clone()]));
    let n = u32::try_from(model.len()).expect("few");
    let capacities = Capacities::new(n, n, 40 * n, 3, [(camera.width_px, camera.height_px)]);
    let pixels = camera.width_px as usize * camera.height_px as usize;
    let mut pictures = Vec::new();
    for (name, classic) in [("classic", true), ("antialiased", false)] {
        let bytes = file(&format!("{name}.f32"));
        let wanted: Vec<f32> = bytes.chunks_exact(4).map(bytemuck::pod_read_unaligned).collect();
        assert_eq!(wanted.len(), 3 * pixels);
        for reduction in [Reduction::Segmented, Reduction::Atomic] {
            let variants = variants(reduction);
            let after = if variants.threads != Threads::Pixels {
                "rasterize.column"
            } else {
                "rasterize"
            };
            let mut gpu = Gpu::new(
                &capacities,
                &variants,
                |t| evaluate_view(t, &[]),
                |t| {
                    let view = t.pixels.image;
                    vec![Keep { view, after }]
                },
            );
            gpu.load(&model);
            let mut u = StepUniforms::for_camera(&camera, background, variance_px2);
            u.sh_degree = 3;
            u.flags = if classic { flags::CLASSIC } else { 0 };
            let status = gpu.run(0, &u, &vec![0; 3 * pixels]);
            assert_eq!(status.stalled, 0);
            let image: Vec<[f32; 4]> = gpu.kept(gpu.tensors.pixels.image, after, pixels);
            let found: Vec<f32> = image.iter().flat_map(|p| [p[0], p[1], p[2]]).collect();
            let differences = found.iter().zip(&wanted).map(|(a, b)| (a - b).abs());
            let (largest, sum) = differences.fold((0.0_f32, 0.0), |(most, sum), d| (most.max(d), sum + f64::from(d)));
            let mean = sum / wanted.len() as f64;
            assert!(
                mean < 5e-5 && largest < 0.012,
                "{name}, {reduction:?}: {mean} on average, {largest} at most"
            );
            gpu.assert_valid();
        }
        pictures.push(wanted);
    }
    // The two are different pictures: one kernel for the other would be noticed.
    let apart = pictures[0]
        .iter()
        .zip(&pictures[1])
        .map(|(a, b)| f64::from((a - b).abs()));
    assert!(apart.sum::<f64>() / pictures[0].len() as f64 > 1e-3);
}
