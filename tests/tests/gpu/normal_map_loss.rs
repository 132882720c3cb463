//! Agreement of renders and normal maps on the device, and its gradient by blended normals, against the twin.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use kiln::kernels::counters::Counters;
use kiln::kernels::fading::FadingWeight;
use kiln::kernels::normal_map_loss::{self, Recorded};
use kiln::kernels::views::{Reduction, Surface};
use kiln::kernels::{prepare_args, uniforms::StepUniforms};
use kiln::math::{norm, scale};
use kiln::memory::Gpu;
use kiln::program::{Class, Program, Tag, TensorTable};
use kiln::scene::Photo;
use kiln::step::{Capacities, StepTensors};
use kiln::twins::normal_map_loss::{Mapped, normal_map_loss};
use kiln::twins::rng::uniform;
use kiln::twins::surface::{Blended, Plane};
use kiln_tests::child;
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

fn random(i: u32, channel: u32) -> f32 {
    uniform::<f32>(37, 0, i, channel)
}

/// Blended normals and the light that is left: some that cancel, some that hardly block any.
fn blended(pixels: u32) -> Vec<([f32; 4], f32)> {
    let pixel = |i: u32| {
        let size = if i % 17 == 2 { 0.05 } else { 1.0 };
        let normal = [random(i, 0) - 0.5, random(i, 1) - 0.5, -0.3 - 0.5 * random(i, 2)];
        let [x, y, z] = normal.map(|v| size * v);
        let left = if i % 13 == 5 { 0.6 } else { 0.45 * random(i, 3) };
        ([x, y, z, 3.0], left)
    };
    (0..pixels).map(pixel).collect()
}

/// A map's words: some of nothing.
fn words(pixels: u32) -> Vec<u32> {
    let word = |i: u32| {
        let v = [random(i, 4) - 0.5, random(i, 5) - 0.5, random(i, 6) - 0.9];
        let [x, y, z] = scale(v, 127.0 / norm(v)).map(|v| (v.round() as i8).cast_unsigned());
        let trust = (255.0 * random(i, 7)) as u8;
        if i % 11 == 3 {
            0
        } else {
            u32::from_le_bytes([x, y, z, trust])
        }
    };
    (0..pixels).map(word).collect()
}

fn mapped(word: u32) -> Mapped<f64> {
    let [x, y, z, trust] = word.to_le_bytes();
    if word == 0 {
        return Mapped::default();
    }
    let v = [x, y, z].map(|byte| f64::from(byte.cast_signed()));
    Mapped {
        normal: scale(v, 1.0 / norm(v)),
        trust: f64::from(trust) / 255.0,
    }
}

struct Passes {
    gpu: Gpu,
    program: Program,
    tensors: StepTensors,
    surface: Surface,
}

