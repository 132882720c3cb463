//! The device side of a run: submits steps, reads status words late, evaluates between steps.

mod deferred;
mod events;
mod heal;
mod pair;
mod poses;
mod replay;
mod results;
mod staging;
mod timed;
mod triangles;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use deferred::Deferred;
use pair::{Drawn, Pairs};

use super::TrainError;
use super::bands::{BandRing, Banding};
use super::common_motion::CommonMotion;
use super::growth_hold::GrowthHold;
use super::judged::Judged;
use super::peaks::Peaks;
use super::probe::Probe;
use super::timing::TimedStep;
use super::trainable::Trainable;
use super::uniforms::{GroupSteps, Lengths};
use super::upload::{self, Uploads};
use crate::plan::schedule::{self, Events};
use crate::plan::{EvalReadback, Faults, Job, Jobs, PlanReport, TrainPlan, losses};
use crate::record::events::{Event, EventRow};
use crate::step::{self, StepTensors, Terms, check_guard_bands, filter_camera};
use kiln_config::Profile;
use kiln_gaussians::Gaussians;
use kiln_gaussians::bound::BoundMesh;
use kiln_gpu::memory::{Gpu, MemoryError};
use kiln_gpu::vk::{CompiledProgram, Device, RecordOptions, Ticket};
use kiln_kernels::counters::Counters;
use kiln_kernels::filter_3d::FilterCamera;
use kiln_kernels::uniforms::StepUniforms;
use kiln_kernels::views::Variants;
use kiln_program::Span;
use kiln_scene::{Camera, SceneIndex};

/// What a finished step reports.
#[derive(Clone, Copy, Debug)]
pub struct StepStatus {
    /// Iteration.
    pub iteration: u32,
    /// Its counters.
    pub counters: Counters,
    /// Vertices of the model in it; none of Gaussians.
    pub vertices: Option<u32>,
    /// Where it compared with a neighbouring view, means of exp(-e) e in pixels over consistent pixels and of exp(-e) (1 - NCC)
    /// over patches.
    pub pair: Option<[f32; 2]>,
}

/// A step in flight.
pub(super) struct Flight {
    pub(super) ticket: Ticket,
    /// What its ring slot holds.
    pub(super) block: StepUniforms,
    /// Optimiser steps, this one included.
    pub(crate) steps: GroupSteps,
    /// Page of resident images that has its photo.
    pub(super) page: usize,
    /// It was submitted with timestamps.
    pub(super) is_timed: bool,
    /// The neighbour that it compares with.
    pub(super) neighbor: Option<Drawn>,
}

/// Where the photo of a step is.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// Here, as [`Photo::bytes`](kiln_scene::Photo::bytes) has it; the step brings it along.
    Bytes(&'a [u8]),
    /// On the device, see [`Trainer::store`]: that of a training view.
    Resident(usize),
    /// In the ring already, see [`Trainer::stage`].
    Staged,
}

impl<'a> From<&'a [u8]> for Target<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(bytes)
    }
}

impl<'a> From<&'a Vec<u8>> for Target<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

/// A step that is over but not yet returned to the caller.
pub(super) struct Finished {
    pub(super) status: StepStatus,
    /// False when the step was left out.
    pub(crate) done: bool,
    pub(super) events: Vec<Event>,
}

