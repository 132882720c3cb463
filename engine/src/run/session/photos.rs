//! Which view a step trains, and how its photo comes to the device.

use std::sync::Arc;
use std::time::Instant;

use super::{RunError, Session, count};
use crate::plan::AHEAD;
use crate::record::events::{Event, Progress, RunEvent, Stage};
use crate::train::Target;
use kiln_scene::{SceneError, Split, ViewId};

const fn training_view(index: usize) -> ViewId {
    ViewId {
        split: Split::Train,
        index,
    }
}

impl Session {
    /// The next training view, and where the device finds its photo. Views whose images cannot be used are passed over.
    pub(super) fn draw(&mut self, iteration: u32) -> Result<(ViewId, Target<'static>), RunError> {
        let mut spared = 0;
        loop {
            let id = training_view(self.sampler.draw());
            if self.left_out.contains(id) {
                continue;
            }
            if self.is_spared(id.index) {
                spared += 1;
                // All others cannot be used.
                self.trainer.judged.over |= spared > 2 * self.sampler.views();
                continue;
            }
            if self.trainer.is_resident() {
                return Ok((id, Target::Resident(id.index)));
            }
            if self.orders.prefetch {
                self.phase.prefetch(&self.sampler);
            }
            // What is decoded may still be on its way into the ring; that is work of a step like any other.
            let ready = self.trainer.is_staging_over() || self.phase.store.is_ready(id);
            let staged = self.wait_for_decoder(ready, |session| session.trainer.staged(id))?;
            let brought = match staged {
                Some(staged) => staged,
                None => {
                    let ready = self.phase.store.is_ready(id);
                    match self.wait_for_decoder(ready, |session| session.phase.store.get(id))? {
                        Ok(photo) => {
                            self.trainer.put(id, photo.bytes())?;
                            Ok(())
                        }
                        Err(error) => Err(error),
                    }
                }
            };
            match brought {
                Ok(()) => return Ok((id, Target::Staged)),
                Err(error) => self.leave_out(iteration, id, &error)?,
            }
        }
    }

    /// Gives the step of training view `index` the neighbour that it compares with, where it does, and brings that view's photo. A neighbour
    /// whose image cannot be used is none.
    pub(super) fn see_neighbor(&mut self, iteration: u32, index: usize) -> Result<(), RunError> {
        let Some(neighbor) = self.trainer.neighbor_of(index) else {
            return Ok(());
        };
        let id = training_view(neighbor);
        if self.left_out.contains(id) {
            return Ok(());
        }
        if self.trainer.is_resident() {
            return Ok(self.trainer.compare_with(neighbor, None)?);
        }
        let ready = self.phase.store.is_ready(id);
        match self.wait_for_decoder(ready, |session| session.phase.store.get(id))? {
            Ok(photo) => Ok(self.trainer.compare_with(neighbor, Some(photo.bytes()))?),
            Err(error) => self.leave_out(iteration, id, &error),
        }
    }

    /// Does what may wait for the decoder; unless it is `ready`, the device has nothing else to do meanwhile, and the time
    /// does not count as training. When it is, all there may be to wait for is a photo's way into the ring.
    fn wait_for_decoder<T>(&mut self, ready: bool, wait: impl FnOnce(&mut Self) -> T) -> Result<T, RunError> {
        if !ready {
            self.trainer.idle_gpu()?;
            self.watch.stop(self.now());
        }
        let since = Instant::now();
        let value = wait(self);
        if ready {
            self.trainer.add_wait(since.elapsed());
        } else {
            self.watch.start(self.now());
        }
        Ok(value)
    }

    /// Has the photo of the next step brought into the ring while the device works on this one.
    pub(super) fn stage_next(&mut self) {
        let is_last = self.trainer.iteration() >= self.profile.schedule.iterations;
        if is_last || self.trainer.is_resident() || !self.orders.prefetch {
            return;
        }
        let usable = |id: &ViewId| !self.left_out.contains(*id) && !self.is_spared(id.index);
        let find = |count| self.sampler.upcoming(count).into_iter().map(training_view).find(usable);
        // Nearly always the very next.
        let Some(id) = find(1).or_else(|| find(AHEAD)) else {
            return;
        };
        let store = Arc::clone(&self.phase.store);
        self.trainer.stage(id, move || store.get(id));
    }

    /// Leaves out a view whose image cannot be used, and says so once.
    pub(super) fn leave_out(&mut self, iteration: u32, id: ViewId, error: &SceneError) -> Result<(), RunError> {
        match self.left_out.add(id, error, &self.scene)? {
            Some(message) => self.event(iteration, Event::Warning { message }),
            None => Ok(()),
        }
    }

    /// Puts the training images of this phase into device memory.
    pub(super) fn store_images(&mut self, iteration: u32) -> Result<(), RunError> {
        let total = self.phase.scene.train.len();
        for index in 0..total {
            let id = training_view(index);
            self.phase.store.prefetch((index..total).take(AHEAD).map(training_view));
            match self.phase.store.get(id) {
                Ok(photo) => self.trainer.store(index, photo.bytes())?,
                Err(error) => self.leave_out(iteration, id, &error)?,
            }
            self.emit(&RunEvent::Progress(Progress {
                stage: Stage::Load,
                done: count(index + 1),
                total: count(total),
            }))?;
        }
        self.stored = true;
        Ok(())
    }
}
