//! Agreement of blended planes and depth maps on the device, and its gradient by planes, against the twins.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use kiln_gpu::memory::Gpu;
use kiln_kernels::counters::Counters;
use kiln_kernels::plane_loss::{self, Kind, PLANES, PlaneLossIo};
use kiln_kernels::surface_depth;
use kiln_kernels::views::Surface;
use kiln_kernels::{prepare_args, uniforms::StepUniforms};
use kiln_program::Program;
use kiln_tests::compare::{close, same};
use kiln_tests::gpu::{assert_valid, open};
use kiln_tests::scenes::Scene;
use kiln_tests::twin::uniforms;
use kiln_twins::gaussian::View;
use kiln_twins::plane_loss::{edge_weights, plane_gather, plane_loss};
use kiln_twins::rng::uniform;
use kiln_twins::step::target_from_u8;
use kiln_twins::surface::{Blended, Plane, pixel_ray};

use super::planes::{Ground, flat, in_f64};

const WEIGHT: f32 = 0.7;
/// No multiples of a tile, one pixel wide or high, and too small for a normal.
const SIZES: [[u32; 2]; 7] = [[64, 48], [37, 51], [16, 17], [1, 40], [50, 1], [2, 2], [3, 3]];

fn unit(v: [f32; 3]) -> [f32; 3] {
    let length = v.iter().map(|v| v * v).sum::<f32>().sqrt();
    v.map(|v| v / length)
}

/// A wavy surface of slanted planes: pixels that hardly anything covers, and planes seen edge-on, have no depth.
fn blended(view: &View<f32>) -> Vec<Blended<f32>> {
    let [width, height] = view.size_px;
    let random = |i: u32, channel: u32| uniform::<f32>(23, 0, i, channel) - 0.5;
    let pixel = |i: u32| {
        let [x, y] = [i % width, i / width];
        let cover = if i % 37 == 11 { 0.2 } else { 0.8 + 0.3 * random(i, 0) };
        let edge_on = i % 53 == 29;
        let n = unit(if edge_on {
            [0.99, 0.0, -0.01]
        } else {
            [0.4 * random(i, 1), 0.4 * random(i, 2), -1.0]
        });
        let ray = pixel_ray(view, [x as f32, y as f32]);
        let z = 4.0 + (0.5 * x as f32).sin() + 0.1 * y as f32 + 0.05 * random(i, 3);
        let along: f32 = (0..3).map(|k| n[k] * ray[k]).sum();
        Blended {
            plane: Plane {
                normal: n.map(|n| cover * n),
                distance: -cover * z * along,
            },
            transmittance: 1.0 - cover,
            ..Blended::default()
        }
    };
    (0..width * height).map(pixel).collect()
}

/// A device with the passes of the loss and nothing before them.
struct Passes {
    gpu: Gpu,
    program: Program,
    ground: Ground,
}

impl Passes {
    fn new(masked: bool) -> Self {
        let mut ground = Ground::new(&SIZES, masked);
        let (max_pixels, max_tiles) = (ground.capacities.max_pixels, ground.capacities.max_tiles);
        let io = PlaneLossIo {
            kind: Kind::Weighted,
            steepest: ground.arena("steepest", 4),
            sums: ground.arena("sums", 4 * u64::from(max_tiles)),
        };
        let mut program = Program::new("plane loss");
        let (made, surface) = (ground.made(), &ground.surface);
        let (shared, pixels) = (&ground.tensors.shared, &ground.tensors.pixels);
        program.hold(&made);
        prepare_args::record(&mut program, shared, &ground.tensors.chunks);
        surface_depth::record(&mut program, shared, pixels, surface, PLANES, max_pixels);
        plane_loss::record(&mut program, shared, pixels, surface, &io);
        program.hold(&made);
        program.hold(&[surface.map, surface.normal_gradient, surface.gradient]);
        let table = std::mem::take(&mut ground.table);
        let gpu = Gpu::new(&open(), table, &[&program], 1 << 30).unwrap();
        Self { gpu, program, ground }
    }

