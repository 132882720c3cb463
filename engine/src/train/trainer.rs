//! The device side of a run: submits steps, reads status words late, evaluates between steps.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::checkpoint::{self, CheckpointState, OpenCheckpoint, scene_digest};
use super::events::{Event, EventRow};
use super::planning::{EvalReadback, TrainPlan};
use super::schedule::{self, Events};
use super::uniforms::{self, GroupSteps};
use super::{PlanReport, TrainError};
use crate::config::Profile;
use crate::gaussians::Gaussians;
use crate::kernels::counters::Counters;
use crate::kernels::filter_3d::FilterCamera;
use crate::kernels::loss::METRIC_WORDS;
use crate::memory::Gpu;
use crate::scene::{Camera, SceneIndex, ViewSampler};
use crate::step::{self, StepTensors};
use crate::vk::{CompiledProgram, Device, PassTime, RecordOptions, Ticket};

/// What a finished step reports.
#[derive(Clone, Copy, Debug)]
pub struct StepStatus {
    /// Iteration.
    pub iteration: u32,
    /// Its counters.
    pub counters: Counters,
}

/// Metric sums of one evaluated view, and its image when asked for.
#[derive(Clone, Debug)]
pub struct ViewSums {
    /// Eight sums per tile.
    pub sums: Vec<f32>,
    /// RGB and transmittance per pixel.
    pub image: Option<Vec<[f32; 4]>>,
    /// Splats per tile.
    pub tile_counts: Option<Vec<u32>>,
}

struct Programs {
    step: CompiledProgram,
    timed: Option<CompiledProgram>,
    evaluate: CompiledProgram,
    evaluate_image: CompiledProgram,
    filter: CompiledProgram,
    reset: CompiledProgram,
    densify: Option<[CompiledProgram; 2]>,
}

/// Trains one model on one device.
pub struct Trainer {
    // Dropped before `gpu`, which they were compiled on.
    programs: Programs,
    tensors: StepTensors,
    readback: EvalReadback,
    gpu: Gpu,
    profile: Profile,
    report: PlanReport,
    steps: GroupSteps,
    iteration: u32,
    /// Per slot: the submission in flight and its iteration.
    in_flight: Vec<Option<(Ticket, u32)>>,
    extent: f32,
    /// Gaussians of the last status word.
    gaussians: u32,
    /// What status words told besides their figures.
    events: Vec<EventRow>,
}

impl Trainer {
    /// Commits the plan and uploads the model; without one, [`Trainer::restore`] must follow.
    ///
    /// # Errors
    /// [`TrainError::Memory`] when the driver refuses what the plan needs.
    pub fn new(
        device: &Arc<Device>,
        profile: Profile,
        plan: TrainPlan,
        report: PlanReport,
        scene: &SceneIndex,
        model: Option<&Gaussians>,
    ) -> Result<Self, TrainError> {
        let gpu = Gpu::new(device, plan.table.clone(), &plan.programs(), report.budget.cap_bytes)?;
        let slots = report.capacities.slots;
        let once = RecordOptions::default();
        let ring = RecordOptions {
            slots,
            timestamps: false,
        };
        let timed = device.caps().timestamp_period_ns > 0.0;
        let programs = Programs {
            step: gpu.compile(&plan.step, ring)?,
            timed: timed
                .then(|| {
                    gpu.compile(
                        &plan.step,
                        RecordOptions {
                            slots,
                            timestamps: true,
                        },
                    )
                })
                .transpose()?,
            evaluate: gpu.compile(&plan.evaluate, once)?,
            evaluate_image: gpu.compile(&plan.evaluate_image, once)?,
            filter: gpu.compile(&plan.filter, once)?,
            reset: gpu.compile(&plan.reset, once)?,
            densify: match &plan.densify {
                Some([small, large]) => Some([gpu.compile(small, once)?, gpu.compile(large, once)?]),
                None => None,
            },
        };
        let mut trainer = Self {
            programs,
            tensors: plan.tensors,
            readback: plan.readback,
            gpu,
            profile,
            report,
            steps: GroupSteps::default(),
            iteration: 0,
            in_flight: vec![None; slots as usize],
            extent: scene.extent,
            gaussians: model.map_or(0, |m| u32::try_from(m.len()).unwrap_or(u32::MAX)),
            events: Vec::new(),
        };
        if let Some(model) = model {
            step::write_model(&mut trainer.gpu, &trainer.tensors, model)?;
        }
        trainer.set_cameras(scene, model.is_some())?;
        Ok(trainer)
    }

