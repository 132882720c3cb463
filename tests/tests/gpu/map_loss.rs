//! A loss of photos' maps alone on the device, for its tests: its passes, what they are shown, and what all such losses promise.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use kiln::step::{Capacities, StepTensors};
use kiln_gpu::memory::Gpu;
use kiln_kernels::counters::Counters;
use kiln_kernels::fading::FadingWeight;
use kiln_kernels::views::{Reduction, Surface};
use kiln_kernels::{prepare_args, uniforms::StepUniforms};
use kiln_program::{Class, Program, Span, Tag, TensorTable};
use kiln_scene::Photo;
use kiln_tests::compare::{close, same};
use kiln_tests::gpu::{assert_valid, open, variants};

/// No multiples of a tile, one pixel wide or high, and odd numbers of pixels before the words.
pub(crate) const SIZES: [[u32; 2]; 5] = [[64, 48], [37, 51], [16, 17], [1, 40], [3, 3]];
/// Falls to a half in 1000 steps.
pub(crate) const WEIGHT: FadingWeight = FadingWeight {
    start: 0.8,
    decay: -0.000_693_147_2,
    from: ITERATION,
};
pub(crate) const ITERATION: u32 = 1000;
/// Gradients of other losses.
const BEFORE: f32 = 0.25;

/// What a view shows, a pixel each.
pub(crate) struct Drawn {
    pub(crate) planes: Vec<[f32; 4]>,
    /// Depths and normals, or colours and the light that is left, whichever the loss reads.
    pub(crate) beside: Vec<[f32; 4]>,
}

/// Loss and gradient by planes.
pub(crate) struct Wanted {
    pub(crate) loss: f64,
    pub(crate) gradient: Vec<[f64; 4]>,
    /// Numbers of the gradient that are not 0, at least, where the view is the largest.
    pub(crate) counting: usize,
}

pub(crate) struct Passes {
    gpu: Gpu,
    program: Program,
    tensors: StepTensors,
    surface: Surface,
    alone: bool,
}

impl Passes {
    /// Passes of a loss that `record` adds; `alone` where no other loss came before.
    pub(crate) fn new(
        set: impl FnOnce(&mut Capacities),
        alone: bool,
        record: impl FnOnce(&mut Program, &StepTensors, &Surface, Span),
    ) -> Self {
        let mut capacities = Capacities::new(256, 256, 256, 0, SIZES.map(|[w, h]| (w, h)));
        set(&mut capacities);
        let mut table = TensorTable::default();
        let tensors = StepTensors::for_surfaces(&mut table, &capacities, &variants(Reduction::Segmented));
        let mut surface = tensors.pixels.surface.unwrap();
        let mut arena = |name: &str, bytes| table.add(name, Class::Arena, Tag::Pixels, bytes);
        surface.gradient = arena("gradient", 16 * u64::from(capacities.max_pixels));
        let sums = arena("sums", 4 * u64::from(capacities.max_tiles));
        let mut program = Program::new("loss of maps");
        let made = [surface.plane, surface.map, tensors.pixels.image, surface.gradient];
        program.hold(&made);
        prepare_args::record(&mut program, &tensors.shared, &tensors.chunks);
        record(&mut program, &tensors, &surface, sums);
        program.hold(&made);
        let gpu = Gpu::new(&open(), table, &[&program], 1 << 30).unwrap();
        Self {
            gpu,
            program,
            tensors,
            surface,
            alone,
        }
    }

    /// Gradients by planes and the counters.
    fn run(&mut self, u: &StepUniforms, drawn: &Drawn, photo: &[u8]) -> (Vec<[f32; 4]>, Counters) {
        let gpu = &mut self.gpu;
        let pixels = drawn.planes.len();
        gpu.write(&self.tensors.shared.counters, &[Counters::default()])
            .unwrap();
        gpu.write(&self.tensors.shared.uniforms, &[*u]).unwrap();
        gpu.write(&self.surface.plane, &drawn.planes).unwrap();
        gpu.write(&self.surface.map, &drawn.beside).unwrap();
        gpu.write(&self.tensors.pixels.image, &drawn.beside).unwrap();
        gpu.write(&self.surface.gradient, &vec![[BEFORE; 4]; pixels]).unwrap();
        gpu.write(&self.tensors.pixels.target, photo).unwrap();
        gpu.run(&self.program).unwrap();
        let found = gpu.read(&self.surface.gradient, pixels).unwrap();
        let counters: Vec<Counters> = gpu.read(&self.tensors.shared.counters, 1).unwrap();
        (found, counters[0])
    }

    /// Holds the loss and its gradient against what is wanted: the same twice, added to what was there, and nothing before it begins.
    pub(crate) fn follow(&mut self, mut u: StepUniforms, drawn: &Drawn, photo: &Photo, wanted: &Wanted, what: &str) {
        let mut bytes = photo.bytes().to_vec();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        u.iteration = ITERATION;
        let (found, counters) = self.run(&u, drawn, &bytes);
        let (again, _) = self.run(&u, drawn, &bytes);
        same("the same twice", &found, &again);
        let shift = if self.alone { 0.0 } else { BEFORE };
        u.iteration = ITERATION - 1;
        let (early, nothing) = self.run(&u, drawn, &bytes);
        same("before it begins", &early, &vec![[shift; 4]; early.len()]);
        assert_eq!(nothing.loss.to_bits(), 0);
        let (loss, total) = (f64::from(counters.loss), wanted.loss);
        assert!((loss - total).abs() <= 1e-4 * total, "loss, {what}: {loss} {total}");
        let gradient = wanted.gradient.as_flattened().iter().map(|v| *v as f32 + shift);
        let gradient: Vec<f32> = gradient.collect();
        let name = format!("gradient by planes, {what}");
        close(&name, found.as_flattened(), &gradient, 1e-3, 1e-6);
        if [u.width, u.height] == SIZES[0] {
            assert!(gradient.iter().filter(|v| (**v - shift).abs() > 0.0).count() > wanted.counting);
        }
    }

    pub(crate) fn assert_valid(&self) {
        assert_valid(self.gpu.device());
    }
}
