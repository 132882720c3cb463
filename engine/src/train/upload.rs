//! Photos on their way into the ring: a thread of its own brings the next step's there, ahead of the step.
//!
//! Owns the ring's places for images, as windows into mapped memory, and the thread. There is one place more than steps in
//! flight, so that one can be filled while the device still reads the others. What is [staged](Uploads::stage) is a promise
//! about one place: the view whose photo it gets. Whoever needs the place for something else just
//! [puts](Uploads::put) it there, and the promise is void. Waiting always ends: the thread answers every request, also one
//! whose source failed or panicked, and closing waits for at most the photo that is being fetched.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::step::Rings;
use kiln_gpu::memory::{Gpu, MemoryError};
use kiln_gpu::vk::Window;
use kiln_scene::{Photo, SceneError, ViewId};

/// Somewhere to write a photo.
pub(super) trait Place: Send + 'static {
    /// Writes `bytes` at the start; false when there is no room for them.
    fn write(&mut self, bytes: &[u8]) -> bool;
}

impl Place for Window {
    fn write(&mut self, bytes: &[u8]) -> bool {
        Self::write(self, bytes)
    }
}

/// Fetches a photo; may wait for a decoder.
type Source = Box<dyn FnOnce() -> Result<Photo, SceneError> + Send>;

/// What a place has in it.
enum Held {
    /// Nothing that was promised.
    Nothing,
    /// The thread is at it.
    Filling,
    /// The photo of a view.
    Photo(ViewId),
    /// Why there is no photo of the view.
    Failure(ViewId, SceneError),
}

/// One place of the ring.
struct Slot<P> {
    /// None while the thread has it.
    place: Option<P>,
    held: Held,
}

impl<P> Slot<P> {
    fn new(place: P) -> Self {
        Self {
            place: Some(place),
            held: Held::Nothing,
        }
    }

    fn is_filling(&self) -> bool {
        matches!(self.held, Held::Filling)
    }
}

struct Job<P> {
    slot: usize,
    id: ViewId,
    source: Source,
    place: P,
}

struct State<P> {
    slots: Vec<Slot<P>>,
    job: Option<Job<P>>,
    closing: bool,
}

struct Shared<P> {
    state: Mutex<State<P>>,
    /// Signalled when there is work or the thread is to end.
    work: Condvar,
    /// Signalled when a place was filled.
    done: Condvar,
}

/// The ring's places for images, and the thread that fills them.
pub(super) struct Uploads<P: Place = Window> {
    shared: Arc<Shared<P>>,
    /// Started by the first request.
    thread: Option<JoinHandle<()>>,
}

impl<P: Place> Uploads<P> {
    /// A ring of these places.
    pub(crate) fn new(places: impl IntoIterator<Item = P>) -> Self {
        let state = State {
            slots: places.into_iter().map(Slot::new).collect(),
            job: None,
            closing: false,
        };
        Self {
            shared: Arc::new(Shared {
                state: Mutex::new(state),
                work: Condvar::new(),
                done: Condvar::new(),
            }),
            thread: None,
        }
    }

    /// Asks for the photo of view `id`, from `source`, in place `slot`, which the device has done with; returns at once.
    /// Where the thread is busy, or the system refuses one, nothing is staged.
    pub(super) fn stage(
        &mut self,
        slot: usize,
        id: ViewId,
        source: impl FnOnce() -> Result<Photo, SceneError> + Send + 'static,
    ) {
        if self.thread.is_none() {
            let shared = Arc::clone(&self.shared);
            let builder = std::thread::Builder::new().name("upload".to_owned());
            self.thread = builder.spawn(move || shared.serve()).ok();
            if self.thread.is_none() {
                return;
            }
        }
        let mut state = self.shared.lock();
        if state.job.is_some() {
            return;
        }
        let Some(entry) = state.slots.get_mut(slot) else { return };
        let Some(place) = entry.place.take() else { return };
        entry.held = Held::Filling;
        state.job = Some(Job {
            slot,
            id,
            source: Box::new(source),
            place,
        });
        self.shared.work.notify_one();
    }

    /// True when [`Uploads::staged`] would not wait.
    pub(super) fn is_settled(&self, slot: usize) -> bool {
        !self.shared.lock().slots.get(slot).is_some_and(Slot::is_filling)
    }

