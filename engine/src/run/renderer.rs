//! A model on a device for rendering only: no moments, no statistics, no steps.
//!
//! Room for intersections starts at a guess and grows when a view needs more, so that any model that fits the budget with
//! its largest view renders. A view with more visible Gaussians than records, where a binding ends before the model does
//! or under the fault `v_cap`, is drawn in bands. The image depends on neither.

use super::RunError;
use super::evaluation::Measure;
use crate::config::{LpipsRange, Profile};
use crate::eval::lpips::{Lpips, LpipsTensors, LpipsWeights, Pair};
use crate::gaussians::Gaussians;
use crate::kernels::counters::{Counters, Stall};
use crate::kernels::uniforms::StepUniforms;
use crate::kernels::views::{Reduction, Variants};
use crate::memory::{Budget, Gpu};
use crate::plan::{EvalReadback, Job, Jobs, Look, OpenDevice, ViewSums};
use crate::program::{Program, TensorTable};
use crate::scene::{Camera, Photo};
use crate::step::{self, BandTensors, Capacities, Part, RecordBandTensors, StepTensors, Terms, Turns};
use crate::train::{BandRing, TrainError, uniforms};
use crate::vk::{CompiledProgram, RecordOptions};

/// Bytes of a visible record.
const RECORD_BYTES: u64 = 16;
/// Bytes of a sort key.
const KEY_BYTES: u64 = 4;

/// Draws one model.
pub(super) struct Renderer<'a> {
    /// None until the first view, and while it is planned anew.
    stage: Option<Stage>,
    open: &'a OpenDevice,
    profile: &'a Profile,
    variants: Variants,
    model: Gaussians,
    look: Look,
    sizes_px: Vec<[u32; 2]>,
    /// Photos carry a mask.
    masked: bool,
    /// Intersections there must be room for, when the guess was too small.
    intersections: Option<u32>,
    /// Not on the device yet.
    weights: Option<LpipsWeights>,
}

/// What is on the device.
struct Stage {
    // Dropped before `gpu`, on which they were compiled.
    lpips: Option<Lpips>,
    jobs: Jobs<CompiledProgram>,
    /// None while there is a record for every Gaussian.
    bands: Option<BandRing>,
    tensors: StepTensors,
    readback: EvalReadback,
    gpu: Gpu,
}

impl<'a> Renderer<'a> {
    /// Draws `model` for views of at most `sizes_px`, with masked photos or not, and computes LPIPS when there are
    /// weights.
    pub(crate) fn new(
        open: &'a OpenDevice,
        profile: &'a Profile,
        variants: &Variants,
        model: Gaussians,
        look: Look,
        (sizes_px, masked): (Vec<[u32; 2]>, bool),
        weights: Option<LpipsWeights>,
    ) -> Self {
        Self {
            stage: None,
            open,
            profile,
            // How gradients are summed does not matter here, and this variant needs no room for partial sums.
            variants: Variants {
                reduction: Reduction::Atomic,
                ..*variants
            },
            model,
            look,
            sizes_px,
            masked,
            intersections: None,
            weights,
        }
    }

    /// Draws a view: RGB and transmittance, row by row.
    pub(super) fn image(&mut self, camera: &Camera) -> Result<Vec<[f32; 4]>, RunError> {
        Ok(self.draw(camera, &[], true)?.image.unwrap_or_default())
    }

    /// Draws and measures a view; without a photograph the sums say nothing.
    fn draw(&mut self, camera: &Camera, photo: &[u8], keep_image: bool) -> Result<ViewSums, RunError> {
        let block = uniforms::render(self.profile, camera, &self.look);
        self.draw_block(&block, photo, keep_image)
    }

