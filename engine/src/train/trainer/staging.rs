//! The trainer's side of photos that are brought into the ring ahead of their steps; see [`super::upload`].

use super::Trainer;
use crate::train::TrainError;
use kiln_gpu::memory::MemoryError;
use kiln_scene::{Photo, SceneError, ViewId};

impl Trainer {
    /// Ring slot of the next step; no step in flight has it.
    fn next_slot(&self) -> u32 {
        self.iteration() % self.report.capacities.slots
    }

    /// Lets a thread bring the photo of view `id`, from `source`, to where the next step looks for it; returns at once. That
    /// step then is one with [`Target::Staged`](super::Target::Staged), unless [`Trainer::staged`] says otherwise.
    ///
    /// Does nothing where training images stay on the device.
    pub fn stage(&mut self, id: ViewId, source: impl FnOnce() -> Result<Photo, SceneError> + Send + 'static) {
        let slot = self.next_slot();
        let is_free = self.in_flight.get(slot as usize).is_none_or(Option::is_none);
        if is_free && !self.is_resident() {
            self.uploads.stage(slot as usize, id, source);
        }
    }

    /// True when [`Trainer::staged`] would not wait.
    #[must_use]
    pub fn is_staging_over(&self) -> bool {
        self.uploads.is_settled(self.next_slot() as usize)
    }

    /// Waits until the staged photo is where the next step looks for it. None when nothing was staged for view `id`, or when
    /// an evaluation needed the place; the step then brings its photo itself. A failure of the source is returned once.
    pub fn staged(&mut self, id: ViewId) -> Option<Result<(), SceneError>> {
        self.uploads.staged(self.next_slot() as usize, id)
    }

    /// Brings the photo of view `id` to where the next step looks for it, here and now; that step then is one with
    /// [`Target::Staged`](super::Target::Staged).
    ///
    /// # Errors
    /// [`TrainError::Memory`] when the photo is larger than the plan expects, or images stay on the device.
    pub fn put(&mut self, id: ViewId, photo: &[u8]) -> Result<(), TrainError> {
        let slot = self.next_slot();
        if self.uploads.put(slot as usize, photo, Some(id)) {
            Ok(())
        } else {
            Err(no_photo(slot, photo.len()))
        }
    }

    /// Forgets what was staged, once the thread is done with it.
    pub fn unstage(&mut self) {
        self.uploads.unstage();
    }

    /// Writes a photo into ring slot `slot`; returns the page of a step that brings its photo along.
    pub(super) fn put_photo(&mut self, slot: u32, photo: &[u8]) -> Result<usize, TrainError> {
        if self.uploads.put(slot as usize, photo, None) {
            Ok(0)
        } else {
            Err(no_photo(slot, photo.len()))
        }
    }

    /// Uses up the photo that was staged in ring slot `slot`; returns the page of a step that brings its photo along.
    pub(super) fn take_photo(&mut self, slot: u32) -> Result<usize, TrainError> {
        if self.uploads.take(slot as usize) {
            Ok(0)
        } else {
            Err(no_photo(slot, 0))
        }
    }
}

/// A photo that has no room in the ring, or of no bytes: one that was to be there and is not.
fn no_photo(slot: u32, bytes: usize) -> TrainError {
    TrainError::Memory(MemoryError::OutOfRange {
        tensor: "ring/images".to_owned(),
        offset: slot.into(),
        bytes: bytes as u64,
    })
}