/// Trains one model on one device.
pub struct Trainer {
    // Dropped before `gpu`, which they were compiled on.
    pub(super) jobs: Jobs<CompiledProgram>,
    /// Steps with timestamps; none unless they are asked for and the device has a clock.
    pub(super) timed_jobs: Jobs<CompiledProgram>,
    /// None where it cannot decide.
    pub(super) probe: Option<Probe>,
    pub(super) tensors: StepTensors,
    /// What is trained.
    pub(super) model: Trainable,
    pub(super) readback: EvalReadback,
    /// The ring's places for images.
    pub(super) uploads: Uploads,
    pub(super) gpu: Gpu,
    pub(super) profile: Profile,
    pub(crate) report: PlanReport,
    /// Optimiser steps submitted so far.
    pub(crate) steps: GroupSteps,
    iteration: u32,
    /// Training view of the next step.
    view: u32,
    /// What it compares with.
    pairs: Pairs,
    /// Per slot, the step in flight.
    pub(super) in_flight: Vec<Option<Flight>>,
    /// Oldest first; no longer than the ring, as each call of [`Trainer::advance`] takes one.
    pub(super) finished: VecDeque<Finished>,
    pub(super) banding: Banding,
    pub(super) lengths: Lengths,
    /// Gaussians of the last status word.
    gaussians: u32,
    /// What status words reported besides their figures.
    pub(super) events: Vec<EventRow>,
    /// Last iteration whose events are known.
    noted: u32,
    /// Last iteration whose step is known to be over for good.
    over: u32,
    /// Histograms that the device counts after an iteration, not read yet.
    counting: Option<(u32, Ticket)>,
    pub(super) histogram_back: Option<Span>,
    /// Largest memory figures of earlier processes of this run.
    earlier_peaks: Peaks,
    /// Iteration whose step is submitted and whose densification, filter and reset wait for [`Trainer::release`].
    pub(super) held: Option<u32>,
    growth: GrowthHold,
    /// How photos that are left out of training have judged the growth.
    pub(crate) judged: Judged,
    /// By training view, its last steps that were left out in a row.
    pub(super) left_out_in_a_row: BTreeMap<u32, u32>,
    /// Timed steps that were not asked for yet.
    pub(super) timed: Vec<TimedStep>,
    /// Of the cameras as they are given, where they are corrected.
    common_motion: CommonMotion,
    /// Time spent waiting for steps.
    waited: Duration,
    pub(super) deferred: Deferred,
    /// Iterations at whose beginning the device is lost, see [`Faults::lose_device_at`].
    lose_at: Vec<u32>,
}

impl Trainer {
    /// Commits the plan and uploads the model; without one, [`Trainer::restore`] must follow.
    ///
    /// # Errors
    /// [`TrainError::Memory`] when the driver refuses what the plan needs.
    pub fn new(
        device: &Arc<Device>,
        mut profile: Profile,
        plan: TrainPlan,
        report: PlanReport,
        scene: &SceneIndex,
        model: Option<&Gaussians>,
        faults: &Faults,
    ) -> Result<Self, TrainError> {
        profile.model.near = Some(profile.near_z(scene));
        let mut gpu = Gpu::with_layout(
            device,
            plan.table.clone(),
            &plan.programs(),
            report.budget.cap_bytes,
            plan.layout,
        )?;
        let slots = report.capacities.slots;
        let recorded_for = (slots, plan.tensors.resident.pages.len());
        let options = RecordOptions {
            watched: true,
            ..RecordOptions::default()
        };
        let jobs = plan.jobs.compile(&gpu, recorded_for, options, |_| true)?;
        let has_times = profile.diagnose().timed_every > 0 && device.caps().timestamp_period_ns > 0.0;
        let with_times = RecordOptions {
            timestamps: true,
            ..options
        };
        let timed_jobs = plan
            .jobs
            .compile(&gpu, recorded_for, with_times, |job| has_times && job.is_step())?;
        let least = faults.bands;
        let ring = BandRing::new(plan.bands, plan.record_bands.as_ref(), least, report.capacities);
        let banding = Banding::new(ring, least, &plan.tensors.variants);
        let probe = match &plan.probe {
            Some(tensors) => Some(Probe::new(&gpu, tensors)?),
            None => None,
        };
        let deferred = Deferred::new(&profile);
        let lengths = Lengths {
            extent: scene.extent,
            rate_unit: schedule::rate_unit(&profile, scene.extent, report.capacities.bound.as_ref()),
        };
        let mut trainer = Self {
            jobs,
            timed_jobs,
            probe,
            uploads: Uploads::new(upload::places(&mut gpu, &plan.tensors.rings)?),
            model: Trainable::new(&profile, &report.capacities),
            tensors: plan.tensors,
            readback: plan.readback,
            gpu,
            profile,
            report,
            steps: GroupSteps::default(),
            iteration: 0,
            view: 0,
            pairs: Pairs::new(plan.pair),
            in_flight: (0..slots).map(|_| None).collect(),
            finished: VecDeque::new(),
            banding,
            lengths,
            gaussians: model.map_or(0, |m| u32::try_from(m.len()).unwrap_or(u32::MAX)),
            events: Vec::new(),
            noted: 0,
            over: 0,
            counting: None,
            histogram_back: plan.histogram_back,
            earlier_peaks: Peaks::default(),
            held: None,
            growth: GrowthHold::default(),
            judged: Judged::default(),
            left_out_in_a_row: BTreeMap::new(),
            timed: Vec::new(),
            common_motion: CommonMotion::default(),
            waited: Duration::ZERO,
            deferred,
            lose_at: faults.lose_device_at.clone(),
        };
        losses::start(&mut trainer.gpu, &trainer.tensors, scene)?;
        trainer.upload_rates()?;
        if let Some(model) = model {
            step::write_model(&mut trainer.gpu, &trainer.tensors, model)?;
        }
        let before = trainer.profile.iterations_before();
        (trainer.iteration, trainer.noted, trainer.over) = (before, before, before);
        trainer.set_cameras(scene, model.is_some())?;
        if model.is_some()
            && schedule::is_rebuild(&trainer.profile, trainer.iteration)
            && let Some(program) = trainer.jobs.get(Job::FindNeighbors)
        {
            trainer.gpu.run_compiled(program)?;
        }
        Ok(trainer)
    }