    /// The plan in numbers.
    #[must_use]
    pub fn report(&self) -> &PlanReport {
        &self.report
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
    /// [`TrainError::Stalled`] when a step turned out to have stalled.
    pub fn idle_gpu(&mut self) -> Result<&mut Gpu, TrainError> {
        self.drain()?;
        Ok(&mut self.gpu)
    }

    /// Gaussians in the model as it is on the device, the last densification included.
    ///
    /// # Errors
    /// [`TrainError::Stalled`] when a step turned out to have stalled.
    pub fn gaussians_now(&mut self) -> Result<u32, TrainError> {
        self.drain()?;
        Ok(self.counters()?.gaussians)
    }

    /// Uses the training cameras of `scene` for the 3D filter and, with `recompute`, computes it now. The number of cameras and the largest
    /// focal length are those of the plan; a scene at another scale changes the focal length's share per camera only.
    ///
    /// # Errors
    /// [`TrainError::Memory`].
    pub fn set_cameras(&mut self, scene: &SceneIndex, recompute: bool) -> Result<(), TrainError> {
        self.drain()?;
        let cameras: Vec<FilterCamera> = scene.train.iter().map(|v| FilterCamera::from(&v.camera)).collect();
        self.gpu.write(&self.tensors.filter.cameras, &cameras)?;
        if recompute && self.profile.mip.filter_3d {
            self.gpu.run_compiled(&self.programs.filter)?;
        }
        Ok(())
    }

    /// Submits the next iteration with `camera` and its image (packed u8 RGB). Returns the status of the step that used
    /// this ring slot before, and the pass times when that step was timed.
    ///
    /// # Errors
    /// [`TrainError::Stalled`] when an earlier step turned out to have stalled.
    pub fn advance(&mut self, camera: &Camera, image: &[u8]) -> Result<Option<StepStatus>, TrainError> {
        let slot = self.iteration % self.report.capacities.slots;
        let status = self.collect(slot)?;
        self.iteration += 1;
        let iteration = self.iteration;
        let events = schedule::events_at(&self.profile, iteration);
        self.steps.advance(events.adam_skip_mask);
        let block = uniforms::train(&self.profile, camera, iteration, self.extent, &events, &self.steps);
        self.fill_slot(slot, &block, image)?;
        let ticket = self.gpu.submit(&self.programs.step, slot)?;
        if let Some(entry) = self.in_flight.get_mut(slot as usize) {
            *entry = Some((ticket, iteration));
        }
        self.submit_events(&events)?;
        Ok(status)
    }

    fn submit_events(&mut self, events: &Events) -> Result<(), TrainError> {
        if events.densify
            && let Some([small, large]) = &self.programs.densify
        {
            self.gpu.submit(if events.prune_large { large } else { small }, 0)?;
        }
        if events.filter {
            self.gpu.submit(&self.programs.filter, 0)?;
        }
        if events.reset {
            self.gpu.submit(&self.programs.reset, 0)?;
        }
        Ok(())
    }

    /// Waits for every step in flight and returns their status words in order.
    ///
    /// # Errors
    /// [`TrainError::Stalled`] when one of them stalled.
    pub fn drain(&mut self) -> Result<Vec<StepStatus>, TrainError> {
        let slots = self.report.capacities.slots;
        let mut list = Vec::new();
        for k in 0..slots {
            list.extend(self.collect((self.iteration + k) % slots)?);
        }
        Ok(list)
    }

    fn collect(&mut self, slot: u32) -> Result<Option<StepStatus>, TrainError> {
        let Some((ticket, iteration)) = self.in_flight.get_mut(slot as usize).and_then(Option::take) else {
            return Ok(None);
        };
        self.gpu.queue().wait(ticket, "a training step")?;
        let counters = self.status(slot)?;
        if counters.stall().is_some() {
            return Err(TrainError::Stalled {
                counters: Box::new(counters),
                v_cap: self.report.capacities.v_cap,
                i_cap: self.report.capacities.i_cap,
            });
        }
        self.gaussians = counters.gaussians;
        self.note_events(iteration, &counters);
        Ok(Some(StepStatus { iteration, counters }))
    }

    /// Turns a status word into events. A densification shows in the word of the step after it, because its own step's
    /// word was written before.
    fn note_events(&mut self, iteration: u32, counters: &Counters) {
        let before = iteration.saturating_sub(1);
        let of = schedule::events_at(&self.profile, before);
        let mut note = |event| self.events.push(EventRow { it: before, event });
        if of.densify {
            let Counters {
                clones,
                splits,
                deaths,
                gaussians,
                capped,
                ..
            } = *counters;
            note(Event::Densify {
                clones,
                splits,
                deaths,
                gaussians,
            });
            if capped > 0 {
                note(Event::DensifyCapped {
                    dropped: capped,
                    n_cap: self.report.capacities.n_limit.into(),
                });
            }
        }
        if of.reset {
            let opacity = self.profile.strategy.adc().map_or(1.0, |adc| adc.reset.opacity);
            note(Event::Reset { opacity });
        }
        if of.filter {
            note(Event::Filter {
                views: self.report.capacities.cameras,
            });
        }
    }

    /// Events since the last call, oldest first.
    pub fn take_events(&mut self) -> Vec<EventRow> {
        std::mem::take(&mut self.events)
    }

    /// Gaussians in the model as far as the host knows.
    #[must_use]
    pub fn gaussians(&self) -> u32 {
        self.gaussians
    }

    /// Writes a checkpoint into `folder`.
    ///
    /// # Errors
    /// [`TrainError::Export`] when the file cannot be written.
    pub fn checkpoint(
        &mut self,
        scene: &SceneIndex,
        sampler: &ViewSampler,
        t_s: f64,
        folder: &Path,
    ) -> Result<PathBuf, TrainError> {
        self.drain()?;
        let counters = self.counters()?;
        let state = CheckpointState {
            version: CheckpointState::VERSION,
            iteration: self.iteration,
            gaussians: counters.gaussians,
            sh_degree: self.report.capacities.sh_degree,
            steps: self.steps,
            sampler: sampler.clone(),
            t_s,
            skipped: counters.skipped,
            capacities: self.report.capacities,
            variants: self.tensors.variants,
            scene: scene_digest(scene),
            profile: self.profile.clone(),
        };
        checkpoint::write(&mut self.gpu, &self.tensors, &state, folder)
    }

    /// Loads a checkpoint that has been checked against profile and scene.
    ///
    /// # Errors
    /// [`TrainError::Checkpoint`] when the file is damaged.
    pub fn restore(&mut self, from: &mut OpenCheckpoint) -> Result<(), TrainError> {
        self.drain()?;
        from.load(&mut self.gpu, &self.tensors)?;
        self.iteration = from.state().iteration;
        self.steps = from.state().steps;
        self.gaussians = from.state().gaussians;
        Ok(())
    }

    fn counters(&mut self) -> Result<Counters, TrainError> {
        let words: Vec<Counters> = self.gpu.read(&self.tensors.shared.counters, 1)?;
        Ok(words.first().copied().unwrap_or_default())
    }

    fn status(&self, slot: u32) -> Result<Counters, TrainError> {
        let rings = &self.tensors.rings;
        let view = rings
            .status
            .slice(u64::from(slot) * rings.status_stride, size_of::<Counters>() as u64);
        Ok(bytemuck::pod_read_unaligned(self.gpu.memory().host(&view)?))
    }

    fn fill_slot(
        &mut self,
        slot: u32,
        block: &crate::kernels::uniforms::StepUniforms,
        image: &[u8],
    ) -> Result<(), TrainError> {
        let rings = self.tensors.rings;
        let bytes = bytemuck::bytes_of(block);
        let view = rings
            .uniforms
            .slice(u64::from(slot) * rings.uniforms_stride, bytes.len() as u64);
        self.gpu.memory_mut().host_mut(&view)?.copy_from_slice(bytes);
        let view = rings
            .images
            .slice(u64::from(slot) * rings.images_stride, image.len() as u64);
        self.gpu.memory_mut().host_mut(&view)?.copy_from_slice(image);
        Ok(())
    }

    /// Renders one view with the model as it is and sums its metrics against `image`.
    ///
    /// # Errors
    /// [`TrainError::Stalled`] when the view exceeds a capacity.
    pub fn evaluate(&mut self, camera: &Camera, image: &[u8], keep_image: bool) -> Result<ViewSums, TrainError> {
        self.drain()?;
        let degree = schedule::sh_degree_at(&self.profile, self.iteration);
        let mut block = uniforms::render(&self.profile, camera, degree);
        block.iteration = self.iteration;
        self.fill_slot(0, &block, image)?;
        let program = if keep_image {
            &self.programs.evaluate_image
        } else {
            &self.programs.evaluate
        };
        self.gpu.run_compiled(program)?;
        let counters = self.status(0)?;
        if counters.stall().is_some() {
            return Err(TrainError::Stalled {
                counters: Box::new(counters),
                v_cap: self.report.capacities.v_cap,
                i_cap: self.report.capacities.i_cap,
            });
        }
        let tiles = u64::from(block.tiles_x * block.tiles_y);
        let pixels = u64::from(block.width * block.height);
        let memory = self.gpu.memory();
        let sums = memory.host(&self.readback.sums.slice(0, tiles * 4 * u64::from(METRIC_WORDS)))?;
        let sums = sums.chunks_exact(4).map(bytemuck::pod_read_unaligned).collect();
        let (mut pixels_out, mut counts_out) = (None, None);
        if keep_image {
            let bytes = memory.host(&self.readback.image.slice(0, pixels * 16))?;
            pixels_out = Some(bytes.chunks_exact(16).map(bytemuck::pod_read_unaligned).collect());
            let bytes = memory.host(&self.readback.tile_ranges.slice(0, tiles * 8))?;
            let ranges = bytes.chunks_exact(8).map(bytemuck::pod_read_unaligned::<[u32; 2]>);
            counts_out = Some(ranges.map(|[first, end]| end - first).collect());
        }
        Ok(ViewSums {
            sums,
            image: pixels_out,
            tile_counts: counts_out,
        })
    }

    /// Reads the model back, the 3D filter included.
    ///
    /// # Errors
    /// [`TrainError::Memory`].
    pub fn model(&mut self) -> Result<Gaussians, TrainError> {
        self.drain()?;
        Ok(step::read_model(&mut self.gpu, &self.tensors)?)
    }

    /// Runs one more step with timestamps on, without counting it as an iteration, and returns the time of each pass.
    /// The step's update is off, so the model stays as it is.
    ///
    /// # Errors
    /// [`TrainError::Memory`].
    pub fn time_passes(&mut self, camera: &Camera, image: &[u8]) -> Result<Vec<PassTime>, TrainError> {
        self.drain()?;
        let Some(timed) = &self.programs.timed else {
            return Ok(Vec::new());
        };
        let events = Events {
            adam_skip_mask: 0,
            ..Events::default()
        };
        let mut steps = self.steps;
        steps.advance(0);
        let mut block = uniforms::train(
            &self.profile,
            camera,
            self.iteration.max(1),
            self.extent,
            &events,
            &steps,
        );
        // Rates of zero keep the values; the optimiser's traffic stays what it is. Moments do move, so callers time at
        // the end of a run or on a copy.
        block.adam_rate = [0.0; 8];
        let rings = self.tensors.rings;
        let bytes = bytemuck::bytes_of(&block);
        let view = rings.uniforms.slice(0, bytes.len() as u64);
        self.gpu.memory_mut().host_mut(&view)?.copy_from_slice(bytes);
        let view = rings.images.slice(0, image.len() as u64);
        self.gpu.memory_mut().host_mut(&view)?.copy_from_slice(image);
        let ticket = self.gpu.submit(timed, 0)?;
        self.gpu.queue().wait(ticket, "a timed step")?;
        Ok(timed.times(0)?)
    }
}
