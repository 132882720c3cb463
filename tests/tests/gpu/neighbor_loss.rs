//! Consistency with a neighbouring view on the device, and its gradient by planes, against the twin.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use kiln_gpu::memory::Gpu;
use kiln_kernels::counters::Counters;
use kiln_kernels::neighbor_loss::{self, Neighbor, PairIo, PairWeights, most_patches, sums_bytes};
use kiln_kernels::plane_loss::PLANES;
use kiln_kernels::prepare_args;
use kiln_kernels::surface_depth;
use kiln_kernels::uniforms::StepUniforms;
use kiln_program::{Class, Program, Tag};
use kiln_scene::Camera;
use kiln_scene::math::{add, dot, mat_mul, mat_vec, rotation, scale, sub, transpose};
use kiln_tests::compare::{close, same};
use kiln_tests::gpu::{assert_valid, open};
use kiln_tests::scenes::Scene;
use kiln_tests::twin::uniforms;
use kiln_twins::gaussian::View;
use kiln_twins::neighbor_loss::{Pair, Shown, grey, patch_pixels};
use kiln_twins::rng::uniform;
use kiln_twins::step::target_from_u8;
use kiln_twins::surface::{Blended, Plane, depth, pixel_ray};

use super::planes::{Ground, flat, in_f64};

const WEIGHTS: PairWeights = PairWeights {
    geometry: 0.3,
    photometric: 0.7,
};
const ITERATION: u32 = 3;
/// No multiples of a tile, one pixel wide or high, too small for a patch; the last has a patch for every other pixel.
const SIZES: [[u32; 2]; 7] = [[64, 48], [37, 51], [16, 17], [1, 40], [50, 1], [6, 7], [400, 300]];
/// Normal and distance of the plane that both views show, camera space of the trained one.
const PLANE: ([f64; 3], f64) = ([0.2, -0.1, -0.974], 3.9);

/// Beside the other camera, turned a little, with a larger focal length.
fn beside(camera: &Camera) -> Camera {
    let turn = rotation([0.997_743_f32, 0.01, 0.06, -0.02]);
    let narrow = mat_mul(turn, camera.rotation);
    Camera {
        fx: 1.1 * camera.fx,
        fy: 1.05 * camera.fy,
        rotation: narrow,
        translation: add(mat_vec(turn, camera.translation), [-0.35, 0.08, 0.15]),
        ..camera.clone()
    }
}

/// The plane as a view blends it, each pixel off by chance; some are hardly covered.
fn blended(of: &View<f64>, view: &View<f64>, seed: u32) -> Vec<Blended<f32>> {
    let turn = mat_mul(of.rotation, transpose(view.rotation));
    let shift = sub(of.translation, mat_vec(turn, view.translation));
    let normal = mat_vec(turn, PLANE.0);
    let distance = PLANE.1 - dot(normal, shift);
    let random = |i: u32, channel: u32| uniform::<f64>(seed, 0, i, channel) - 0.5;
    let pixel = |i: u32| {
        let cover = if i % 37 == 11 { 0.2 } else { 0.8 + 0.3 * random(i, 0) };
        let n = add(normal, scale([1, 2, 3].map(|c| random(i, c)), 0.03));
        let far = distance * (1.0 + 0.01 * random(i, 4));
        Blended {
            plane: Plane {
                normal: scale(n, cover).map(|n| n as f32),
                distance: (cover * far) as f32,
            },
            transmittance: (1.0 - cover) as f32,
            ..Blended::default()
        }
    };
    (0..of.size_px[0] * of.size_px[1]).map(pixel).collect()
}

/// Pixels that count in a masked photo: all but a ball and single ones far from each other, so that most patches are whole.
fn mask([width, height]: [u32; 2]) -> Vec<bool> {
    let counts = |i: u32| {
        let (x, y) = (
            (i % width) as f32 / width as f32 - 0.3,
            (i / width) as f32 / height as f32 - 0.6,
        );
        x * x + y * y > 0.02 && i % 997 != 5
    };
    (0..width * height).map(counts).collect()
}

/// What one view shows, as the device and the twin have it.
struct Seen {
    camera: Camera,
    view: View<f64>,
    blended: Vec<Blended<f32>>,
    photo: Vec<u8>,
    /// -1 where a pixel is masked.
    greys: Vec<f64>,
}