    /// Binds the model, which has been uploaded, to the triangles of `mesh`.
    ///
    /// # Errors
    /// [`TrainError::Memory`] when the plan is for no mesh, or for one of other sizes.
    pub fn bind(&mut self, mesh: &BoundMesh) -> Result<(), TrainError> {
        self.finish()?;
        Ok(step::write_mesh(&mut self.gpu, &self.tensors, mesh)?)
    }

    /// The plan in numbers.
    #[must_use]
    pub fn report(&self) -> &PlanReport {
        &self.report
    }

    /// The kernels of this run.
    #[must_use]
    pub fn variants(&self) -> Variants {
        self.tensors.variants
    }

    /// Iterations submitted so far.
    #[must_use]
    pub fn iteration(&self) -> u32 {
        self.iteration
    }

    /// The device's memory and queue, for reports.
    #[must_use]
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The device with no step in flight, for work in arena memory between steps.
    ///
    /// # Errors
    /// See [`Trainer::advance`].
    pub fn idle_gpu(&mut self) -> Result<&mut Gpu, TrainError> {
        self.finish()?;
        Ok(&mut self.gpu)
    }

    /// Uses the training cameras of `scene` for the 3D filter and, with `recompute`, computes it now. The number of
    /// cameras and the largest focal length are those of the plan, at the run's full resolution: a coarser phase changes
    /// whose image border a Gaussian lies inside, by rounding, and nothing else, so that its filter is the final one.
    ///
    /// # Errors
    /// [`TrainError::Memory`].
    pub fn set_cameras(&mut self, scene: &SceneIndex, recompute: bool) -> Result<(), TrainError> {
        self.finish()?;
        let near_z = self.profile.near_z(scene);
        let camera = |view: &kiln_scene::View| filter_camera(&view.camera, near_z);
        let cameras: Vec<FilterCamera> = scene.train.iter().map(camera).collect();
        self.gpu.write(&self.tensors.filter.cameras, &cameras)?;
        self.pairs.set(scene);
        if self.tensors.extra.poses.is_some() {
            self.common_motion = CommonMotion::of(scene);
        }
        if recompute && self.profile.has_filter_3d() {
            self.gpu.run_compiled(self.jobs.need(Job::Filter)?)?;
        }
        Ok(())
    }

    /// The next steps are of training view `index`, which what is learnt for each view goes by.
    pub fn see(&mut self, index: usize) {
        self.view = u32::try_from(index).unwrap_or(u32::MAX);
    }

    /// True when the loss of the step of `iteration` looks at normals.
    #[must_use]
    pub fn looks_at_normals(&self, iteration: u32) -> bool {
        let compares = self.report.capacities.losses.iter().any(|loss| loss.compares_normals());
        compares && schedule::terms_at(&self.profile, iteration) == Terms::Surface
    }

    /// True when training images stay on the device: steps then name theirs, and no step brings one.
    #[must_use]
    pub fn is_resident(&self) -> bool {
        !self.tensors.resident.pages.is_empty()
    }

    /// Puts the photo of training view `index` into device memory, where every later step finds it.
    ///
    /// # Errors
    /// [`TrainError::Memory`] when images are not resident or the photo is larger than the plan expects.
    pub fn store(&mut self, index: usize, photo: &[u8]) -> Result<(), TrainError> {
        self.finish()?;
        let resident = &self.tensors.resident;
        let view = resident.place(index).and_then(|place| resident.view(place));
        let view = view.ok_or_else(|| no_place(index, photo.len()))?;
        Ok(self.gpu.upload(&view, photo)?)
    }