    fn draw_block(&mut self, block: &StepUniforms, photo: &[u8], keep_image: bool) -> Result<ViewSums, RunError> {
        loop {
            let stage = self.stage()?;
            let counters = stage.run(block, photo, keep_image)?;
            let Some(stall) = counters.stall() else {
                return Ok(stage.readback.read(stage.gpu.memory(), block, keep_image, None)?);
            };
            if stall == Stall::Visible && stage.bands.is_some() {
                return stage.run_in_bands(block, keep_image);
            }
            let planned = stage.tensors.capacities;
            let wanted = counters.intersections_wanted;
            // An eighth more, so that views only a little heavier need no plan of their own.
            self.intersections = Some(wanted.saturating_add(wanted / 8));
            if stall != Stall::Intersections || self.capacities().i_cap < wanted {
                return Err(TrainError::Stalled {
                    counters: Box::new(counters),
                    v_cap: planned.v_cap,
                    i_cap: planned.i_cap,
                }
                .into());
            }
            // The old plan is given back first: both need not fit together.
            let old = self.stage.take();
            self.weights = old.and_then(|stage| stage.lpips).map(Lpips::into_weights);
        }
    }

    fn stage(&mut self) -> Result<&mut Stage, RunError> {
        let stage = match self.stage.take() {
            Some(stage) => stage,
            None => {
                let capacities = self.capacities();
                Stage::new(
                    self.open,
                    self.profile,
                    &self.variants,
                    &self.model,
                    &self.sizes_px,
                    &capacities,
                    self.weights.take(),
                )?
            }
        };
        Ok(self.stage.insert(stage))
    }

    /// Room for every Gaussian to be visible at once and for the intersections, as far as bindings reach.
    fn capacities(&self) -> Capacities {
        let limits = Gpu::limits(&self.open.device);
        let bound = |bytes: u64| u32::try_from(limits.largest_tensor() / bytes).unwrap_or(u32::MAX);
        let n = u32::try_from(self.model.len()).unwrap_or(u32::MAX);
        let v_cap = self.open.faults.v_cap.unwrap_or(n).min(n).min(bound(RECORD_BYTES));
        // Small models have large splats, large models two to five intersections a splat.
        let guess = v_cap.saturating_mul(6).max(1 << 20);
        let i_cap = self
            .intersections
            .or(self.open.faults.i_cap)
            .unwrap_or(guess)
            .max(v_cap)
            .min(bound(KEY_BYTES));
        let sizes = self.sizes_px.iter().map(|size| (size[0], size[1]));
        let mut capacities = Capacities::new(n, v_cap, i_cap, self.model.sh_degree, sizes);
        capacities.slots = 1;
        capacities.binding_bytes = limits.binding_bytes;
        capacities.masked = self.masked;
        capacities.cameras = 1;
        capacities
    }
}

impl Measure for Renderer<'_> {
    fn sums(&mut self, camera: &Camera, photo: &Photo, keep_image: bool) -> Result<ViewSums, RunError> {
        self.draw(camera, photo.bytes(), keep_image)
    }

    fn near_light(&mut self, camera: &Camera, limit: f32) -> Result<Option<Vec<[f32; 4]>>, RunError> {
        let mut block = uniforms::render(self.profile, camera, &self.look);
        uniforms::for_near_light(&mut block, limit);
        Ok(self.draw_block(&block, &[], true)?.image)
    }

    fn lpips(&mut self, pair: &Pair<'_, 4>, range: LpipsRange) -> Result<Option<f64>, RunError> {
        let stage = self.stage()?;
        match &mut stage.lpips {
            Some(lpips) => Ok(Some(lpips.distance(&mut stage.gpu, pair, range)?)),
            None => Ok(None),
        }
    }
}

