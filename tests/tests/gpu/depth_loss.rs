//! Agreement of renders and depth maps on the device, and its gradient by planes, against the twin.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use kiln::kernels::counters::Counters;
use kiln::kernels::depth_loss;
use kiln::kernels::fading::FadingWeight;
use kiln::kernels::views::{Reduction, Surface};
use kiln::kernels::{prepare_args, uniforms::StepUniforms};
use kiln::memory::Gpu;
use kiln::program::{Class, Program, Tag, TensorTable};
use kiln::scene::Photo;
use kiln::step::{Capacities, StepTensors};
use kiln::twins::depth_loss::{Mapped, depth_loss};
use kiln::twins::gaussian::View;
use kiln::twins::rng::uniform;
use kiln::twins::surface::{Blended, Plane, pixel_ray};
use kiln_tests::compare::{close, same};
use kiln_tests::gpu::{assert_valid, open, variants};
use kiln_tests::scenes::Scene;
use kiln_tests::twin::uniforms;

/// No multiples of a tile, one pixel wide or high, and odd numbers of pixels before the words.
const SIZES: [[u32; 2]; 5] = [[64, 48], [37, 51], [16, 17], [1, 40], [3, 3]];
/// Falls to a half in 1000 steps.
const WEIGHT: FadingWeight = FadingWeight {
    start: 0.8,
    decay: -0.000_693_147_2,
    from: ITERATION,
};
const ITERATION: u32 = 1000;
const UNIT: f32 = 0.23;

fn random(i: u32, channel: u32) -> f32 {
    uniform::<f32>(31, 0, i, channel)
}

/// Planes at depths from 2 to 8, and the depths where rays meet them; every 13th pixel has none.
fn planes(view: &View<f32>) -> (Vec<Plane<f32>>, Vec<f32>) {
    let [width, height] = view.size_px;
    (0..width * height)
        .map(|i| {
            let ray = pixel_ray(view, [(i % width) as f32, (i / width) as f32]);
            let normal = [0.4 * random(i, 0) - 0.2, 0.3 * random(i, 1), -0.8];
            let z = 2.0 + 6.0 * random(i, 2);
            let along: f32 = (0..3).map(|k| normal[k] * ray[k]).sum();
            let plane = Plane {
                normal,
                distance: -z * along,
            };
            (plane, if i % 13 == 5 { 0.0 } else { z })
        })
        .unzip()
}

/// A map's words: some near the planes, some far off, some of nothing.
fn words(depths: &[f32]) -> Vec<u32> {
    let word = |(i, z): (u32, &f32)| {
        let off = if i % 5 == 0 { 1.7 } else { 0.1 * random(i, 3) };
        let inverse = (1.0 / (UNIT * z.max(1.0)) + off) * 4096.0;
        let trust = (255.0 * random(i, 4)) as u32;
        if i % 11 == 3 { 0 } else { trust << 16 | inverse as u32 }
    };
    let mut words = vec![UNIT.to_bits()];
    words.extend((0..).zip(depths).map(word));
    words
}

fn mapped(word: u32) -> Mapped<f64> {
    Mapped {
        inverse: f64::from(word & 0xffff) / 4096.0,
        trust: f64::from(word >> 16) / 255.0,
    }
}

struct Passes {
    gpu: Gpu,
    program: Program,
    tensors: StepTensors,
    surface: Surface,
}

impl Passes {
    fn new(masked: bool, alone: bool) -> Self {
        let mut capacities = Capacities::new(256, 256, 256, 0, SIZES.map(|[w, h]| (w, h)));
        capacities.masked = masked;
        capacities.losses.depth = Some(WEIGHT);
        let mut table = TensorTable::default();
        let tensors = StepTensors::for_surfaces(&mut table, &capacities, &variants(Reduction::Segmented));
        let mut surface = tensors.pixels.surface.unwrap();
        let mut arena = |name: &str, bytes| table.add(name, Class::Arena, Tag::Pixels, bytes);
        surface.gradient = arena("gradient", 16 * u64::from(capacities.max_pixels));
        let sums = arena("sums", 4 * u64::from(capacities.max_tiles));
        let mut program = Program::new("depth loss");
        let made = [surface.plane, surface.map, surface.gradient];
        program.hold(&made);
        prepare_args::record(&mut program, &tensors.shared, &tensors.chunks);
        depth_loss::record(
            &mut program,
            &tensors.shared,
            &tensors.pixels,
            &surface,
            sums,
            WEIGHT,
            alone,
        );
        program.hold(&made);
        let gpu = Gpu::new(&open(), table, &[&program], 1 << 30).unwrap();
        Self {
            gpu,
            program,
            tensors,
            surface,
        }
    }