    /// What became of the photo of view `id` in place `slot`, once the thread is done with it; none when another one or
    /// nothing is there. A failure is returned once.
    pub(super) fn staged(&mut self, slot: usize, id: ViewId) -> Option<Result<(), SceneError>> {
        let mut state = self.shared.settled(slot);
        let entry = state.slots.get_mut(slot)?;
        match &entry.held {
            Held::Photo(of) if *of == id => Some(Ok(())),
            Held::Failure(of, error) if *of == id => {
                let error = error.clone();
                entry.held = Held::Nothing;
                Some(Err(error))
            }
            _ => None,
        }
    }

    /// True when place `slot` has a staged photo; it is used up by that.
    pub(super) fn take(&mut self, slot: usize) -> bool {
        let mut state = self.shared.settled(slot);
        let entry = state.slots.get_mut(slot);
        let held = entry.map(|entry| std::mem::replace(&mut entry.held, Held::Nothing));
        matches!(held, Some(Held::Photo(_)))
    }

    /// Writes a photo into place `slot` here and now, whatever was staged there; false when it has no room for it. From then
    /// on it is the staged photo of view `of`, if there is one.
    pub(super) fn put(&mut self, slot: usize, photo: &[u8], of: Option<ViewId>) -> bool {
        let mut state = self.shared.settled(slot);
        let Some(entry) = state.slots.get_mut(slot) else {
            return false;
        };
        let written = entry.place.as_mut().is_some_and(|place| place.write(photo));
        entry.held = of.filter(|_| written).map_or(Held::Nothing, Held::Photo);
        written
    }

    /// Forgets everything that was staged.
    pub(super) fn unstage(&mut self) {
        let count = self.shared.lock().slots.len();
        for slot in 0..count {
            self.take(slot);
        }
    }
}

impl<P> Shared<P> {
    /// State survives a poisoned lock: no change to it can panic halfway.
    fn lock(&self) -> MutexGuard<'_, State<P>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state once the thread does not have place `slot`.
    fn settled(&self, slot: usize) -> MutexGuard<'_, State<P>> {
        let filling = |state: &mut State<P>| state.slots.get(slot).is_some_and(Slot::is_filling);
        let state = self.done.wait_while(self.lock(), filling);
        state.unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P: Place> Shared<P> {
    /// The thread: fills one place after the other until it is closed.
    fn serve(&self) {
        loop {
            let idle = |state: &mut State<P>| state.job.is_none() && !state.closing;
            let state = self.work.wait_while(self.lock(), idle);
            let mut state = state.unwrap_or_else(PoisonError::into_inner);
            if state.closing {
                return;
            }
            let Some(Job {
                slot,
                id,
                source,
                mut place,
            }) = state.job.take()
            else {
                continue;
            };
            drop(state);
            // A source that panics is called again by the thread that needs the photo, which can report it.
            let photo = catch_unwind(AssertUnwindSafe(source));
            let held = match photo {
                Ok(Ok(photo)) if place.write(photo.bytes()) => Held::Photo(id),
                Ok(Err(error)) => Held::Failure(id, error),
                // So is one whose photo is larger than any was said to be.
                Ok(Ok(_)) | Err(_) => Held::Nothing,
            };
            let place = Some(place);
            if let Some(entry) = self.lock().slots.get_mut(slot) {
                *entry = Slot { place, held };
            }
            self.done.notify_all();
        }
    }
}

impl<P: Place> Drop for Uploads<P> {
    fn drop(&mut self) {
        self.shared.lock().closing = true;
        self.shared.work.notify_all();
        if let Some(thread) = self.thread.take() {
            // The thread catches what its sources panic with, and no caller is left to report to.
            thread.join().ok();
        }
    }
}

/// The places for images in a committed ring. Where training images stay on the device there is one, for evaluations.
pub(super) fn places(gpu: &mut Gpu, rings: &Rings) -> Result<Vec<Window>, MemoryError> {
    let count = rings.images.bytes / rings.images_stride.max(1);
    let place = |slot| rings.images.slice(slot * rings.images_stride, rings.images_stride);
    (0..count).map(|slot| gpu.memory_mut().lend(&place(slot))).collect()
}

#[cfg(test)]
mod tests;
