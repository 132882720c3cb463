//! Ground-truth images in host memory.
//!
//! Owns the decoded [`Photo`]s and the threads that decode them. An image is decoded when it is needed or prefetched;
//! the source picture is dropped at once. Without a limit every photo is kept, and decoded once. With
//! [`ImageOptions::cache_bytes`], photos beyond it are forgotten, the one used last first: views are drawn without
//! replacement, so that one is needed again last. Promises at most [`ImageStore::host_bytes`] of memory.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::pixels::Recipe;
use crate::{Photo, SceneError, SceneIndex, ViewId};

/// Fewest and most decoding threads.
const THREADS: std::ops::RangeInclusive<usize> = 2..=8;

/// Callers with a photo in their hands: one trains or evaluates, one brings the next into the ring.
const HOLDERS: u64 = 2;

/// How images are decoded and kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImageOptions {
    /// Colour behind transparent pixels, 0..=1.
    pub background: [f32; 3],
    /// Decoding threads, taken into 2..=8; one a core when absent.
    pub threads: Option<usize>,
    /// Most bytes of photos that are kept, though at least the one that is being asked for; all when absent.
    pub cache_bytes: Option<u64>,
}

impl Default for ImageOptions {
    fn default() -> Self {
        Self {
            background: [0.0; 3],
            threads: None,
            cache_bytes: None,
        }
    }
}

/// What a store has done so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadReport {
    /// Images decoded, again ones included.
    pub images: u32,
    /// Bytes of their photos.
    pub bytes: u64,
    /// Decoding threads.
    pub threads: u32,
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
    recipes: Vec<Recipe>,
    cache_bytes: u64,
    state: Mutex<State>,
    /// Signalled when there is work or the store closes.
    work: Condvar,
    /// Signalled when a picture is ready or has failed.
    done: Condvar,
}

#[derive(Debug)]
struct State {
    slots: Vec<Slot>,
    /// Callers that wait for each slot.
    waiting: Vec<u32>,
    /// Slots that the last prefetch named, soonest first.
    soon: Vec<usize>,
    queue: VecDeque<usize>,
    /// Counts calls of `get`.
    clock: u64,
    resident_bytes: u64,
    decoded: u32,
    decoded_bytes: u64,
    closing: bool,
}

#[derive(Clone, Debug)]
enum Slot {
    Empty,
    Queued,
    Decoding,
    /// The photo, and when it was asked for last; 0 for never.
    Ready(Photo, u64),
    Failed(SceneError),
}

