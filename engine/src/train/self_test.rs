//! Proof at start that kernels chosen for their speed compute what the portable ones compute, on the device at hand.
//!
//! A small built-in view goes forward and backward with the portable kernels, and once more with each fast kernel in
//! place of its portable sibling. A fast kernel that gives another image or other gradients is not used in this run,
//! and a warning says so. The test has memory of its own, a few MiB that are given back before the run's plan is
//! committed. Where only portable kernels were chosen there is nothing to prove and nothing runs.

use std::sync::Arc;

use super::open::{rendering_variants, variants_for};
use super::rivals::rivals;
use super::{OpenDevice, TrainError};
use crate::config::Profile;
use crate::gaussians::Gaussians;
use crate::kernels::counters::Counters;
use crate::kernels::cpu::rng::{normal, uniform};
use crate::kernels::uniforms::StepUniforms;
use crate::kernels::views::{Reduction, Variants};
use crate::kernels::{radix_sort, rasterize, rasterize_backward};
use crate::memory::{Class, Gpu, MemoryError, Tag, TensorTable, View};
use crate::scene::Camera;
use crate::step::{self, Capacities, StepTensors};
use crate::vk::{Device, RecordOptions, VkError};

/// Largest difference, summed over a channel, as a share of the sum of the portable kernels' magnitudes. Rounding in
/// another order makes about 1e-6; one splat of the view left out of a sum makes some 1e-3.
const TOLERANCE: f64 = 1e-4;
/// Gaussians in the view.
const COUNT: u32 = 300;
/// Width and height of the view, px.
const SIZE_PX: [u32; 2] = [64, 48];
/// More than the test's tensors take.
const CAP_BYTES: u64 = 32 << 20;
/// Of everything random in the view.
const SEED: u32 = 1;

/// Kernel variants that a run keeps to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pinned {
    /// The variants.
    pub variants: Variants,
    /// Others that do with the same memory and passed the test too: see [`super::race`].
    pub rivals: Vec<Variants>,
    /// Which kernels failed the test and what was seen.
    pub warnings: Vec<String>,
}

impl Pinned {
    /// Chooses and tests variants for training.
    ///
    /// # Errors
    /// See [`variants_for`]; [`TrainError::Memory`] when the portable kernels do not run either.
    pub fn for_training(open: &OpenDevice, profile: &Profile) -> Result<Self, TrainError> {
        let caps = open.device.caps();
        let wanted = variants_for(caps, open.tier, profile)?;
        let rivals = |chosen: &Variants| rivals(caps, open.tier, profile, chosen);
        Self::tested(&open.device, wanted, rivals, profile.debug.fail_self_test)
    }

    /// The same for rendering, where nothing is summed.
    pub(super) fn for_rendering(open: &OpenDevice, profile: &Profile) -> Result<Self, TrainError> {
        let wanted = rendering_variants(open.device.caps(), open.tier, profile);
        Self::tested(&open.device, wanted, |_| Vec::new(), profile.debug.fail_self_test)
    }

    /// Keeps of `wanted` what passes, and of the `rivals` of that those that do; with `spoil`, what the fast kernels compute
    /// is changed a little before it is looked at.
    fn tested(
        device: &Arc<Device>,
        wanted: Variants,
        rivals: impl Fn(&Variants) -> Vec<Variants>,
        spoil: bool,
    ) -> Result<Self, TrainError> {
        let portable = Variants {
            reduction: Reduction::Segmented,
            sort_subgroup: 0,
            // The only choice that software drivers and the portable tier make.
            columns: true,
            lanes: false,
            jitter: wanted.jitter,
        };
        let mut pinned = Self {
            variants: wanted,
            rivals: Vec::new(),
            warnings: Vec::new(),
        };
        if wanted == portable {
            return Ok(pinned);
        }
        let mut bench = Bench::new(device, &wanted)?;
        let reference = bench.run(&portable)?;
        let mut trouble_of = |candidate: &Variants| -> Result<Option<String>, TrainError> {
            Ok(match bench.run(candidate) {
                Ok(mut found) => {
                    if spoil {
                        found.spoil();
                    }
                    let difference = reference.difference(&found);
                    (difference > TOLERANCE).then(|| {
                        format!("differs by {difference:.1e} from the portable kernel, more than {TOLERANCE:.0e}")
                    })
                }
                Err(MemoryError::Vulkan(error @ VkError::Lost { .. })) => return Err(error.into()),
                Err(error) => Some(format!("does not run: {error}")),
            })
        };
        for (kernel, take) in parts(&wanted) {
            let mut candidate = portable;
            take(&mut candidate, &wanted);
            if candidate == portable {
                continue;
            }
            if let Some(trouble) = trouble_of(&candidate)? {
                take(&mut pinned.variants, &portable);
                pinned.warnings.push(format!(
                    "self-test: kernel `{kernel}` on `{}` {trouble}; the portable kernel is used instead",
                    device.caps().name
                ));
            }
        }
        // What nobody asked for and does not work is no news.
        for rival in rivals(&pinned.variants) {
            if rival == portable || trouble_of(&rival)?.is_none() {
                pinned.rivals.push(rival);
            }
        }
        Ok(pinned)
    }
}

/// Copies one choice from the second variants to the first.
type Take = fn(&mut Variants, &Variants);