impl Stage {
    fn new(
        open: &OpenDevice,
        profile: &Profile,
        variants: &Variants,
        model: &Gaussians,
        sizes_px: &[[u32; 2]],
        capacities: &Capacities,
        weights: Option<LpipsWeights>,
    ) -> Result<Self, RunError> {
        let mut table = TensorTable::default();
        let tensors = StepTensors::for_rendering(&mut table, capacities, variants);
        let readback = EvalReadback::new(&mut table, &tensors);
        let [evaluate, evaluate_image] = readback.programs(&tensors);
        let mut jobs = Jobs::default();
        jobs.extend([
            (Job::Evaluate { image: false }, evaluate),
            (Job::Evaluate { image: true }, evaluate_image),
            (Job::ClearStall, step::clear_stall(&tensors)),
        ]);
        let bands = capacities.may_see_too_many().then(|| {
            let bands = BandTensors::new(&mut table, capacities, variants);
            let records = RecordBandTensors::new(&mut table, &tensors, false);
            let keep = &readback.copies(&tensors)[..2];
            jobs.add_bands(
                Terms::Image,
                Turns::Records,
                step::render_in_bands(&tensors, &bands, &records, keep),
            );
            BandRing::new(bands, Some(&records), open.faults.bands, *capacities)
        });
        let mut programs: Vec<&Program> = jobs.all().collect();
        let workspace = match &weights {
            Some(_) => {
                let side = |axis: usize| sizes_px.iter().map(|size| size[axis]).max().unwrap_or(1);
                LpipsTensors::beside(&mut table, &programs, [side(0), side(1)])?
            }
            None => None,
        };
        programs.extend(workspace.iter().map(LpipsTensors::program));
        let cap = profile.memory.cap_gib.map(crate::plan::gib_to_bytes);
        let budget = Budget::of_device(&open.device, cap);
        let gpu = Gpu::new(&open.device, table, &programs, budget.cap_bytes)?;
        let mut stage = Self {
            lpips: None,
            jobs: jobs.compile(&gpu, 1, RecordOptions::default(), |_| true)?,
            bands,
            tensors,
            readback,
            gpu,
        };
        stage.lpips = workspace.zip(weights).map(|(t, w)| Lpips::new(t, w));
        step::write_model(&mut stage.gpu, &stage.tensors, model)?;
        Ok(stage)
    }

    fn run(&mut self, block: &StepUniforms, photo: &[u8], keep_image: bool) -> Result<Counters, RunError> {
        let rings = self.tensors.rings;
        for (view, bytes) in [(rings.uniforms, bytemuck::bytes_of(block)), (rings.images, photo)] {
            let view = view.slice(0, bytes.len() as u64);
            self.gpu.memory_mut().host_mut(&view)?.copy_from_slice(bytes);
        }
        self.run_job(Job::Evaluate { image: keep_image })?;
        self.status()
    }

    fn run_job(&mut self, job: Job) -> Result<(), RunError> {
        let program = self.jobs.need(job).map_err(TrainError::from)?;
        Ok(self.gpu.run_compiled(program)?)
    }

    fn status(&self) -> Result<Counters, RunError> {
        let status = self.tensors.rings.status.slice(0, size_of::<Counters>() as u64);
        Ok(bytemuck::pod_read_unaligned(self.gpu.memory().host(&status)?))
    }

    /// Draws the view that [`Stage::run`] had no records for.
    fn run_in_bands(&mut self, block: &StepUniforms, keep_image: bool) -> Result<ViewSums, RunError> {
        let mut histogram = Vec::new();
        let part = |part| Job::Band(Terms::Image, Turns::Records, part);
        self.run_job(Job::ClearStall)?;
        self.run_job(part(Part::Prefix))?;
        let counters = self.status()?;
        if let Some(ring) = &mut self.bands {
            let view = ring.pack(&self.gpu, block, &counters, Turns::Records)?;
            let forward = self.jobs.need(part(Part::Forward)).map_err(TrainError::from)?;
            ring.submit(&mut self.gpu, forward, &view.bands)?;
            histogram = view.histogram;
        }
        self.run_job(part(Part::Metrics))?;
        let counters = self.status()?;
        if counters.stall().is_some() {
            return Err(TrainError::Stalled {
                counters: Box::new(counters),
                v_cap: self.tensors.capacities.v_cap,
                i_cap: self.tensors.capacities.i_cap,
            }
            .into());
        }
        Ok(self
            .readback
            .read(self.gpu.memory(), block, keep_image, Some(histogram))?)
    }
}
