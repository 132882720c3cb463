//! A thread that writes what the training loop shall not wait for.
//!
//! Work goes through a channel of fixed length: when the disk cannot keep up, giving more work waits, and the memory that
//! waits with it stays bounded. The first error ends the thread; it is returned to every caller that gives work or waits from
//! then on, so that the run ends with it.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use crate::export::ExportError;

/// A thread that takes work in order.
pub struct Worker<T: Send + 'static> {
    sender: Option<SyncSender<T>>,
    thread: Option<JoinHandle<()>>,
    given: u64,
    shared: Arc<Shared>,
    /// What it writes, for errors of the thread itself.
    path: PathBuf,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    done: u64,
    error: Option<ExportError>,
    ended: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, act: impl FnOnce(&mut State)) {
        act(&mut self.state());
        self.changed.notify_all();
    }
}

/// Says that the thread is over, however it ends.
struct End(Arc<Shared>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.change(|state| state.ended = true);
    }
}

impl<T: Send + 'static> Worker<T> {
    /// Starts a thread called `name` that writes below `path`; at most `room` pieces of work wait for it.
    ///
    /// # Errors
    /// [`ExportError`] when the system has no thread to give.
    pub fn start(
        name: &str,
        path: &Path,
        room: usize,
        mut act: impl FnMut(T) -> Result<(), ExportError> + Send + 'static,
    ) -> Result<Self, ExportError> {
        let (sender, receiver): (_, Receiver<T>) = sync_channel(room);
        let shared = Arc::new(Shared::default());
        let end = End(shared.clone());
        let work = move || {
            for item in receiver {
                match act(item) {
                    Ok(()) => end.0.change(|state| state.done += 1),
                    Err(error) => {
                        end.0.change(|state| state.error = Some(error));
                        break;
                    }
                }
            }
        };
        let thread = Builder::new()
            .name(name.to_owned())
            .spawn(work)
            .map_err(|source| ExportError::new(path, source))?;
        Ok(Self {
            sender: Some(sender),
            thread: Some(thread),
            given: 0,
            shared,
            path: path.to_owned(),
        })
    }

    /// Hands over a piece of work, waiting while the channel is full; gives its number, from 1.
    ///
    /// # Errors
    /// The error that ended the thread.
    pub fn give(&mut self, item: T) -> Result<u64, ExportError> {
        if self.sender.as_ref().is_none_or(|sender| sender.send(item).is_err()) {
            return Err(self.failure(&self.shared.state()));
        }
        self.given += 1;
        Ok(self.given)
    }

    /// Pieces of work done.
    ///
    /// # Errors
    /// The error that ended the thread.
    pub fn done(&self) -> Result<u64, ExportError> {
        let state = self.shared.state();
        if state.ended {
            return Err(self.failure(&state));
        }
        Ok(state.done)
    }

    /// Waits until everything handed over so far is done.
    ///
    /// # Errors
    /// The error that ended the thread.
    pub fn wait(&self) -> Result<(), ExportError> {
        self.wait_until(self.given)
    }

    /// Waits until the piece of work with this number is done, and those before it.
    ///
    /// # Errors
    /// The error that ended the thread.
    pub fn wait_until(&self, number: u64) -> Result<(), ExportError> {
        let mut state = self.shared.state();
        while state.done < number {
            if state.ended {
                return Err(self.failure(&state));
            }
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    fn failure(&self, state: &State) -> ExportError {
        match &state.error {
            Some(error) => error.again(),
            None => ExportError::new(
                &self.path,
                std::io::Error::other("its writing thread ended unexpectedly"),
            ),
        }
    }
}

impl<T: Send + 'static> Drop for Worker<T> {
    /// Lets the thread finish what it was given.
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            // A panic has been printed by the thread itself.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]
    use super::*;
    use std::io::ErrorKind;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    const PATH: &str = "some/file";

    #[test]
    fn work_is_done_in_order_and_before_the_end() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let list = seen.clone();
        let mut worker = Worker::start("test", Path::new(PATH), 2, move |n: u32| {
            list.lock().unwrap().push(n);
            Ok(())
        })
        .unwrap();
        for n in 0..10 {
            assert_eq!(worker.give(n).unwrap(), u64::from(n) + 1);
        }
        worker.wait_until(3).unwrap();
        assert!(worker.done().unwrap() >= 3);
        worker.wait().unwrap();
        assert_eq!(worker.done().unwrap(), 10);
        worker.give(10).unwrap();
        drop(worker);
        assert_eq!(*seen.lock().unwrap(), (0..=10).collect::<Vec<_>>());
    }

    #[test]
    fn a_full_queue_blocks_and_never_grows() {
        let alive = Arc::new(AtomicUsize::new(0));
        struct Held(Arc<AtomicUsize>);
        impl Drop for Held {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        let mut worker = Worker::start("test", Path::new(PATH), 2, |item: Held| {
            std::thread::sleep(Duration::from_millis(2));
            drop(item);
            Ok(())
        })
        .unwrap();
        let mut most = 0;
        for _ in 0..30 {
            alive.fetch_add(1, Ordering::SeqCst);
            worker.give(Held(alive.clone())).unwrap();
            most = most.max(alive.load(Ordering::SeqCst));
        }
        worker.wait().unwrap();
        // Two that wait, one in work, and one that was handed over while the count was taken.
        assert!(most <= 4, "{most} alive at once");
    }

    #[test]
    fn an_error_reaches_everyone() {
        let mut worker = Worker::start("test", Path::new(PATH), 1, |_: ()| {
            Err(ExportError::new(Path::new(PATH), ErrorKind::StorageFull.into()))
        })
        .unwrap();
        worker.give(()).unwrap();
        let full = |error: ExportError| match error {
            ExportError::DiskFull { path, .. } => assert_eq!(path, Path::new(PATH)),
            other => panic!("{other}"),
        };
        full(worker.wait().unwrap_err());
        full(worker.done().unwrap_err());
        full((0..3).find_map(|_| worker.give(()).err()).unwrap());
    }

    #[test]
    fn a_thread_that_dies_is_an_error_and_no_endless_wait() {
        let mut worker = Worker::start("dies", Path::new(PATH), 1, |()| panic!("meant to be")).unwrap();
        worker.give(()).unwrap();
        assert!(worker.wait().unwrap_err().to_string().contains(PATH));
    }
}
