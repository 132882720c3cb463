//! Blended planes for losses that look at them: as the device and the twins have them, and the tensors that they are in.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use kiln::step::{Capacities, StepTensors};
use kiln_gpu::memory::Gpu;
use kiln_kernels::counters::Counters;
use kiln_kernels::uniforms::StepUniforms;
use kiln_kernels::views::{Reduction, Surface};
use kiln_program::{Class, Program, Span, Tag, TensorTable};
use kiln_tests::gpu::variants;
use kiln_twins::surface::{Blended, Plane};

pub(super) fn in_f64(blended: &Blended<f32>) -> Blended<f64> {
    Blended {
        plane: Plane {
            normal: blended.plane.normal.map(f64::from),
            distance: blended.plane.distance.into(),
        },
        transmittance: blended.transmittance.into(),
        ..Blended::default()
    }
}

/// Four numbers, as the device has it.
pub(super) fn flat<R: Copy>(plane: &Plane<R>) -> [R; 4] {
    let [x, y, z] = plane.normal;
    [x, y, z, plane.distance]
}

/// What a loss on surfaces reads and writes, of images of `sizes` pixels.
pub(super) struct Ground {
    pub(super) table: TensorTable,
    pub(super) capacities: Capacities,
    pub(super) tensors: StepTensors,
    pub(super) surface: Surface,
}

impl Ground {
    pub(super) fn new(sizes: &[[u32; 2]], masked: bool) -> Self {
        let mut capacities = Capacities::new(256, 256, 256, 0, sizes.iter().map(|[w, h]| (*w, *h)));
        capacities.masked = masked;
        let mut table = TensorTable::default();
        let tensors = StepTensors::for_surfaces(&mut table, &capacities, &variants(Reduction::Segmented));
        let surface = tensors.pixels.surface.unwrap();
        let mut ground = Self {
            table,
            capacities,
            tensors,
            surface,
        };
        let bytes = 16 * u64::from(ground.capacities.max_pixels);
        ground.surface.gradient = ground.arena("gradient", bytes);
        ground.surface.normal_gradient = ground.arena("normal_gradient", bytes);
        ground
    }

    pub(super) fn arena(&mut self, name: &str, bytes: u64) -> Span {
        self.table.add(name, Class::Arena, Tag::Pixels, bytes)
    }

    /// What is there before the loss looks.
    pub(super) fn made(&self) -> [Span; 3] {
        [self.tensors.pixels.image, self.surface.plane, self.surface.depth]
    }

    /// Writes what a view shows.
    pub(super) fn show(&self, gpu: &mut Gpu, u: &StepUniforms, blended: &[Blended<f32>], photo: &[u8]) {
        let image: Vec<[f32; 4]> = blended.iter().map(|b| [0.5, 0.5, 0.5, b.transmittance]).collect();
        let planes: Vec<[f32; 4]> = blended.iter().map(|b| flat(&b.plane)).collect();
        let StepTensors { shared, pixels, .. } = &self.tensors;
        gpu.write(&shared.uniforms, &[*u]).unwrap();
        gpu.write(&pixels.image, &image).unwrap();
        gpu.write(&self.surface.plane, &planes).unwrap();
        gpu.write(&pixels.target, photo).unwrap();
    }

    /// Writes the counters, runs `program` and gives the counters after it.
    pub(super) fn run(&self, gpu: &mut Gpu, program: &Program, counters: Counters) -> Counters {
        let view = &self.tensors.shared.counters;
        gpu.write(view, &[counters]).unwrap();
        gpu.run(program).unwrap();
        gpu.read(view, 1).unwrap()[0]
    }
}
