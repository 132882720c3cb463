//! What draws a model: planned, on the device, and run.

use std::ops::Range;

use super::super::RunError;
use super::super::model_parts::{Bounds, ModelParts};
use super::super::reach::View;
use crate::eval::lpips::{Lpips, LpipsTensors, LpipsWeights};
use crate::plan::{EvalReadback, Job, Jobs, OpenDevice, ViewSums};
use crate::step::{self, BandTensors, Capacities, ModelWriter, Part, RecordBandTensors, StepTensors, Terms, Turns};
use crate::train::{BandRing, TrainError};
use kiln_gaussians::Gaussians;
use kiln_gpu::memory::{Gpu, Plan};
use kiln_gpu::vk::{CompiledProgram, RecordOptions};
use kiln_kernels::counters::Counters;
use kiln_kernels::uniforms::StepUniforms;
use kiln_kernels::views::Variants;
use kiln_program::{Program, TensorTable};

/// What is to be on the device.
pub(super) struct StagePlan {
    table: TensorTable,
    jobs: Jobs<Program>,
    tensors: StepTensors,
    readback: EvalReadback,
    bands: Option<(BandTensors, RecordBandTensors)>,
    lpips: Option<LpipsTensors>,
}

/// What is on the device.
pub(super) struct Stage {
    // Dropped before `gpu`, on which they were compiled.
    pub(super) lpips: Option<Lpips>,
    jobs: Jobs<CompiledProgram>,
    /// None while there is a record for every Gaussian.
    bands: Option<BandRing>,
    pub(super) tensors: StepTensors,
    pub(super) readback: EvalReadback,
    /// Of a model that is never there as a whole.
    pub(super) in_parts: Option<InParts>,
    pub(super) gpu: Gpu,
}

/// What is known of a model that the device has no room for.
pub(super) struct InParts {
    /// Where its parts lie.
    pub(super) bounds: Vec<Bounds>,
    /// Gaussians that there is room for.
    pub(super) capacity: u32,
}

impl StagePlan {
    /// Draws with `capacities` views of at most `sizes_px`, and compares by LPIPS where asked to. With `in_parts` a view's
    /// Gaussians come a part at a time.
    pub(super) fn new(
        capacities: &Capacities,
        variants: &Variants,
        sizes_px: &[[u32; 2]],
        has_lpips: bool,
        in_parts: bool,
    ) -> Result<Self, RunError> {
        let mut table = TensorTable::default();
        let tensors = StepTensors::for_rendering(&mut table, capacities, variants);
        let readback = EvalReadback::new(&mut table, &tensors);
        let mut jobs = Jobs::default();
        if !in_parts {
            let [evaluate, evaluate_image] = readback.programs(&tensors);
            jobs.extend([
                (Job::Evaluate { image: false }, evaluate),
                (Job::Evaluate { image: true }, evaluate_image),
            ]);
        }
        jobs.extend([(Job::ClearStall, step::clear_stall(&tensors))]);
        let bands = (in_parts || capacities.may_see_too_many()).then(|| {
            let bands = BandTensors::new(&mut table, capacities, variants);
            let records = RecordBandTensors::new(&mut table, &tensors, false);
            let keep = &readback.copies(&tensors)[..2];
            let parts = match in_parts {
                true => step::render_in_parts(&tensors, &bands, &records, keep),
                false => step::render_in_bands(&tensors, &bands, &records, keep),
            };
            jobs.add_bands(Terms::Image, Turns::Records, parts);
            (bands, records)
        });
        let programs: Vec<&Program> = jobs.all().collect();
        let side = |axis: usize| sizes_px.iter().map(|size| size[axis]).max().unwrap_or(1);
        let lpips = match has_lpips {
            true => LpipsTensors::beside(&mut table, &programs, [side(0), side(1)])?,
            false => None,
        };
        Ok(Self {
            table,
            jobs,
            tensors,
            readback,
            bands,
            lpips,
        })
    }

    fn programs(&self) -> Vec<&Program> {
        let lpips = self.lpips.iter().map(LpipsTensors::program);
        self.jobs.all().chain(lpips).collect()
    }

    /// True when it takes at most `cap_bytes` of the device's memory.
    pub(super) fn fits(&self, open: &OpenDevice, cap_bytes: u64) -> bool {
        let mut table = self.table.clone();
        Gpu::add_transfer(&mut table);
        let plan = Plan::new(&table, &self.programs(), Gpu::limits(&open.device));
        plan.is_ok_and(|plan| plan.device_bytes() <= cap_bytes)
    }

    /// Commits it.
    pub(super) fn commit(
        self,
        open: &OpenDevice,
        cap_bytes: u64,
        weights: Option<LpipsWeights>,
    ) -> Result<Stage, RunError> {
        let gpu = Gpu::new(&open.device, self.table.clone(), &self.programs(), cap_bytes)?;
        let capacities = self.tensors.capacities;
        let ring = |(bands, records)| BandRing::new(bands, Some(&records), open.faults.bands, capacities);
        Ok(Stage {
            lpips: self.lpips.zip(weights).map(|(t, w)| Lpips::new(t, w)),
            jobs: self.jobs.compile(&gpu, (1, 0), RecordOptions::default(), |_| true)?,
            bands: self.bands.map(ring),
            tensors: self.tensors,
            readback: self.readback,
            in_parts: None,
            gpu,
        })
    }
}

