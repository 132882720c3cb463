//! A thread that does something every so often, until it is dropped.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Set when the thread is to end, and what wakes it for that.
type Stop = (Mutex<bool>, Condvar);

/// The thread; dropping it wakes it, and waits for its end.
pub(crate) struct Ticker {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Calls `open` on a new thread called `name`, and what that gives at once and whenever another `every` has passed. A thread
    /// that has nothing to do ends.
    ///
    /// # Errors
    /// When the system has no thread to give.
    pub(crate) fn start<A: FnMut()>(
        name: &str,
        every: Duration,
        open: impl FnOnce() -> Option<A> + Send + 'static,
    ) -> std::io::Result<Self> {
        let stop = Arc::new(Stop::default());
        let own = stop.clone();
        let work = move || {
            let Some(mut act) = open() else { return };
            let (stop, woken) = &*own;
            loop {
                act();
                let state = stop.lock().unwrap_or_else(PoisonError::into_inner);
                let wait = woken.wait_timeout_while(state, every, |stop| !*stop);
                if *wait.unwrap_or_else(PoisonError::into_inner).0 {
                    return;
                }
            }
        };
        let thread = Builder::new().name(name.to_owned()).spawn(work)?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        *self.stop.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic has been printed by the thread itself.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use std::sync::mpsc::{TryRecvError, channel};
    use std::time::Instant;

    #[test]
    fn it_acts_at_once_and_again_and_ends_when_dropped() {
        let (send, acts) = channel();
        let every = Duration::from_millis(1);
        let ticker = Ticker::start("test", every, move || Some(move || send.send(()).unwrap_or_default())).unwrap();
        for _ in 0..4 {
            acts.recv_timeout(Duration::from_secs(20)).unwrap();
        }
        drop(ticker);
        while acts.try_recv().is_ok() {}
        assert_eq!(
            acts.try_recv(),
            Err(TryRecvError::Disconnected),
            "the thread is still there"
        );
    }

    #[test]
    fn one_that_sleeps_is_woken_for_its_end() {
        let (send, acts) = channel();
        let hour = Duration::from_secs(3600);
        let ticker = Ticker::start("test", hour, move || Some(move || send.send(()).unwrap_or_default())).unwrap();
        acts.recv_timeout(Duration::from_secs(20)).unwrap();
        let begin = Instant::now();
        drop(ticker);
        assert!(begin.elapsed() < Duration::from_secs(60));
    }
}