    /// Gradients by planes and the counters, where those of other losses were `before`.
    fn run(
        &mut self,
        u: &StepUniforms,
        (planes, depths): &(Vec<Plane<f32>>, Vec<f32>),
        photo: &[u8],
        before: f32,
    ) -> (Vec<[f32; 4]>, Counters) {
        let gpu = &mut self.gpu;
        let flat = |plane: &Plane<f32>| [plane.normal[0], plane.normal[1], plane.normal[2], plane.distance];
        let planes: Vec<[f32; 4]> = planes.iter().map(flat).collect();
        let map: Vec<[f32; 4]> = depths.iter().map(|z| [*z, 0.0, 0.0, 0.0]).collect();
        gpu.write(&self.tensors.shared.counters, &[Counters::default()])
            .unwrap();
        gpu.write(&self.tensors.shared.uniforms, &[*u]).unwrap();
        gpu.write(&self.surface.plane, &planes).unwrap();
        gpu.write(&self.surface.map, &map).unwrap();
        gpu.write(&self.surface.gradient, &vec![[before; 4]; planes.len()])
            .unwrap();
        gpu.write(&self.tensors.pixels.target, photo).unwrap();
        gpu.run(&self.program).unwrap();
        let found = gpu.read(&self.surface.gradient, planes.len()).unwrap();
        let counters: Vec<Counters> = gpu.read(&self.tensors.shared.counters, 1).unwrap();
        (found, counters[0])
    }
}

#[test]
fn losses_and_gradients_follow_the_twin() {
    for (masked, alone) in [(false, true), (true, false)] {
        let mut passes = Passes::new(masked, alone);
        for size in SIZES {
            let scene = Scene {
                seed: 29,
                size,
                ..Scene::default()
            };
            let camera = scene.camera();
            let mut u = uniforms(&camera, 0, 1);
            u.iteration = ITERATION;
            let (planes, depths) = planes(&View::new(&camera));
            let words = words(&depths);
            let mask: Vec<u8> = scene.mask().iter().map(|counts| u8::from(*counts) * 255).collect();
            let photo = Photo::with_maps(scene.target(), masked.then_some(&mask[..]), Some(&words), None);
            let mut bytes = photo.bytes().to_vec();
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            let before = 0.25;
            let made = (planes, depths);
            let (found, counters) = passes.run(&u, &made, &bytes, before);
            let (again, _) = passes.run(&u, &made, &bytes, before);
            same("the same twice", &found, &again);
            let shift = if alone { 0.0 } else { before };
            u.iteration = ITERATION - 1;
            let (early, nothing) = passes.run(&u, &made, &bytes, before);
            same("before it begins", &early, &vec![[shift; 4]; early.len()]);
            assert_eq!(nothing.loss.to_bits(), 0);

            let view = View::<f64>::new(&camera);
            let wide = |v: f32| f64::from(v);
            let blended: Vec<Blended<f64>> = made
                .0
                .iter()
                .map(|plane| Blended {
                    plane: Plane {
                        normal: plane.normal.map(wide),
                        distance: plane.distance.into(),
                    },
                    ..Blended::default()
                })
                .collect();
            let map: Vec<(f64, [f64; 3])> = made.1.iter().map(|z| (wide(*z), [0.0; 3])).collect();
            let of_map: Vec<Mapped<f64>> = words[1..]
                .iter()
                .zip(&mask)
                .map(|(word, mask)| {
                    if masked && *mask == 0 {
                        Mapped::default()
                    } else {
                        mapped(*word)
                    }
                })
                .collect();
            let weight = f64::from(WEIGHT.start) / 2.0;
            let (total, wanted) = depth_loss(&blended, &map, &of_map, UNIT.into(), &view, weight);
            let what = |what: &str| format!("{what}, {size:?}, masks: {masked}");
            let loss = f64::from(counters.loss);
            assert!((loss - total).abs() <= 1e-4 * total, "{}: {loss} {total}", what("loss"));
            let wanted: Vec<f32> = wanted
                .iter()
                .flat_map(|plane| [plane.normal[0], plane.normal[1], plane.normal[2], plane.distance])
                .map(|v| v as f32 + shift)
                .collect();
            close(&what("gradient by planes"), found.as_flattened(), &wanted, 1e-3, 1e-6);
            if size == SIZES[0] {
                assert!(wanted.iter().filter(|v| (**v - shift).abs() > 0.0).count() > 5000);
            }
        }
        assert_valid(passes.gpu.device());
    }
}