    /// Depth map, gradients by normals and by planes, and the counters.
    fn run(&mut self, u: &StepUniforms, blended: &[Blended<f32>], photo: &[u8]) -> ([Vec<[f32; 4]>; 3], Counters) {
        let Self { gpu, program, ground } = self;
        ground.show(gpu, u, blended, photo);
        let counters = ground.run(gpu, program, Counters::default());
        let Surface {
            map,
            normal_gradient,
            gradient,
            ..
        } = ground.surface;
        let found = [map, normal_gradient, gradient].map(|view| gpu.read(&view, blended.len()).unwrap());
        (found, counters)
    }
}

#[test]
fn losses_and_gradients_follow_the_twins() {
    for masked in [false, true] {
        let mut passes = Passes::new(masked);
        for size in SIZES {
            let scene = Scene {
                seed: 29,
                size,
                ..Scene::default()
            };
            let camera = scene.camera();
            let mut u = uniforms(&camera, 0, 1);
            u.normals_weight = WEIGHT;
            let mut photo = if masked { scene.masked_target() } else { scene.target() };
            photo.resize(photo.len().next_multiple_of(4), 0);
            let blended = blended(&View::new(&camera));
            let (found, counters) = passes.run(&u, &blended, &photo);
            let (again, _) = passes.run(&u, &blended, &photo);
            for (found, again) in found.iter().zip(&again) {
                same("the same twice", found, again);
            }

            // The twins go on from the device's depth map, so that what they differ in is these passes' own.
            let view = View::<f64>::new(&camera);
            let wide = |v: f32| f64::from(v);
            let map: Vec<(f64, [f64; 3])> = found[0]
                .iter()
                .map(|m| (wide(m[0]), [m[1], m[2], m[3]].map(wide)))
                .collect();
            let blended: Vec<Blended<f64>> = blended.iter().map(in_f64).collect();
            let mask = scene.mask();
            let weights = edge_weights(size, &target_from_u8(&scene.target()), |i| !masked || mask[i]);
            let wanted = plane_loss(&blended, &map, &weights, &view, WEIGHT.into());
            let what = |what: &str| format!("{what}, {size:?}, masks: {masked}");
            let (mean, total) = (f64::from(counters.normals), f64::from(counters.loss));
            assert!((mean - wanted.mean).abs() <= 1e-5 * wanted.mean, "{}", what("mean"));
            assert!((total - wanted.total).abs() <= 1e-5 * wanted.total, "{}", what("total"));
            let narrow = |v: f64| v as f32;
            let by_normal: Vec<f32> = wanted
                .by_normal
                .iter()
                .flat_map(|(c, w)| [c[0], c[1], c[2], *w].map(narrow))
                .collect();
            let found_flat = found[1].as_flattened();
            close(&what("gradient by normals"), found_flat, &by_normal, 1e-2, 1e-4);
            let by_plane = plane_gather(&blended, &map, &wanted.by_normal, &view);
            let by_plane: Vec<f32> = by_plane.iter().flat_map(|plane| flat(plane).map(narrow)).collect();
            close(
                &what("gradient by planes"),
                found[2].as_flattened(),
                &by_plane,
                1e-2,
                1e-4,
            );
            if size == SIZES[0] {
                let none = map.iter().filter(|(z, _)| *z == 0.0).count();
                let owing = wanted.by_normal.iter().filter(|(_, w)| *w > 0.0).count();
                assert!(none > 100 && owing > 1000, "{none} {owing}");
            }
        }
        assert_valid(passes.gpu.device());
    }
}

/// A stalled view adds nothing to the loss.
#[test]
fn a_stalled_view_has_no_loss() {
    let scene = Scene::default();
    let camera = scene.camera();
    let mut passes = Passes::new(false);
    let mut u = uniforms(&camera, 0, 1);
    u.normals_weight = WEIGHT;
    let blended = blended(&View::new(&camera));
    let stalled = Counters {
        stalled: 2,
        ..Counters::default()
    };
    let (_, before) = passes.run(&u, &blended, &scene.target());
    assert!(before.normals > 0.0);
    let after = passes.ground.run(&mut passes.gpu, &passes.program, stalled);
    assert_eq!((after.normals, after.loss, after.stalled), (0.0, 0.0, 2));
    assert_valid(passes.gpu.device());
}
