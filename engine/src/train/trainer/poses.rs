//! Corrections of cameras: read back, and found for test views, whose photos no step of training sees.

use super::{Flight, Target, Trainer};
use crate::plan::Job;
use crate::step::Terms;
use crate::train::common_motion::EVERY;
use crate::train::poses::RefinedPoses;
use crate::train::{TrainError, uniforms};
use kiln_gpu::vk::Ticket;
use kiln_kernels::pose::{VALUES, WORDS, state_bytes};
use kiln_scene::{Camera, Split, ViewId};

impl Trainer {
    /// Where the cameras are by now; none where they are as given.
    ///
    /// # Errors
    /// [`TrainError::Memory`].
    pub fn refined_poses(&mut self) -> Result<Option<RefinedPoses>, TrainError> {
        let Some(poses) = self.tensors.extra.poses else {
            return Ok(None);
        };
        self.finish()?;
        let c = &self.tensors.capacities;
        Ok(Some(RefinedPoses {
            words: self.gpu.read(&poses.state, c.poses as usize * WORDS)?,
            train: c.cameras as usize,
            extent: self.lengths.extent,
        }))
    }

    /// Takes what all corrections share out of them where an iteration is followed by that. Not after the last two: the
    /// last step updates nothing, so the scene would have none to come along.
    pub(super) fn center_poses(&mut self, iteration: u32) -> Result<(), TrainError> {
        let Some(poses) = self.tensors.extra.poses else {
            return Ok(());
        };
        if !iteration.is_multiple_of(EVERY) || iteration + 1 >= self.profile.schedule.iterations {
            return Ok(());
        }
        // Steps that are done again need the cameras that they had.
        self.finish()?;
        let views = self.tensors.capacities.cameras as usize;
        let mut words: Vec<f32> = self.gpu.read(&poses.state, views * WORDS)?;
        self.common_motion.remove(&mut words);
        Ok(self.gpu.write(&poses.state, &words)?)
    }

    /// Moves the camera of test view `index` to its photo, from where it was left last, with the model as it is; nothing else
    /// learns from that. Does nothing where cameras are as given.
    ///
    /// # Errors
    /// See [`Trainer::evaluate`].
    pub fn align(&mut self, index: usize, camera: &Camera, photo: &[u8]) -> Result<(), TrainError> {
        let (Some(poses), Some(options)) = (self.tensors.extra.poses, self.profile.train.refine_poses) else {
            return Ok(());
        };
        self.finish()?;
        let id = ViewId {
            split: Split::Test,
            index,
        };
        let row = RefinedPoses::row(self.tensors.capacities.cameras as usize, id);
        #[expect(clippy::cast_possible_truncation, reason = "there are fewer views than u32 counts")]
        let view = row as u32;
        let words = poses.state.slice(u64::from(view) * state_bytes(1), state_bytes(1));
        let mut state: Vec<f32> = self.gpu.read(&words, WORDS)?;
        let rest = state.get_mut(VALUES..).unwrap_or_default();
        rest.fill(0.0);
        self.gpu.write(&words, &state)?;
        for step in 0..options.test_steps {
            let mut block = self.block_for(camera);
            block.view = view;
            uniforms::for_alignment(&mut block, &options, (step, options.test_steps), self.lengths.extent);
            if step == 0 {
                self.fill_slot(0, &mut block, Target::Bytes(photo))?;
            } else {
                self.write_uniforms(0, &block)?;
            }
            let flight = Flight {
                ticket: Ticket::default(),
                block,
                steps: self.steps,
                page: self.tensors.resident.pages.len(),
                is_timed: false,
                neighbor: None,
            };
            if !self.alignment_step(&flight)? {
                break;
            }
        }
        Ok(())
    }

    /// One step of an alignment, whole or in bands; false when it came to nothing.
    fn alignment_step(&mut self, flight: &Flight) -> Result<bool, TrainError> {
        let mut turns = self.banding.turns();
        if turns.is_none() {
            let ticket = self
                .gpu
                .submit(self.jobs.need(Job::Step(Terms::Image, flight.page))?, 0)?;
            self.gpu.queue().wait(ticket, "a step that moves a test camera")?;
            let Some(reason) = self.status(0)?.stall() else {
                return Ok(true);
            };
            self.gpu.run_compiled(self.jobs.need(Job::ClearStall)?)?;
            turns = self.banding.way_out(reason);
        }
        while let Some(now) = turns {
            let Some(reason) = self.bands_of_step(0, flight, (Terms::Image, now))?.counters.stall() else {
                return Ok(true);
            };
            self.gpu.run_compiled(self.jobs.need(Job::ClearStall)?)?;
            turns = self.banding.way_out(reason).filter(|next| *next != now);
        }
        Ok(false)
    }
}
