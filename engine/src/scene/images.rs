//! Ground-truth images in host memory.
//!
//! Owns the decoded pictures, u8 RGB at training resolution, tightly packed, and the threads that decode them. Each
//! image is decoded once, when it is asked for or prefetched, and kept; the source picture is dropped at once.
//! Promises at most [`ImageStore::host_bytes`] of memory. Pictures are handed out as shared slices, so that a store
//! which forgets old pictures, or one that keeps them on the device, can stand behind the same calls.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::{SceneError, SceneIndex, View, ViewId, pixels};

/// Fewest and most decoding threads.
const THREADS: std::ops::RangeInclusive<usize> = 2..=8;

/// How images are decoded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImageOptions {
    /// Colour behind transparent pixels, 0..=1.
    pub background: [f32; 3],
    /// Decoding threads, taken into 2..=8; one a core when absent.
    pub threads: Option<usize>,
}

impl Default for ImageOptions {
    fn default() -> Self {
        Self {
            background: [0.0; 3],
            threads: None,
        }
    }
}

/// Decodes and keeps the images of a scene.
#[derive(Debug)]
pub struct ImageStore {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    test_start: usize,
}

#[derive(Debug)]
struct Shared {
    views: Vec<View>,
    background: [f32; 3],
    state: Mutex<State>,
    /// Signalled when there is work or the store closes.
    work: Condvar,
    /// Signalled when a picture is ready or has failed.
    done: Condvar,
}

#[derive(Debug)]
struct State {
    slots: Vec<Slot>,
    queue: VecDeque<usize>,
    closing: bool,
}

#[derive(Clone, Debug)]
enum Slot {
    Empty,
    Queued,
    Decoding,
    Ready(Arc<[u8]>),
    Failed(SceneError),
}

impl ImageStore {
    /// Starts the decoding threads; decodes nothing yet.
    ///
    /// # Errors
    /// [`SceneError::Io`] when the system refuses a thread.
    pub fn open(scene: &SceneIndex, options: ImageOptions) -> Result<Self, SceneError> {
        let views: Vec<View> = scene.views().map(|(_, view)| view.clone()).collect();
        let state = State {
            slots: vec![Slot::Empty; views.len()],
            queue: VecDeque::new(),
            closing: false,
        };
        let shared = Arc::new(Shared {
            views,
            background: options.background,
            state: Mutex::new(state),
            work: Condvar::new(),
            done: Condvar::new(),
        });
        // made first, so that a refused thread closes those already running
        let mut store = Self {
            shared,
            threads: Vec::new(),
            test_start: scene.train.len(),
        };
        for number in 0..thread_count(options.threads) {
            let shared = Arc::clone(&store.shared);
            let thread = std::thread::Builder::new()
                .name(format!("decode-{number}"))
                .spawn(move || shared.serve());
            store
                .threads
                .push(thread.map_err(|e| SceneError::io(&scene.root, "start a decoding thread for", e))?);
        }
        Ok(store)
    }

    /// The picture of a view: `width_px * height_px * 3` bytes, rows from the top, RGB.
    ///
    /// Waits for the decoder when the picture is not there yet; it is then decoded before anything prefetched.
    ///
    /// # Errors
    /// [`SceneError`] naming the image that cannot be decoded; the same again on every later call.
    pub fn get(&self, id: ViewId) -> Result<Arc<[u8]>, SceneError> {
        let index = self.slot_index(id)?;
        let mut state = self.shared.lock();
        loop {
            match &state.slots[index] {
                Slot::Ready(picture) => return Ok(Arc::clone(picture)),
                Slot::Failed(error) => return Err(error.clone()),
                Slot::Empty => {
                    state.slots[index] = Slot::Queued;
                    state.queue.push_front(index);
                    self.shared.work.notify_one();
                }
                Slot::Queued => {
                    // a thread is waited for only when none of them can take the picture at once
                    state.queue.retain(|&queued| queued != index);
                    state.queue.push_front(index);
                    state = self.shared.wait(&self.shared.done, state);
                }
                Slot::Decoding => state = self.shared.wait(&self.shared.done, state),
            }
        }
    }