impl Seen {
    fn new(scene: &Scene, camera: Camera, trained: &View<f64>, masked: bool) -> Self {
        let view = View::<f64>::new(&camera);
        let blended = blended(&view, trained, scene.seed);
        let mut photo = scene.target();
        photo.resize(photo.len().next_multiple_of(4), 0);
        let mask = mask(scene.size);
        if masked {
            photo.extend(mask.iter().map(|counts| if *counts { 255 } else { 0 }));
            photo.resize(photo.len().next_multiple_of(4), 0);
        }
        let greys = target_from_u8::<f64>(&scene.target())
            .into_iter()
            .zip(mask)
            .map(|(color, counts)| if masked && !counts { -1.0 } else { grey(color) });
        Self {
            greys: greys.collect(),
            camera,
            view,
            blended,
            photo,
        }
    }

    fn wide(&self) -> Vec<Blended<f64>> {
        self.blended.iter().map(in_f64).collect()
    }

    /// What the neighbour keeps.
    fn shown(&self) -> Vec<Shown<f64>> {
        let width = self.view.size_px[0];
        let pixel = |(i, (blended, grey)): (u32, (Blended<f64>, &f64))| {
            let ray = pixel_ray(&self.view, [i % width, i / width].map(f64::from));
            let z = depth(&blended, ray, &PLANES);
            Shown {
                depth: if *grey < 0.0 { 0.0 } else { z },
                grey: *grey,
            }
        };
        (0..).zip(self.wide().into_iter().zip(&self.greys)).map(pixel).collect()
    }
}

/// What the device makes of two views.
struct Found {
    map: Vec<[f32; 2]>,
    depths: Vec<[f32; 4]>,
    pixels: Vec<[f32; 2]>,
    gradient: Vec<[f32; 4]>,
    means: [f32; 4],
    loss: f32,
}

/// A device with the passes of the loss and nothing before them.
struct Passes {
    gpu: Gpu,
    neighbor: Program,
    loss: Program,
    ground: Ground,
    io: PairIo,
}

impl Passes {
    fn new(masked: bool) -> Self {
        let mut ground = Ground::new(&SIZES, masked);
        let (max_pixels, max_tiles) = (ground.capacities.max_pixels, ground.capacities.max_tiles);
        let px = u64::from(max_pixels);
        let pixels = ground.arena("pixels", 8 * px);
        let patches = ground.arena("patches", 16 * u64::from(most_patches(max_pixels)));
        let sums = ground.arena("sums", sums_bytes(max_tiles, max_pixels));
        let mut small = |name: &str, bytes| ground.table.add(name, Class::Small, Tag::Other, bytes);
        let bytes = size_of::<StepUniforms>() as u64;
        let io = PairIo {
            neighbor: Neighbor {
                uniforms: small("neighbor_uniforms", bytes).slice(0, bytes),
                map: small("neighbor_map", 8 * px),
            },
            pixels,
            patches,
            sums,
            means: small("means", 16),
            weights: WEIGHTS,
        };
        let (made, surface) = (ground.made(), &ground.surface);
        let (shared, pixels) = (&ground.tensors.shared, &ground.tensors.pixels);
        let mut neighbor = Program::new("neighbour");
        neighbor.hold(&made);
        neighbor_loss::record_neighbor(&mut neighbor, shared, pixels, surface, &io.neighbor, max_pixels);
        neighbor.hold(&made);
        let mut loss = Program::new("loss");
        loss.hold(&made);
        prepare_args::record(&mut loss, shared, &ground.tensors.chunks);
        surface_depth::record(&mut loss, shared, pixels, surface, PLANES, max_pixels);
        neighbor_loss::record(&mut loss, shared, pixels, surface, &io, max_pixels, true);
        loss.hold(&made);
        loss.hold(&[surface.map, surface.normal_gradient, surface.gradient, io.pixels]);
        let table = std::mem::take(&mut ground.table);
        let gpu = Gpu::new(&open(), table, &[&neighbor, &loss], 1 << 30).unwrap();
        Self {
            gpu,
            neighbor,
            loss,
            ground,
            io,
        }
    }

    fn show(&mut self, seen: &Seen) {
        let u = uniforms(&seen.camera, 0, ITERATION);
        self.ground.show(&mut self.gpu, &u, &seen.blended, &seen.photo);
    }

    fn run(&mut self, trained: &Seen, neighbor: &Seen, counters: Counters) -> Found {
        self.show(neighbor);
        self.ground.run(&mut self.gpu, &self.neighbor, Counters::default());
        self.show(trained);
        let after = self.ground.run(&mut self.gpu, &self.loss, counters);
        let n = trained.blended.len();
        let (gpu, surface) = (&mut self.gpu, &self.ground.surface);
        let normal: Vec<[f32; 4]> = gpu.read(&surface.normal_gradient, n).unwrap();
        assert!(normal.iter().all(|by| *by == [0.0; 4]), "nothing is wanted of normals");
        Found {
            map: gpu.read(&self.io.neighbor.map, neighbor.blended.len()).unwrap(),
            depths: gpu.read(&surface.map, n).unwrap(),
            pixels: gpu.read(&self.io.pixels, n).unwrap(),
            gradient: gpu.read(&surface.gradient, n).unwrap(),
            means: gpu.read(&self.io.means, 1).unwrap()[0],
            loss: after.loss,
        }
    }
}