impl ImageStore {
    /// Starts the decoding threads; decodes nothing yet.
    ///
    /// # Errors
    /// [`SceneError::Io`] when the system refuses a thread.
    pub fn open(scene: &SceneIndex, options: ImageOptions) -> Result<Self, SceneError> {
        let recipes = recipes(scene, options.background);
        let state = State {
            slots: vec![Slot::Empty; recipes.len()],
            waiting: vec![0; recipes.len()],
            soon: Vec::new(),
            queue: VecDeque::new(),
            clock: 0,
            resident_bytes: 0,
            decoded: 0,
            decoded_bytes: 0,
            closing: false,
        };
        let shared = Arc::new(Shared {
            recipes,
            cache_bytes: options.cache_bytes.unwrap_or(u64::MAX),
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

    /// The photo of a view.
    ///
    /// Waits for the decoder when it is not there yet; it is then decoded before anything prefetched.
    ///
    /// # Errors
    /// [`SceneError`] naming the image that cannot be decoded; the same again on every later call.
    pub fn get(&self, id: ViewId) -> Result<Photo, SceneError> {
        let index = self.slot_index(id)?;
        let mut state = self.shared.lock();
        state.clock += 1;
        let now = state.clock;
        state.waiting[index] += 1;
        let found = loop {
            match &mut state.slots[index] {
                Slot::Ready(photo, used) => {
                    *used = now;
                    break Ok(photo.clone());
                }
                Slot::Failed(error) => break Err(error.clone()),
                Slot::Decoding => state = self.shared.wait(&self.shared.done, state),
                slot => {
                    // a thread is waited for only when none of them can take the picture at once
                    *slot = Slot::Queued;
                    state.queue.retain(|&queued| queued != index);
                    state.queue.push_front(index);
                    self.shared.work.notify_one();
                    state = self.shared.wait(&self.shared.done, state);
                }
            }
        };
        state.waiting[index] -= 1;
        found
    }

    /// True when [`ImageStore::get`] returns at once.
    #[must_use]
    pub fn is_ready(&self, id: ViewId) -> bool {
        let index = self.slot_index(id);
        let state = self.shared.lock();
        index.is_ok_and(|index| matches!(state.slots.get(index), Some(Slot::Ready(..) | Slot::Failed(_))))
    }

    /// Asks for pictures that will be wanted soon, soonest first; returns at once. Unknown ids are passed over, and so
    /// are those that would not fit the cache together.
    pub fn prefetch(&self, ids: impl IntoIterator<Item = ViewId>) {
        let mut state = self.shared.lock();
        state.soon.clear();
        let mut bytes = 0;
        for id in ids {
            let Ok(index) = self.slot_index(id) else {
                continue;
            };
            bytes += self.shared.recipes[index].photo_bytes();
            if bytes > self.shared.cache_bytes {
                break;
            }
            state.soon.push(index);
            if matches!(state.slots[index], Slot::Empty) {
                state.slots[index] = Slot::Queued;
                state.queue.push_back(index);
                self.shared.work.notify_one();
            }
        }
    }

    /// The most host memory this store will use, bytes: photos, two more in the callers' hands, and what the decoding
    /// threads work in.
    #[must_use]
    pub fn host_bytes(&self) -> u64 {
        host_bytes(&self.shared.recipes, self.shared.cache_bytes, self.threads.len())
    }

    /// Bytes of the photos that are held now.
    #[must_use]
    pub fn resident_bytes(&self) -> u64 {
        self.shared.lock().resident_bytes
    }

    /// What was decoded so far.
    #[must_use]
    pub fn report(&self) -> LoadReport {
        let state = self.shared.lock();
        LoadReport {
            images: state.decoded,
            bytes: state.decoded_bytes,
            threads: u32::try_from(self.threads.len()).unwrap_or(u32::MAX),
        }
    }

    fn slot_index(&self, id: ViewId) -> Result<usize, SceneError> {
        let (start, end) = match id.split {
            crate::Split::Train => (0, self.test_start),
            crate::Split::Test => (self.test_start, self.shared.recipes.len()),
        };
        let index = start.checked_add(id.index).filter(|&index| index < end);
        index.ok_or(SceneError::NoSuchView(id.split.name(), id.index))
    }
}

/// The photo of one view, decoded by the caller's thread; [`ImageStore`] has threads for many. A decoder that panics on a
/// hostile file does so here, where the store reports a damaged image.
///
/// # Errors
/// [`SceneError`] naming the image or its mask when it cannot be decoded, or [`SceneError::NoSuchView`].
pub fn decode(scene: &SceneIndex, id: ViewId, background: [f32; 3]) -> Result<Photo, SceneError> {
    let views = match id.split {
        crate::Split::Train => &scene.train,
        crate::Split::Test => &scene.test,
    };
    let view = views.get(id.index);
    let view = view.ok_or(SceneError::NoSuchView(id.split.name(), id.index))?;
    Recipe::new(view, background, scene.parts()).cook()
}

fn recipes(scene: &SceneIndex, background: [f32; 3]) -> Vec<Recipe> {
    scene
        .views()
        .map(|(_, view)| Recipe::new(view, background, scene.parts()))
        .collect()
}

/// What [`ImageStore::host_bytes`] will say for a scene, without opening a store.
#[must_use]
pub fn estimate_host_bytes(scene: &SceneIndex, options: ImageOptions) -> u64 {
    host_bytes(
        &recipes(scene, options.background),
        options.cache_bytes.unwrap_or(u64::MAX),
        thread_count(options.threads),
    )
}

fn host_bytes(recipes: &[Recipe], cache_bytes: u64, threads: usize) -> u64 {
    let photos: u64 = recipes.iter().map(Recipe::photo_bytes).sum();
    let largest = recipes.iter().map(Recipe::photo_bytes).max().unwrap_or(0);
    let kept = if photos <= cache_bytes {
        photos
    } else {
        // forgotten photos may still be in use, and each thread's allocator keeps the bytes of one for the next
        cache_bytes.max(largest) + (HOLDERS + threads as u64) * largest
    };
    let mut work: Vec<u64> = recipes.iter().map(Recipe::working_bytes).collect();
    work.sort_unstable_by(|a, b| b.cmp(a));
    kept + work.iter().take(threads).sum::<u64>()
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
            // decoders catch their own panics; no caller is left to report one to
            thread.join().ok();
        }
    }
}

impl State {
    /// Puts in what became of slot `index`, and forgets photos until the rest fits.
    fn finish(&mut self, index: usize, slot: Slot, cache_bytes: u64) {
        if let Slot::Ready(photo, _) = &slot {
            let bytes = photo.bytes().len() as u64;
            self.resident_bytes += bytes;
            self.decoded_bytes += bytes;
            self.decoded += 1;
        }
        self.slots[index] = slot;
        while self.resident_bytes > cache_bytes {
            let Some(victim) = self.victim(index) else { break };
            if let Slot::Ready(photo, _) = std::mem::replace(&mut self.slots[victim], Slot::Empty) {
                self.resident_bytes -= photo.bytes().len() as u64;
            }
        }
    }