    /// Asks for pictures that will be wanted soon, soonest first; returns at once. Unknown ids are passed over.
    pub fn prefetch(&self, ids: impl IntoIterator<Item = ViewId>) {
        let mut state = self.shared.lock();
        for id in ids {
            let Ok(index) = self.slot_index(id) else {
                continue;
            };
            if matches!(state.slots[index], Slot::Empty) {
                state.slots[index] = Slot::Queued;
                state.queue.push_back(index);
                self.shared.work.notify_one();
            }
        }
    }

    /// The most host memory this store will use, bytes: all pictures plus what the decoding threads work in.
    #[must_use]
    pub fn host_bytes(&self) -> u64 {
        host_bytes(self.shared.views.iter(), self.threads.len())
    }

    /// Bytes of the pictures decoded so far.
    #[must_use]
    pub fn resident_bytes(&self) -> u64 {
        let ready = |slot: &Slot| {
            if let Slot::Ready(picture) = slot {
                picture.len() as u64
            } else {
                0
            }
        };
        self.shared.lock().slots.iter().map(ready).sum()
    }

    fn slot_index(&self, id: ViewId) -> Result<usize, SceneError> {
        let (start, end) = match id.split {
            super::Split::Train => (0, self.test_start),
            super::Split::Test => (self.test_start, self.shared.views.len()),
        };
        let index = start.checked_add(id.index).filter(|&index| index < end);
        index.ok_or(SceneError::NoSuchView(id.split.name(), id.index))
    }
}

/// What [`ImageStore::host_bytes`] will say for a scene, without opening a store.
#[must_use]
pub fn estimate_host_bytes(scene: &SceneIndex, options: ImageOptions) -> u64 {
    host_bytes(scene.views().map(|(_, view)| view), thread_count(options.threads))
}

fn host_bytes<'a>(views: impl Iterator<Item = &'a View>, threads: usize) -> u64 {
    let (mut pictures, mut work) = (0, Vec::new());
    for view in views {
        pictures += view.rgb_bytes();
        work.push(pixels::working_bytes(view));
    }
    work.sort_unstable_by(|a, b| b.cmp(a));
    pictures + work.iter().take(threads).sum::<u64>()
}

fn thread_count(wanted: Option<usize>) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    wanted.unwrap_or_else(cores).clamp(*THREADS.start(), *THREADS.end())
}

impl Drop for ImageStore {
    fn drop(&mut self) {
        self.shared.lock().closing = true;
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            // decoders catch their own panics, and there is nobody left to tell
            thread.join().ok();
        }
    }
}

