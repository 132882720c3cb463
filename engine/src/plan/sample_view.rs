//! A made-up view on a device: what kernels are proven and timed with before a run begins.
//!
//! It has memory of its own, which is given back before the run's plan is committed.

use std::sync::Arc;

use super::PlanError;
use crate::step::{self, Capacities, StepTensors};
use kiln_gaussians::Gaussians;
use kiln_gpu::memory::{Gpu, MemoryError};
use kiln_gpu::vk::{CompiledProgram, Device, RecordOptions};
use kiln_kernels::counters::Counters;
use kiln_kernels::uniforms::StepUniforms;
use kiln_kernels::views::{Reduction, Threads, Variants};
use kiln_program::{Class, Span, Tag, TensorTable};
use kiln_scene::Camera;
use kiln_twins::rng::{normal, uniform};

/// Of everything random in the view.
const SEED: u32 = 1;

/// How large a view is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// Gaussians.
    count: u32,
    /// Width and height, px.
    size_px: [u32; 2],
    /// Room for tile intersections, per Gaussian.
    tiles_each: u32,
    /// Natural logarithms of the smallest and the largest standard deviation.
    log_scales: [f32; 2],
    /// More than its tensors take, bytes.
    cap_bytes: u64,
}

impl Sample {
    /// A few large splats that may touch every tile: quick on any device.
    pub(super) const SMALL: Self = Self {
        count: 300,
        size_px: [64, 48],
        tiles_each: 12,
        log_scales: [-3.5, -1.2],
        cap_bytes: 32 << 20,
    };
    /// A small photo's worth: a tenth of a second or less on a CPU driver.
    pub(super) const MEDIUM: Self = Self {
        count: 10_000,
        size_px: [320, 240],
        tiles_each: 24,
        log_scales: [-5.5, -3.0],
        cap_bytes: 64 << 20,
    };
    /// Enough work to keep a graphics card busy for about a millisecond.
    pub(super) const LARGE: Self = Self {
        count: 50_000,
        size_px: [960, 720],
        tiles_each: 24,
        log_scales: [-6.5, -3.5],
        cap_bytes: 256 << 20,
    };
}

/// The view on a device.
pub(super) struct SampleView {
    sample: Sample,
    gpu: Gpu,
    /// Roomy enough for every variant that is tested.
    tensors: StepTensors,
    image_gradient: Span,
    /// What is read back, and where to: the image, then the three streams of 2D gradients.
    streams: [(Span, Span); 4],
}

impl SampleView {
    /// A view for `wanted` and for kernels that need no more memory.
    ///
    /// # Errors
    /// [`PlanError::Memory`] when the driver refuses its memory.
    pub(crate) fn new(device: &Arc<Device>, sample: Sample, wanted: &Variants) -> Result<Self, PlanError> {
        let [width, height] = sample.size_px;
        let pixels = u64::from(width * height);
        let mut capacities = Capacities::new(sample.count, sample.count, 0, 0, [(width, height)]);
        capacities.i_cap = sample.count * sample.tiles_each;
        capacities.slots = 1;
        // Sums by segment take the most; the order of tiles is for the others.
        let roomy = Variants {
            reduction: Reduction::Segmented,
            threads: Threads::Pixels,
            ..*wanted
        };
        let mut table = TensorTable::default();
        let tensors = StepTensors::for_rendering(&mut table, &capacities, &roomy);
        let image_gradient = table.add("self_test/gradient", Class::Upload, Tag::Staging, 16 * pixels);
        let (splats, image) = (&tensors.splats, tensors.pixels.image);
        let streams = [image, splats.gradient_a, splats.gradient_b, splats.gradient_c].map(|from| {
            let to = table.add("self_test/back", Class::Readback, Tag::Staging, from.bytes);
            (from, to)
        });
        // With the variants that use the most memory, so that the others fit the same places.
        let program = step::gradients_of_view(&tensors, image_gradient, &streams);
        let gpu = Gpu::new(device, table, &[&program], sample.cap_bytes)?;
        let mut view = Self {
            sample,
            gpu,
            tensors,
            image_gradient,
            streams,
        };
        step::write_model(&mut view.gpu, &view.tensors, &model(&sample))?;
        let mut uniforms = StepUniforms::for_camera(&camera(sample.size_px), [0.1, 0.2, 0.3], 0.1);
        (uniforms.sh_degree, uniforms.seed, uniforms.iteration) = (0, SEED, 1);
        let gradient: Vec<[f32; 4]> = (0..width * height)
            .map(|pixel| std::array::from_fn(|c| uniform::<f32>(SEED, 5, pixel, c as u32) - 0.25))
            .collect();
        let ring = view.tensors.rings.uniforms.slice(0, size_of::<StepUniforms>() as u64);
        for (place, bytes) in [
            (ring, bytemuck::bytes_of(&uniforms)),
            (image_gradient, bytemuck::cast_slice(&gradient)),
        ] {
            view.gpu.memory_mut().host_mut(&place)?.copy_from_slice(bytes);
        }
        Ok(view)
    }