/// The choices that are tested one by one, each with the kernel that `wanted` takes.
fn parts(wanted: &Variants) -> [(&'static str, Take); 4] {
    [
        (radix_sort::SCATTER_SUBGROUP.name, |to, from| {
            to.sort_subgroup = from.sort_subgroup
        }),
        (rasterize::PIXEL.name, |to, from| to.columns = from.columns),
        (rasterize_backward::LANES.name, |to, from| to.lanes = from.lanes),
        (rasterize_backward::sums(wanted).name, |to, from| {
            to.reduction = from.reduction
        }),
    ]
}

/// What a step makes of the view: the image, then the three streams of 2D gradients.
struct Outcome {
    visible: u32,
    streams: [Vec<[f32; 4]>; 4],
}

impl Outcome {
    /// Largest difference of a channel; infinite when the two cannot be compared.
    fn difference(&self, other: &Self) -> f64 {
        if self.visible != other.visible {
            return f64::INFINITY;
        }
        let mut largest = 0.0_f64;
        for (wanted, found) in self.streams.iter().zip(&other.streams) {
            let (mut size, mut off) = ([0.0_f64; 4], [0.0_f64; 4]);
            for (wanted, found) in wanted.iter().zip(found) {
                for (((size, off), wanted), found) in size.iter_mut().zip(&mut off).zip(wanted).zip(found) {
                    *size += f64::from(wanted.abs());
                    *off += f64::from((wanted - found).abs());
                }
            }
            for (size, off) in size.into_iter().zip(off) {
                let share = if off == 0.0 { 0.0 } else { off / size };
                largest = largest.max(if share.is_nan() { f64::INFINITY } else { share });
            }
        }
        largest
    }

    /// A small error everywhere.
    fn spoil(&mut self) {
        for value in self.streams.iter_mut().flatten().flatten() {
            *value *= 1.001;
        }
    }
}

/// The view on a device.
struct Bench {
    gpu: Gpu,
    /// Roomy enough for every variant that is tested.
    tensors: StepTensors,
    image_gradient: View,
    /// Where the streams of an [`Outcome`] come from and go to.
    streams: [(View, View); 4],
}

impl Bench {
    fn new(device: &Arc<Device>, wanted: &Variants) -> Result<Self, TrainError> {
        let [width, height] = SIZE_PX;
        let pixels = u64::from(width * height);
        let mut capacities = Capacities::new(COUNT, COUNT, 0, 0, [(width, height)]);
        // Every Gaussian in every tile.
        capacities.i_cap = COUNT * capacities.max_tiles;
        capacities.slots = 1;
        // Sums by segment take the most; the order of tiles is for the others.
        let roomy = Variants {
            reduction: Reduction::Segmented,
            columns: false,
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
        let gpu = Gpu::new(device, table, &[&program], CAP_BYTES)?;
        let mut bench = Self {
            gpu,
            tensors,
            image_gradient,
            streams,
        };
        step::write_model(&mut bench.gpu, &bench.tensors, &model())?;
        let mut uniforms = StepUniforms::for_camera(&camera(), [0.1, 0.2, 0.3], 0.1);
        (uniforms.sh_degree, uniforms.seed, uniforms.iteration) = (0, SEED, 1);
        let gradient: Vec<[f32; 4]> = (0..width * height)
            .map(|pixel| std::array::from_fn(|c| uniform::<f32>(SEED, 5, pixel, c as u32) - 0.25))
            .collect();
        let ring = bench.tensors.rings.uniforms.slice(0, size_of::<StepUniforms>() as u64);
        for (view, bytes) in [
            (ring, bytemuck::bytes_of(&uniforms)),
            (image_gradient, bytemuck::cast_slice(&gradient)),
        ] {
            bench.gpu.memory_mut().host_mut(&view)?.copy_from_slice(bytes);
        }
        Ok(bench)
    }

    fn run(&mut self, variants: &Variants) -> Result<Outcome, MemoryError> {
        let tensors = StepTensors {
            variants: *variants,
            ..self.tensors.clone()
        };
        let program = step::gradients_of_view(&tensors, self.image_gradient, &self.streams);
        let compiled = self.gpu.compile(&program, RecordOptions::default())?;
        self.gpu.run_compiled(&compiled)?;
        let memory = self.gpu.memory();
        let status = tensors.rings.status.slice(0, size_of::<Counters>() as u64);
        let counters: Counters = bytemuck::pod_read_unaligned(memory.host(&status)?);
        let visible = if counters.stall().is_some() {
            0
        } else {
            counters.visible
        };
        let read = |(_, to): (View, View), records: u32| -> Result<Vec<[f32; 4]>, MemoryError> {
            let bytes = memory.host(&to.slice(0, 16 * u64::from(records)))?;
            Ok(bytes.chunks_exact(16).map(bytemuck::pod_read_unaligned).collect())
        };
        let [image, a, b, c] = self.streams;
        let records = visible.min(COUNT);
        Ok(Outcome {
            visible,
            streams: [
                read(image, SIZE_PX[0] * SIZE_PX[1])?,
                read(a, records)?,
                read(b, records)?,
                read(c, records)?,
            ],
        })
    }
}

fn model() -> Gaussians {
    let between = |low: f32, high: f32, id, channel| low + (high - low) * uniform::<f32>(SEED, 1, id, channel);
    let mut model = Gaussians::default();
    for id in 0..COUNT {
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
            .push(std::array::from_fn(|i| between(-3.5, -1.2, id, 10 + i as u32)));
        model.logit_opacities.push(between(-3.0, 3.0, id, 20));
        model.sh0.push(std::array::from_fn(|c| {
            0.8 * normal::<f32>(SEED, 3, id, c as u32) + 0.6
        }));
        model.filter_3d.push(0.02);
    }
    model
}

/// Four units from the middle of the model.
fn camera() -> Camera {
    let [width_px, height_px] = SIZE_PX;
    Camera {
        width_px,
        height_px,
        fx: 60.0,
        fy: 54.0,
        cx: 0.5 * width_px as f32,
        cy: 0.5 * height_px as f32,
        rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        translation: [0.1, -0.05, 4.0],
    }
}
