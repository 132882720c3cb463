//! What the card says of itself, asked for by a thread of its own so that no step waits for the driver.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crate::vk::{Caps, GpuSample, Nvml};

/// Time between two samples.
const EVERY: Duration = Duration::from_secs(2);

#[derive(Default)]
struct State {
    latest: Option<GpuSample>,
    stop: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    stopping: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The latest sample of a card.
pub(crate) struct Telemetry {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Telemetry {
    /// Samples the card behind a device every two seconds; none where there is nothing to ask.
    pub(crate) fn of(caps: &Caps) -> Option<Self> {
        if !Nvml::is_for(caps) {
            return None;
        }
        let caps = caps.clone();
        Self::start(EVERY, move || {
            let card = Nvml::of(&caps)?;
            Some(move || card.sample())
        })
    }

    /// Opens a card and asks it, both on a new thread. A card that cannot be opened leaves no samples.
    fn start<S: FnMut() -> GpuSample>(
        every: Duration,
        open: impl FnOnce() -> Option<S> + Send + 'static,
    ) -> Option<Self> {
        let shared = Arc::new(Shared::default());
        let own = shared.clone();
        let work = move || {
            let Some(mut sample) = open() else { return };
            let mut state = own.state();
            while !state.stop {
                drop(state);
                let latest = sample();
                state = own.state();
                state.latest = Some(latest);
                let wait = own.stopping.wait_timeout_while(state, every, |state| !state.stop);
                state = wait.unwrap_or_else(PoisonError::into_inner).0;
            }
        };
        // Without a thread there is no telemetry, which is no reason not to train.
        let thread = Builder::new().name("telemetry".to_owned()).spawn(work).ok()?;
        Some(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// The latest sample; none before the first.
    pub(crate) fn latest(&self) -> Option<GpuSample> {
        self.shared.state().latest.clone()
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        self.shared.state().stop = true;
        self.shared.stopping.notify_all();
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
    use std::time::Instant;

    fn wait_for(telemetry: &Telemetry, wanted: impl Fn(&Option<GpuSample>) -> bool) -> bool {
        let end = Instant::now() + Duration::from_secs(20);
        while Instant::now() < end {
            if wanted(&telemetry.latest()) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        false
    }

    #[test]
    fn the_latest_sample_is_there_and_the_thread_ends_at_once() {
        let mut watts = 0.0;
        let card = move || {
            watts += 1.0;
            GpuSample {
                power_watts: Some(watts),
                ..GpuSample::default()
            }
        };
        let telemetry = Telemetry::start(Duration::from_millis(1), move || Some(card)).unwrap();
        assert!(wait_for(&telemetry, |latest| latest
            .as_ref()
            .is_some_and(|s| s.power_watts > Some(3.0))));
        drop(telemetry);
        // Asleep for an hour, it still ends when it is told.
        let telemetry = Telemetry::start(Duration::from_secs(3600), || Some(GpuSample::default)).unwrap();
        assert!(wait_for(&telemetry, Option::is_some));
        let begin = Instant::now();
        drop(telemetry);
        assert!(begin.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn a_card_that_cannot_be_opened_says_nothing() {
        let telemetry = Telemetry::start(Duration::ZERO, || None::<fn() -> GpuSample>).unwrap();
        assert_eq!(telemetry.latest(), None);
    }
}