fn views(size: [u32; 2], masked: bool) -> [Seen; 2] {
    let scene = |seed| Scene {
        seed,
        size,
        focal: 1.2 * size[0].max(size[1]) as f32,
        ..Scene::default()
    };
    let camera = scene(29).camera();
    let view = View::<f64>::new(&camera);
    let neighbor = beside(&camera);
    [(29, camera), (31, neighbor)].map(|(seed, camera)| Seen::new(&scene(seed), camera, &view, masked))
}

#[test]
fn losses_and_gradients_follow_the_twin() {
    for masked in [false, true] {
        let mut passes = Passes::new(masked);
        for size in SIZES {
            let [trained, neighbor] = views(size, masked);
            let found = passes.run(&trained, &neighbor, Counters::default());
            let again = passes.run(&trained, &neighbor, Counters::default());
            same("the same twice", &found.gradient, &again.gradient);
            same("the same twice", &found.means, &again.means);

            let what = |what: &str| format!("{what}, {size:?}, masks: {masked}");
            let shown = neighbor.shown();
            let wanted: Vec<f32> = shown.iter().flat_map(|s| [s.depth as f32, s.grey as f32]).collect();
            close(&what("what is kept"), found.map.as_flattened(), &wanted, 1e-4, 1e-5);

            // The twin goes on from the device's depths, so that what they differ in is these passes' own.
            let shown: Vec<Shown<f64>> = found
                .map
                .iter()
                .map(|[depth, grey]| Shown {
                    depth: (*depth).into(),
                    grey: (*grey).into(),
                })
                .collect();
            let pair = Pair {
                view: &trained.view,
                greys: &trained.greys,
                neighbor: &neighbor.view,
                shown: &shown,
            };
            let map: Vec<(f64, [f64; 3])> = found.depths.iter().map(|m| (m[0].into(), [0.0; 3])).collect();
            let consistency = pair.consistency(&map);
            let weights: Vec<f32> = found.pixels.iter().map(|p| p[0]).collect();
            let narrow: Vec<f32> = consistency.iter().map(|w| *w as f32).collect();
            close(&what("weights"), &weights, &narrow, 1e-4, 1e-4);
            let patches = patch_pixels(size, (0, ITERATION));
            let wanted = pair.loss(&trained.wide(), &map, &consistency, &patches, WEIGHTS);
            for (found, wanted) in [
                (found.means[2], wanted.geometry),
                (found.means[3], wanted.photometric),
                (found.loss, wanted.total),
            ] {
                let found = f64::from(found);
                assert!(
                    (found - wanted).abs() <= 1e-3 * wanted,
                    "{}: {found} {wanted}",
                    what("means")
                );
            }
            let by_plane: Vec<f32> = wanted
                .gradient
                .iter()
                .flat_map(|plane| flat(plane).map(|v| v as f32))
                .collect();
            close(&what("gradient"), found.gradient.as_flattened(), &by_plane, 1e-2, 2e-3);
            if size == SIZES[0] {
                let [pixels, patches] = wanted.counts;
                assert!(pixels > 500 && patches > 100, "{pixels} {patches}");
                assert!(consistency.iter().filter(|w| **w == 0.0).count() > 300);
            }
        }
        assert_valid(passes.gpu.device());
    }
}

/// A stalled view adds nothing to the loss, and a stalled neighbour leaves what it kept before.
#[test]
fn a_stalled_view_has_no_loss() {
    let [trained, neighbor] = views([64, 48], false);
    let mut passes = Passes::new(false);
    let before = passes.run(&trained, &neighbor, Counters::default());
    assert!(before.loss > 0.0);
    let stalled = Counters {
        stalled: 2,
        ..Counters::default()
    };
    let after = passes.run(&trained, &neighbor, stalled);
    assert_eq!(after.loss, 0.0);
    assert!(after.gradient.iter().all(|by| *by == [0.0; 4]));
    passes.show(&trained);
    passes.ground.run(&mut passes.gpu, &passes.neighbor, stalled);
    let map: Vec<[f32; 2]> = passes.gpu.read(&passes.io.neighbor.map, before.map.len()).unwrap();
    same("what was kept", &map, &before.map);
    assert_valid(passes.gpu.device());
}