    /// Submits the next iteration with `camera` and its photo, and returns the status of the oldest
    /// finished step that was not returned yet, if there is one. Steps come back in order; those that were left out
    /// do not.
    ///
    /// A step that the device gave up is done again in bands or left out here, see [`Trainer::take_events`].
    ///
    /// # Errors
    /// [`TrainError::TileTooFull`] when an earlier step saw a tile with more splats than there are visible records.
    pub fn advance<'a>(
        &mut self,
        camera: &Camera,
        target: impl Into<Target<'a>>,
    ) -> Result<Option<StepStatus>, TrainError> {
        let status = self.advance_and_hold(camera, target)?;
        self.release()?;
        Ok(status)
    }

    /// [`Trainer::advance`] without what follows the step: densification, 3D filter and opacity reset wait for
    /// [`Trainer::release`], so that the model can be measured and saved as the step left it.
    ///
    /// # Errors
    /// See [`Trainer::advance`].
    pub fn advance_and_hold<'a>(
        &mut self,
        camera: &Camera,
        target: impl Into<Target<'a>>,
    ) -> Result<Option<StepStatus>, TrainError> {
        if self.lose_at.contains(&(self.iteration + 1)) {
            self.gpu.device().lose();
            self.gpu.queue().is_done(Ticket::default())?;
        }
        self.release()?;
        let slots = self.report.capacities.slots;
        let slot = self.iteration % slots;
        self.collect(slot)?;
        // The next step's slot is free from now on, so that its photo can be brought there meanwhile.
        self.collect((self.iteration + 1) % slots)?;
        if self.banding.turns().is_some() {
            self.finish()?;
        }
        self.iteration += 1;
        self.held = Some(self.iteration);
        let events = schedule::events_at(&self.profile, self.iteration);
        self.steps.advance(events.adam_skip_mask);
        let mut block = self.model.uniforms(
            &self.profile,
            camera,
            self.iteration,
            self.lengths,
            &events,
            &self.steps,
        );
        block.view = self.view;
        let page = self.fill_slot(slot, &mut block, target.into())?;
        let neighbor = self.fill_neighbor(slot)?;
        let mut flight = Flight {
            ticket: Ticket::default(),
            block,
            steps: self.steps,
            page,
            is_timed: false,
            neighbor,
        };
        if self.banding.turns().is_some() {
            self.settle(slot, &flight, None)?;
        } else {
            self.submit_timed(slot, &mut flight)?;
            if let Some(entry) = self.in_flight.get_mut(slot as usize) {
                *entry = Some(flight);
            }
        }
        Ok(self.deliver())
    }

    /// Submits what follows the step of [`Trainer::advance_and_hold`], if it was not submitted yet.
    ///
    /// # Errors
    /// [`TrainError::Memory`].
    pub fn release(&mut self) -> Result<(), TrainError> {
        match self.held.take() {
            Some(iteration) if self.is_triangles() => self.change_triangles(iteration),
            Some(iteration) => {
                self.submit_events(iteration)?;
                self.restart_adam(iteration)?;
                self.center_poses(iteration)
            }
            None => Ok(()),
        }
    }

    /// Starts the optimiser anew where an iteration is followed by that.
    fn restart_adam(&mut self, iteration: u32) -> Result<(), TrainError> {
        if self.profile.adam_restart() != Some(iteration) {
            return Ok(());
        }
        // Steps that are done again need the moments that they had.
        self.finish()?;
        self.gpu.run_compiled(self.jobs.need(Job::Restart)?)?;
        self.steps = GroupSteps::default();
        Ok(())
    }

    /// Largest memory figures of the run.
    #[must_use]
    pub fn peaks(&self) -> Peaks {
        Peaks::of(&self.gpu).max(self.earlier_peaks)
    }

    /// Waits for every step in flight and returns the status of all steps that were not returned yet, in order. What the
    /// last step's densification did is read from the device, because no later step's word has it.
    ///
    /// # Errors
    /// See [`Trainer::advance`].
    pub fn drain(&mut self) -> Result<Vec<StepStatus>, TrainError> {
        self.finish()?;
        check_guard_bands(&mut self.gpu)?;
        let list = std::iter::from_fn(|| self.deliver()).collect();
        let Events {
            densify,
            cull,
            filter,
            reset,
            prune,
            ..
        } = schedule::events_at(&self.profile, self.iteration);
        if self.held.is_none() && self.noted < self.iteration && (densify || cull || filter || reset || prune) {
            let counters = self.counters()?;
            self.gaussians = counters.gaussians;
            self.note_events(self.iteration, &counters);
        }
        Ok(list)
    }

    /// Waits for every step in flight.
    pub(super) fn finish(&mut self) -> Result<(), TrainError> {
        let slots = self.report.capacities.slots;
        for k in 0..slots {
            self.collect((self.iteration + k) % slots)?;
        }
        Ok(())
    }

    /// Waits for the oldest step in flight, which is in slot `slot` if there is one.
    fn collect(&mut self, slot: u32) -> Result<(), TrainError> {
        let Some(flight) = self.in_flight.get_mut(slot as usize).and_then(Option::take) else {
            return Ok(());
        };
        let since = Instant::now();
        self.gpu.queue().wait(flight.ticket, "a training step")?;
        self.waited += since.elapsed();
        let counters = self.status(slot)?;
        if counters.stall().is_some() {
            return self.recover(slot, flight, counters);
        }
        self.note_times(slot, &flight, &counters)?;
        self.note_done(&flight);
        self.finished.push_back(Finished {
            status: StepStatus {
                iteration: flight.block.iteration,
                counters,
                vertices: self.vertices(),
                pair: self.pair_means(slot, &flight)?,
            },
            done: true,
            events: Vec::new(),
        });
        Ok(())
    }

    /// Takes the oldest finished step that was done, and the events up to it.
    fn deliver(&mut self) -> Option<StepStatus> {
        while let Some(Finished { status, done, events }) = self.finished.pop_front() {
            let StepStatus {
                iteration, counters, ..
            } = status;
            self.gaussians = counters.gaussians;
            self.over = iteration;
            self.note_events(iteration.saturating_sub(1), &counters);
            let rows = events.into_iter().map(|event| EventRow { it: iteration, event });
            self.events.extend(rows);
            if done {
                return Some(status);
            }
        }
        None
    }

    /// Gaussians in the model as far as the host knows.
    #[must_use]
    pub fn gaussians(&self) -> u32 {
        self.gaussians
    }

    pub(super) fn counters(&mut self) -> Result<Counters, TrainError> {
        let words: Vec<Counters> = self.gpu.read(&self.tensors.shared.counters, 1)?;
        Ok(words.first().copied().unwrap_or_default())
    }

    pub(super) fn status(&self, slot: u32) -> Result<Counters, TrainError> {
        let rings = &self.tensors.rings;
        let view = rings
            .status
            .slice(u64::from(slot) * rings.status_stride, size_of::<Counters>() as u64);
        Ok(bytemuck::pod_read_unaligned(self.gpu.memory().host(&view)?))
    }

    /// Writes uniforms and photo of a ring slot; returns the page of resident images that the photo is in.
    fn fill_slot(&mut self, slot: u32, block: &mut StepUniforms, target: Target<'_>) -> Result<usize, TrainError> {
        let page = match target {
            Target::Bytes(photo) => self.put_photo(slot, photo)?,
            Target::Staged => self.take_photo(slot)?,
            Target::Resident(index) => {
                let place = self.tensors.resident.place(index).ok_or_else(|| no_place(index, 0))?;
                block.image_offset = u32::try_from(place.offset / 4).map_err(|_| no_place(index, 0))?;
                place.page
            }
        };
        self.write_uniforms(slot, block)?;
        Ok(page)
    }

    pub(super) fn write_uniforms(&mut self, slot: u32, block: &StepUniforms) -> Result<(), TrainError> {
        let rings = self.tensors.rings;
        let own = self.model.behind(block);
        let behind = own.as_ref().map(bytemuck::bytes_of).unwrap_or_default();
        let mut at = u64::from(slot) * rings.uniforms_stride;
        for bytes in [bytemuck::bytes_of(block), behind] {
            let view = rings.uniforms.slice(at, bytes.len() as u64);
            self.gpu.memory_mut().host_mut(&view)?.copy_from_slice(bytes);
            at += bytes.len() as u64;
        }
        Ok(())
    }

    /// Counts `time` as spent waiting: for a photo on its way into the ring.
    pub(crate) fn add_wait(&mut self, time: Duration) {
        self.waited += time;
    }

    /// Time that this thread has spent waiting for steps and photos.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.waited
    }
}

pub(super) fn no_place(index: usize, bytes: usize) -> TrainError {
    TrainError::Memory(MemoryError::OutOfRange {
        tensor: "images/resident".to_owned(),
        offset: index as u64,
        bytes: bytes as u64,
    })
}
