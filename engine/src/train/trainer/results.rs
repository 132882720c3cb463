//! What is read from the device between steps: evaluations, the model, histograms, probes; checkpoints both ways.

use std::path::{Path, PathBuf};

use super::{Target, Trainer};
use crate::export::MeanOpacity;
use crate::plan::{Job, Look, ViewSums, schedule};
use crate::record::events::Histograms;
use crate::step;
use crate::train::checkpoint::{self, CheckpointState, OpenCheckpoint, scene_digest};
use crate::train::probe::Rates;
use crate::train::{TrainError, uniforms};
use kiln_gaussians::Gaussians;
use kiln_kernels::uniforms::StepUniforms;
use kiln_scene::{Camera, SceneIndex, ViewSampler};

impl Trainer {
    /// Renders one view with the model as it is and sums its metrics against `photo`.
    ///
    /// # Errors
    /// [`TrainError::TileTooFull`] when a tile of the view has more splats than there are visible records.
    pub fn evaluate(&mut self, camera: &Camera, photo: &[u8], keep_image: bool) -> Result<ViewSums, TrainError> {
        self.finish()?;
        let mut block = self.block_for(camera);
        self.fill_slot(0, &mut block, Target::Bytes(photo))?;
        self.draw(&block, keep_image)
    }

    /// Renders the near light of one view with the model as it is: RGB and transmittance, row by row, where near splats are
    /// those with a depth below `limit`; see `uniforms::for_near_light`.
    ///
    /// # Errors
    /// See [`Trainer::evaluate`].
    pub fn near_light(&mut self, camera: &Camera, limit: f32) -> Result<Vec<[f32; 4]>, TrainError> {
        self.finish()?;
        let mut block = self.block_for(camera);
        uniforms::for_near_light(&mut block, limit);
        // Whatever photo lies in the slot: nobody reads the sums.
        self.write_uniforms(0, &block)?;
        Ok(self.draw(&block, true)?.image.unwrap_or_default())
    }

    pub(super) fn block_for(&self, camera: &Camera) -> StepUniforms {
        let look = Look::of(&self.profile, schedule::sh_degree_at(&self.profile, self.iteration));
        let mut block = uniforms::render(&self.profile, camera, &look);
        // A densification that waits draws its samples by seed and iteration from this block.
        block.iteration = self.iteration;
        block.sh_steps = self.steps.sh();
        self.model.set_lists(&mut block);
        block
    }

    /// Draws and measures the view whose uniforms are in the first slot of the ring.
    pub(super) fn draw(&mut self, block: &StepUniforms, keep_image: bool) -> Result<ViewSums, TrainError> {
        let mut turns = self.banding.turns();
        if turns.is_none() {
            let job = Job::Evaluate { image: keep_image };
            self.gpu.run_compiled(self.jobs.need(job)?)?;
            let counters = self.status(0)?;
            if let Some(reason) = counters.stall() {
                self.gpu.run_compiled(self.jobs.need(Job::ClearStall)?)?;
                turns = self.banding.way_out(reason);
                if turns.is_none() {
                    return Err(self.stalled(counters));
                }
            }
        }
        let banded = match turns {
            Some(turns) => Some(self.evaluate_in_bands(block, turns)?.histogram),
            None => None,
        };
        Ok(self.readback.read(self.gpu.memory(), block, keep_image, banded)?)
    }

    /// Reads the model back, the 3D filter included.
    ///
    /// # Errors
    /// [`TrainError::Memory`].
    pub fn model(&mut self) -> Result<Gaussians, TrainError> {
        self.catch_up()?;
        Ok(step::read_model(&mut self.gpu, &self.tensors)?)
    }

    /// Vertices and triangles of the mesh that the model is bound to, as they are now; none where it is free.
    ///
    /// # Errors
    /// [`TrainError::Memory`].
    pub fn mesh(&mut self) -> Result<Option<step::BoundSurface>, TrainError> {
        self.finish()?;
        Ok(step::read_vertices(&mut self.gpu, &self.tensors)?)
    }

    /// At most `most` Gaussians of the model, and how many it has; see [`step::read_sample`]. Colours may lack their last
    /// deferred steps.
    ///
    /// # Errors
    /// [`TrainError::Memory`].
    pub fn sample(&mut self, most: u32) -> Result<(Gaussians, u32), TrainError> {
        self.finish()?;
        Ok(step::read_sample(&mut self.gpu, &self.tensors, most)?)
    }

    /// Mean opacity of the model, 0 to 1: of Gaussians with the 3D filter folded in, as their file has it; of triangles over their
    /// vertices. `None` of an empty model.
    ///
    /// # Errors
    /// [`TrainError::Memory`].
    pub fn mean_opacity(&mut self) -> Result<Option<f64>, TrainError> {
        self.finish()?;
        if let Some(run) = self.model.triangles() {
            let (vertices, floor) = (run.vertices, run.floor);
            let weights = step::read_weights(&mut self.gpu, &self.tensors, vertices)?;
            let sum: f64 = weights
                .iter()
                .map(|weight| kiln_triangles::opacity::of(*weight, floor))
                .sum();
            return Ok((!weights.is_empty()).then(|| sum / weights.len() as f64));
        }
        let mut mean = MeanOpacity::default();
        step::read_opacities(&mut self.gpu, &self.tensors, &mut |scales, logit, filter| {
            mean.add(scales, logit, filter);
        })?;
        Ok(mean.mean())
    }