    /// The photo that is best forgotten: the one used last, then one that was prefetched for nothing, then what is needed
    /// soon but latest. Never the one that just came, nor one that a caller waits for.
    fn victim(&self, newest: usize) -> Option<usize> {
        let free = |index: usize| index != newest && self.waiting[index] == 0;
        let used = |(index, slot): (usize, &Slot)| match slot {
            Slot::Ready(_, used) if free(index) && !self.soon.contains(&index) => Some((*used, index)),
            _ => None,
        };
        let idle = self.slots.iter().enumerate().filter_map(used).max();
        let soon = || {
            let ready = |index: usize| matches!(self.slots[index], Slot::Ready(..));
            self.soon
                .iter()
                .rev()
                .copied()
                .find(|&index| free(index) && ready(index))
        };
        idle.map(|(_, index)| index).or_else(soon)
    }
}

impl Shared {
    /// State survives a poisoned lock: no change to it can panic halfway.
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
            let recipe = &self.recipes[index];
            // a decoder that panics on a hostile file must cost that image, not a thread and a waiting caller
            let photo = catch_unwind(AssertUnwindSafe(|| recipe.cook()));
            let slot = match photo {
                Ok(Ok(photo)) => Slot::Ready(photo, 0),
                Ok(Err(error)) => Slot::Failed(error),
                Err(_) => Slot::Failed(SceneError::Image {
                    path: recipe.path().to_owned(),
                    detail: "the decoder failed on its content".to_owned(),
                }),
            };
            state = self.lock();
            state.finish(index, slot, self.cache_bytes);
            self.done.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::{Resolution, SceneOptions, Split};
    use kiln_scratch::Scratch;

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
        // 40 pictures of 4x4, two threads with an 8x8 picture in work
        assert_eq!(estimate_host_bytes(&scene, options), 40 * 48 + 2 * 64 * 12);
        let (first, again) = (store.get(train(3)).unwrap(), store.get(train(3)).unwrap());
        assert!(first.is_same(&again));
        let LoadReport { images, bytes, .. } = store.report();
        assert_eq!((images, bytes), (40, 40 * 48));
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
    fn a_cache_holds_what_it_may_and_gives_the_same_pictures() {
        let folder = Scratch::new();
        let scene = scene(&folder, 30, 255);
        // ten of thirty pictures
        let options = ImageOptions {
            threads: Some(2),
            cache_bytes: Some(480),
            ..ImageOptions::default()
        };
        let store = ImageStore::open(&scene, options).unwrap();
        assert_eq!(store.host_bytes(), 480 + 4 * 48 + 2 * 64 * 12);
        let epoch = |first: u8| {
            for n in 0..30_u8 {
                let ahead = (n + 1..30).take(4).map(|n| train(n.into()));
                store.prefetch(ahead);
                let n = (n + first) % 30;
                assert_eq!(store.get(train(n.into())).unwrap()[..], [n, 2 * n, 3 * n].repeat(16));
                assert!(store.resident_bytes() <= 480, "{}", store.resident_bytes());
            }
            store.report().images
        };
        let first = epoch(0);
        // some of the ten that are there have not been used since, whatever the order
        let second = epoch(0) - first;
        assert!(first >= 30 && second < 30, "{first}, then {second} decoded");
        // views that were prefetched in vain do not crowd out what is asked for
        epoch(17);
    }

    #[test]
    fn a_cache_smaller_than_a_picture_still_serves_everyone() {
        let folder = Scratch::new();
        let scene = scene(&folder, 9, 255);
        let options = ImageOptions {
            threads: Some(4),
            cache_bytes: Some(1),
            ..ImageOptions::default()
        };
        let store = ImageStore::open(&scene, options).unwrap();
        std::thread::scope(|scope| {
            for caller in 0..3 {
                let store = &store;
                scope.spawn(move || {
                    for n in 0..27_u8 {
                        let n = (n * (caller + 1)) % 9;
                        store.prefetch((0..9).map(train));
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
            ..ImageOptions::default()
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
        // and so does whoever decodes without a store
        for (id, works) in [
            (train(0), true),
            (train(1), false),
            (train(2), false),
            (train(5), false),
            (test, false),
        ] {
            let (here, stored) = (decode(&scene, id, [0.0; 3]), store.get(id));
            assert_eq!(here.is_ok(), works, "{id:?}");
            match (here, stored) {
                (Ok(here), Ok(stored)) => assert_eq!(here[..], stored[..]),
                (here, stored) => assert_eq!(here.err().map(|e| e.to_string()), stored.err().map(|e| e.to_string())),
            }
        }
    }
}