impl Shared {
    /// State survives a poisoned lock: every change to it is a single assignment.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, signal: &Condvar, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        signal.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// A decoding thread: takes pictures off the queue until the store closes.
    fn serve(&self) {
        let mut state = self.lock();
        while !state.closing {
            let Some(index) = state.queue.pop_front() else {
                state = self.wait(&self.work, state);
                continue;
            };
            state.slots[index] = Slot::Decoding;
            drop(state);
            let view = &self.views[index];
            // a decoder that panics on a hostile file must cost that image, not a thread and a waiting caller
            let picture = catch_unwind(AssertUnwindSafe(|| pixels::load(view, self.background)));
            let slot = match picture {
                Ok(Ok(picture)) => Slot::Ready(picture.into()),
                Ok(Err(error)) => Slot::Failed(error),
                Err(_) => Slot::Failed(SceneError::Image {
                    path: view.image_path.clone(),
                    detail: "the decoder failed on its content".to_owned(),
                }),
            };
            state = self.lock();
            state.slots[index] = slot;
            self.done.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::super::scratch::Scratch;
    use super::super::{Resolution, SceneOptions, Split};
    use super::*;

    const SIDE: u32 = 8;

    /// A Blender scene of `count` images; image n is filled with RGBA (n, 2 n, 3 n, alpha).
    fn scene(folder: &Scratch, count: u8, alpha: u8) -> SceneIndex {
        let frame = |n: u8| {
            folder.write_png(
                &format!("{n:03}.png"),
                SIDE,
                SIDE,
                4,
                &[n, 2 * n, 3 * n, alpha].repeat(64),
            );
            format!(r#"{{"file_path":"{n:03}","transform_matrix":[[1,0,0,{n}],[0,1,0,0],[0,0,1,0],[0,0,0,1]]}}"#)
        };
        let frames: Vec<String> = (0..count).map(frame).collect();
        let json = format!(r#"{{"camera_angle_x":0.7,"frames":[{}]}}"#, frames.join(","));
        folder.write("transforms_train.json", json);
        let options = SceneOptions {
            resolution: Resolution::Divide(2),
            eval: false,
            ..SceneOptions::default()
        };
        SceneIndex::load(folder.path(), &options).unwrap()
    }

    fn train(index: usize) -> ViewId {
        ViewId {
            split: Split::Train,
            index,
        }
    }

    #[test]
    fn pictures_are_packed_and_decoded_once() {
        let folder = Scratch::new();
        let scene = scene(&folder, 40, 255);
        let store = ImageStore::open(&scene, ImageOptions::default()).unwrap();
        store.prefetch((0..100).map(train));
        for n in (0..40_u8).rev() {
            assert_eq!(store.get(train(n.into())).unwrap()[..], [n, 2 * n, 3 * n].repeat(16));
        }
        assert_eq!(store.resident_bytes(), 40 * 48);
        let options = ImageOptions {
            threads: Some(2),
            ..ImageOptions::default()
        };
        // 40 pictures of 4x4, two threads with an 8x8 RGBA picture and its file
        assert_eq!(estimate_host_bytes(&scene, options), 40 * 48 + 2 * 64 * 8);
        let (first, again) = (store.get(train(3)).unwrap(), store.get(train(3)).unwrap());
        assert!(Arc::ptr_eq(&first, &again));
    }

    #[test]
    fn many_callers_get_the_same_pictures() {
        let folder = Scratch::new();
        let scene = scene(&folder, 30, 255);
        let options = ImageOptions {
            threads: Some(3),
            ..ImageOptions::default()
        };
        let store = ImageStore::open(&scene, options).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for n in 0..30_u8 {
                        assert_eq!(store.get(train(n.into())).unwrap()[0], n);
                    }
                });
            }
        });
    }

    #[test]
    fn alpha_is_blended_over_the_background() {
        let folder = Scratch::new();
        let scene = scene(&folder, 1, 0);
        let options = ImageOptions {
            background: [1.0, 0.5, 0.0],
            threads: None,
        };
        let store = ImageStore::open(&scene, options).unwrap();
        assert_eq!(store.get(train(0)).unwrap()[..3], [255, 127, 0]);
    }

    #[test]
    fn failures_name_the_image_and_leave_the_rest() {
        let folder = Scratch::new();
        let scene = scene(&folder, 5, 255);
        let whole = std::fs::read(folder.path().join("001.png")).unwrap();
        folder.write("001.png", &whole[..whole.len() / 2]);
        folder.write_png("002.png", SIDE * 2, SIDE, 3, &[0; 384]);
        std::fs::remove_file(folder.path().join("003.png")).unwrap();
        let store = ImageStore::open(&scene, ImageOptions::default()).unwrap();
        for (index, name) in [(1, "001.png"), (2, "002.png"), (3, "003.png"), (1, "001.png")] {
            let message = store.get(train(index)).unwrap_err().to_string();
            assert!(message.contains(name), "{message}");
        }
        assert!(store.get(train(0)).is_ok() && store.get(train(4)).is_ok());
        assert!(matches!(store.get(train(5)), Err(SceneError::NoSuchView("train", 5))));
        let test = ViewId {
            split: Split::Test,
            index: 0,
        };
        assert!(matches!(store.get(test), Err(SceneError::NoSuchView("test", 0))));
    }
}