    /// The step's forward and backward half with these kernels.
    ///
    /// # Errors
    /// [`MemoryError`] when the driver refuses a kernel.
    pub(super) fn compile(&self, variants: &Variants, timestamps: bool) -> Result<CompiledProgram, MemoryError> {
        let tensors = StepTensors {
            variants: *variants,
            ..self.tensors.clone()
        };
        let program = step::gradients_of_view(&tensors, self.image_gradient, &self.streams);
        let options = RecordOptions {
            timestamps,
            ..RecordOptions::default()
        };
        self.gpu.compile(&program, options)
    }

    /// Runs `program` to its end; the visible Gaussians, 0 when the step stalled.
    ///
    /// # Errors
    /// [`MemoryError`] when the device does not finish it.
    pub(super) fn run(&mut self, program: &CompiledProgram) -> Result<u32, MemoryError> {
        self.gpu.run_compiled(program)?;
        let status = self.tensors.rings.status.slice(0, size_of::<Counters>() as u64);
        let counters: Counters = bytemuck::pod_read_unaligned(self.gpu.memory().host(&status)?);
        Ok(counters.stall().map_or(counters.visible, |_| 0))
    }

    /// What the last run had to do with: Gaussians, visible ones, tile intersections, pixels.
    ///
    /// # Errors
    /// [`MemoryError`] when the device was lost.
    pub(super) fn load(&self) -> Result<[f64; 4], MemoryError> {
        let status = self.tensors.rings.status.slice(0, size_of::<Counters>() as u64);
        let counters: Counters = bytemuck::pod_read_unaligned(self.gpu.memory().host(&status)?);
        let [width, height] = self.sample.size_px;
        Ok([
            self.sample.count,
            counters.visible,
            counters.intersections,
            width * height,
        ]
        .map(f64::from))
    }

    /// What the last run left: the image, then the three streams of 2D gradients of the first `visible` records.
    ///
    /// # Errors
    /// [`MemoryError`] when the device was lost.
    pub(super) fn streams(&self, visible: u32) -> Result<[Vec<[f32; 4]>; 4], MemoryError> {
        let memory = self.gpu.memory();
        let read = |(_, to): (Span, Span), records: u32| -> Result<Vec<[f32; 4]>, MemoryError> {
            let bytes = memory.host(&to.slice(0, 16 * u64::from(records)))?;
            Ok(bytes.chunks_exact(16).map(bytemuck::pod_read_unaligned).collect())
        };
        let [image, a, b, c] = self.streams;
        let [width, height] = self.sample.size_px;
        let records = visible.min(self.sample.count);
        Ok([
            read(image, width * height)?,
            read(a, records)?,
            read(b, records)?,
            read(c, records)?,
        ])
    }
}

fn model(sample: &Sample) -> Gaussians {
    let between = |low: f32, high: f32, id, channel| low + (high - low) * uniform::<f32>(SEED, 1, id, channel);
    let [smallest, largest] = sample.log_scales;
    let mut model = Gaussians::default();
    for id in 0..sample.count {
        model.means.push([
            between(-2.4, 2.4, id, 0),
            between(-1.8, 1.8, id, 1),
            between(-1.5, 1.5, id, 2),
        ]);
        model
            .quats
            .push(std::array::from_fn(|i| normal::<f32>(SEED, 2, id, i as u32)));
        model
            .log_scales
            .push(std::array::from_fn(|i| between(smallest, largest, id, 10 + i as u32)));
        model.logit_opacities.push(between(-3.0, 3.0, id, 20));
        model.sh0.push(std::array::from_fn(|c| {
            0.8 * normal::<f32>(SEED, 3, id, c as u32) + 0.6
        }));
        model.filter_3d.push(0.02);
    }
    model
}

/// Four units from the middle of the model.
fn camera([width_px, height_px]: [u32; 2]) -> Camera {
    Camera {
        width_px,
        height_px,
        fx: 60.0 / 64.0 * width_px as f32,
        fy: 54.0 / 48.0 * height_px as f32,
        cx: 0.5 * width_px as f32,
        cy: 0.5 * height_px as f32,
        rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        translation: [0.1, -0.05, 4.0],
        lens: None,
    }
}