impl Stage {
    /// Puts a whole model on the device.
    pub(super) fn write(&mut self, model: &Gaussians) -> Result<(), RunError> {
        Ok(step::write_model(&mut self.gpu, &self.tensors, model)?)
    }

    /// True when views are drawn in bands that have no room for all at once.
    pub(super) const fn has_bands(&self) -> bool {
        self.bands.is_some()
    }

    /// Draws a view of the model on the device.
    pub(super) fn run(&mut self, block: &StepUniforms, photo: &[u8], keep_image: bool) -> Result<Counters, RunError> {
        self.upload(block, photo)?;
        self.run_job(Job::Evaluate { image: keep_image })?;
        self.status()
    }

    fn upload(&mut self, block: &StepUniforms, photo: &[u8]) -> Result<(), RunError> {
        let rings = self.tensors.rings;
        for (view, bytes) in [(rings.uniforms, bytemuck::bytes_of(block)), (rings.images, photo)] {
            let view = view.slice(0, bytes.len() as u64);
            self.gpu.memory_mut().host_mut(&view)?.copy_from_slice(bytes);
        }
        Ok(())
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
    pub(super) fn run_in_bands(&mut self, block: &StepUniforms, keep_image: bool) -> Result<ViewSums, RunError> {
        self.run_job(Job::ClearStall)?;
        let histogram = self.draw_tiles(block, 0..block.lists_x * block.lists_y)?;
        self.measure(block, keep_image, histogram)
    }

    /// Draws a view of a model that the device has no room for: in `bands`, each with those Gaussians that may touch it.
    pub(super) fn run_in_parts(
        &mut self,
        (block, photo): (&StepUniforms, &[u8]),
        keep_image: bool,
        (model, bounds): (&mut ModelParts, &[Bounds]),
        (view, bands): (&View, &[Range<u32>]),
    ) -> Result<ViewSums, RunError> {
        self.upload(block, photo)?;
        let mut histogram = vec![0; (block.lists_x * block.lists_y) as usize];
        for band in bands {
            let mut writer = ModelWriter::new(&mut self.gpu, &self.tensors)?;
            for (index, part) in bounds.iter().enumerate() {
                let reach = view.reach(part.lower, part.upper, part.sigma);
                if !reach.is_some_and(|reach| view.touches(&reach, band)) {
                    continue;
                }
                let (model, ids) = model.part(index)?;
                let reaching = view.reaching(model, ids).into_iter();
                let touching = reaching.filter(|(_, reach)| view.touches(reach, band));
                let places: Vec<usize> = touching.map(|(place, _)| place).collect();
                writer.append(&mut self.gpu, model, &places)?;
            }
            writer.finish(&mut self.gpu)?;
            let counts = self.draw_tiles(block, band.clone())?;
            let tiles = band.start as usize..band.end as usize;
            if let (Some(to), Some(from)) = (histogram.get_mut(tiles.clone()), counts.get(tiles)) {
                to.copy_from_slice(from);
            }
        }
        self.measure(block, keep_image, histogram)
    }

    /// Draws the tiles numbered `tiles` of the view that was uploaded, as many at a time as there are records for; gives the
    /// splats of every tile.
    fn draw_tiles(&mut self, block: &StepUniforms, tiles: Range<u32>) -> Result<Vec<u32>, RunError> {
        let part = |part| Job::Band(Terms::Image, Turns::Records, part);
        self.run_job(part(Part::Prefix))?;
        let counters = self.status()?;
        let Some(ring) = &mut self.bands else {
            return Ok(Vec::new());
        };
        let Some(view) = ring.pack_records(&self.gpu, block, &counters, tiles)? else {
            return Ok(Vec::new());
        };
        let forward = self.jobs.need(part(Part::Forward)).map_err(TrainError::from)?;
        ring.submit(&mut self.gpu, forward, &view.bands)?;
        // The next Gaussians begin with cleared counters.
        let counters: Vec<Counters> = self.gpu.read(&self.tensors.shared.counters, 1)?;
        counters.first().map_or(Ok(()), |counters| self.whole(counters))?;
        Ok(view.histogram)
    }

    /// Refuses what stalled in a band.
    fn whole(&self, counters: &Counters) -> Result<(), RunError> {
        if counters.stall().is_none() {
            return Ok(());
        }
        Err(TrainError::Stalled {
            counters: Box::new(*counters),
            v_cap: self.tensors.capacities.v_cap,
            i_cap: self.tensors.capacities.i_cap,
        }
        .into())
    }

    /// Measures the view that was drawn in bands.
    fn measure(&mut self, block: &StepUniforms, keep_image: bool, histogram: Vec<u32>) -> Result<ViewSums, RunError> {
        self.run_job(Job::Band(Terms::Image, Turns::Records, Part::Metrics))?;
        self.whole(&self.status()?)?;
        Ok(self
            .readback
            .read(self.gpu.memory(), block, keep_image, Some(histogram))?)
    }
}