impl Passes {
    fn new(masked: bool, alone: bool, behind_depths: bool) -> Self {
        let mut capacities = Capacities::new(256, 256, 256, 0, SIZES.map(|[w, h]| (w, h)));
        capacities.masked = masked;
        capacities.losses.normal_map = Some(WEIGHT);
        capacities.losses.depth = behind_depths.then_some(WEIGHT);
        let mut table = TensorTable::default();
        let tensors = StepTensors::for_surfaces(&mut table, &capacities, &variants(Reduction::Segmented));
        let mut surface = tensors.pixels.surface.unwrap();
        let mut arena = |name: &str, bytes| table.add(name, Class::Arena, Tag::Pixels, bytes);
        surface.gradient = arena("gradient", 16 * u64::from(capacities.max_pixels));
        let sums = arena("sums", 4 * u64::from(capacities.max_tiles));
        let mut program = Program::new("normal map loss");
        let made = [surface.plane, tensors.pixels.image, surface.gradient];
        program.hold(&made);
        prepare_args::record(&mut program, &tensors.shared, &tensors.chunks);
        let recorded = Recorded {
            weight: WEIGHT,
            alone,
            behind_depths,
        };
        normal_map_loss::record(&mut program, &tensors.shared, &tensors.pixels, &surface, sums, recorded);
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
        pixels: &[([f32; 4], f32)],
        photo: &[u8],
        before: f32,
    ) -> (Vec<[f32; 4]>, Counters) {
        let gpu = &mut self.gpu;
        let planes: Vec<[f32; 4]> = pixels.iter().map(|(plane, _)| *plane).collect();
        let image: Vec<[f32; 4]> = pixels.iter().map(|(_, left)| [0.2, 0.3, 0.4, *left]).collect();
        gpu.write(&self.tensors.shared.counters, &[Counters::default()])
            .unwrap();
        gpu.write(&self.tensors.shared.uniforms, &[*u]).unwrap();
        gpu.write(&self.surface.plane, &planes).unwrap();
        gpu.write(&self.tensors.pixels.image, &image).unwrap();
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
    follow_the_twin();
}

#[test]
fn every_subgroup_width_follows_the_twin() {
    if let Some(role) = child::role() {
        let size = open().caps().subgroup_size;
        assert_eq!(size.to_string(), role, "the driver's subgroup size");
        return follow_the_twin();
    }
    for (width, size) in [("128", "4"), ("512", "16")] {
        child::run_with_vectors(module_path!(), "every_subgroup_width_follows_the_twin", size, width);
    }
}

fn follow_the_twin() {
    for (masked, alone, behind_depths) in [(false, true, false), (true, false, true), (false, false, true)] {
        let mut passes = Passes::new(masked, alone, behind_depths);
        for size in SIZES {
            let scene = Scene {
                seed: 29,
                size,
                ..Scene::default()
            };
            let pixels = size[0] * size[1];
            let mut u = uniforms(&scene.camera(), 0, 1);
            u.iteration = ITERATION;
            let (made, words) = (blended(pixels), words(pixels));
            let mask: Vec<u8> = scene.mask().iter().map(|counts| u8::from(*counts) * 255).collect();
            // words of depth that would be normals, were they read as such
            let depths = vec![0x7f7f_7f7f; pixels as usize + 1];
            let photo = Photo::with_maps(
                scene.target(),
                masked.then_some(&mask[..]),
                behind_depths.then_some(&depths[..]),
                Some(&words),
            );
            let mut bytes = photo.bytes().to_vec();
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            let before = 0.25;
            let (found, counters) = passes.run(&u, &made, &bytes, before);
            let (again, _) = passes.run(&u, &made, &bytes, before);
            same("the same twice", &found, &again);
            let shift = if alone { 0.0 } else { before };
            u.iteration = ITERATION - 1;
            let (early, nothing) = passes.run(&u, &made, &bytes, before);
            same("before it begins", &early, &vec![[shift; 4]; early.len()]);
            assert_eq!(nothing.loss.to_bits(), 0);

            let twin: Vec<Blended<f64>> = made
                .iter()
                .map(|([x, y, z, distance], left)| Blended {
                    plane: Plane {
                        normal: [x, y, z].map(|v| f64::from(*v)),
                        distance: (*distance).into(),
                    },
                    transmittance: (*left).into(),
                    ..Blended::default()
                })
                .collect();
            let of_map: Vec<Mapped<f64>> = words
                .iter()
                .zip(&mask)
                .map(|(word, mask)| match masked && *mask == 0 {
                    true => Mapped::default(),
                    false => mapped(*word),
                })
                .collect();
            let weight = f64::from(WEIGHT.start) / 2.0;
            let (total, wanted) = normal_map_loss(&twin, &of_map, weight);
            let what = |what: &str| format!("{what}, {size:?}, masks: {masked}, depths: {behind_depths}");
            let loss = f64::from(counters.loss);
            assert!((loss - total).abs() <= 1e-4 * total, "{}: {loss} {total}", what("loss"));
            let wanted: Vec<f32> = wanted
                .iter()
                .flat_map(|[x, y, z]| [*x, *y, *z, 0.0])
                .map(|v| v as f32 + shift)
                .collect();
            close(&what("gradient by normals"), found.as_flattened(), &wanted, 1e-3, 1e-6);
            if size == SIZES[0] {
                assert!(wanted.iter().filter(|v| (**v - shift).abs() > 0.0).count() > 4000);
            }
        }
        assert_valid(passes.gpu.device());
    }
}