    /// Histograms that have arrived since the last call. They come some steps late, like status words, so that nothing
    /// waits for them.
    ///
    /// # Errors
    /// [`TrainError::Vulkan`] when the device is lost.
    pub fn take_histograms(&mut self) -> Result<Option<Histograms>, TrainError> {
        let Some((iteration, ticket)) = self.counting else {
            return Ok(None);
        };
        // A step that is about to be done again takes what followed it along.
        if iteration > self.over || !self.gpu.queue().is_done(ticket)? {
            return Ok(None);
        }
        self.counting = None;
        self.read_histograms(iteration)
    }

    /// Histograms of the model as it is, for evaluations; none of triangles.
    ///
    /// # Errors
    /// [`TrainError::Memory`].
    pub fn histograms(&mut self) -> Result<Option<Histograms>, TrainError> {
        self.finish()?;
        self.counting = None;
        let Some(program) = self.jobs.get(Job::Histogram) else {
            return Ok(None);
        };
        self.gpu.run_compiled(program)?;
        self.read_histograms(self.iteration)
    }

    fn read_histograms(&self, it: u32) -> Result<Option<Histograms>, TrainError> {
        let Some(back) = &self.histogram_back else {
            return Ok(None);
        };
        let bytes = self.gpu.memory().host(back)?;
        let mut words = bytes.chunks_exact(4).map(bytemuck::pod_read_unaligned::<u32>);
        let mut next = || words.next().unwrap_or_default();
        let counts = Box::new(std::array::from_fn(|_| std::array::from_fn(|_| next())));
        Ok(Some(Histograms { it, counts }))
    }

    /// Begins a measurement of where the memory lies; [`Trainer::take_probe`] has it some steps later.
    ///
    /// # Errors
    /// [`TrainError::Memory`].
    pub(crate) fn begin_probe(&mut self) -> Result<(), TrainError> {
        match &mut self.probe {
            Some(probe) => probe.submit(&mut self.gpu),
            None => Ok(()),
        }
    }

    /// The measurement that has arrived since the last call.
    ///
    /// # Errors
    /// [`TrainError::Vulkan`] when the device is lost.
    pub(crate) fn take_probe(&mut self) -> Result<Option<Rates>, TrainError> {
        match &mut self.probe {
            Some(probe) => probe.take(&self.gpu),
            None => Ok(None),
        }
    }

    /// Measures now, several times, with nothing else under way; none where it cannot decide.
    ///
    /// # Errors
    /// See [`Trainer::advance`].
    pub(crate) fn probe(&mut self) -> Result<Option<Rates>, TrainError> {
        self.finish()?;
        match &mut self.probe {
            Some(probe) => probe.measure(&mut self.gpu).map(Some),
            None => Ok(None),
        }
    }

    /// Writes a checkpoint into `folder`, where those of iterations `asked` for stay.
    ///
    /// # Errors
    /// [`TrainError::Export`] when the file cannot be written.
    pub fn checkpoint(
        &mut self,
        scene: &SceneIndex,
        sampler: &ViewSampler,
        t_s: f64,
        (folder, asked): (&Path, &[u32]),
    ) -> Result<PathBuf, TrainError> {
        self.catch_up()?;
        let counters = self.counters()?;
        let state = CheckpointState {
            iteration: self.iteration,
            gaussians: counters.gaussians,
            vertices: self.vertices(),
            sh_degree: self.report.capacities.sh_degree,
            steps: self.steps,
            sampler: sampler.clone(),
            t_s,
            skipped: counters.skipped,
            peaks: self.peaks(),
            judged: self.judged,
            skipped_steps: self.banding.skipped,
            capacities: self.report.capacities,
            variants: self.tensors.variants,
            neighbors: schedule::knows_neighbors(&self.profile, self.iteration),
            scene: scene_digest(scene),
            profile: checkpoint::settings(&self.profile),
        };
        checkpoint::write(&mut self.gpu, &self.tensors, &state, (folder, asked))
    }

    /// Loads a checkpoint that has been checked against profile and scene.
    ///
    /// # Errors
    /// [`TrainError::Checkpoint`] when the file is damaged.
    pub fn restore(&mut self, from: &mut OpenCheckpoint) -> Result<(), TrainError> {
        self.finish()?;
        from.load(&mut self.gpu, &self.tensors)?;
        self.iteration = from.state().iteration;
        self.steps = from.state().steps;
        self.gaussians = from.state().gaussians;
        self.noted = self.iteration;
        self.over = self.iteration;
        self.earlier_peaks = from.state().peaks;
        self.judged = from.state().judged;
        self.banding.skipped = from.state().skipped_steps;
        self.held = None;
        if from.state().neighbors {
            let job = match from.state().has_neighbors_of(&self.profile) {
                true => Job::KnowNeighbors,
                false => Job::FindNeighbors,
            };
            if let Some(program) = self.jobs.get(job) {
                self.gpu.run_compiled(program)?;
            }
        }
        if let Some(vertices) = from.state().vertices {
            self.restart_triangles(vertices)?;
        }
        self.restart_deferred()
    }
}
