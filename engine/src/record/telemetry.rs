//! What the card says of itself, read by a thread of its own so that no step waits for the driver.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::ticker::Ticker;
use kiln_gpu::vk::{Caps, GpuSample, Nvml};

/// Between samples.
const EVERY: Duration = Duration::from_secs(2);

/// What the thread leaves for whoever asks.
type Latest = Arc<Mutex<Option<GpuSample>>>;

/// The thread and its latest sample.
pub(crate) struct Telemetry {
    latest: Latest,
    _thread: Ticker,
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
        let latest = Latest::default();
        let own = latest.clone();
        let open = move || {
            let mut sample = open()?;
            Some(move || {
                let taken = Some(sample());
                *own.lock().unwrap_or_else(PoisonError::into_inner) = taken;
            })
        };
        Some(Self {
            latest,
            // Without a thread there is no telemetry, which is no reason not to train.
            _thread: Ticker::start("telemetry", every, open).ok()?,
        })
    }

    /// The latest sample; none before the first.
    pub(crate) fn latest(&self) -> Option<GpuSample> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
    fn the_latest_sample_is_there() {
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
    }

    #[test]
    fn a_card_that_cannot_be_opened_says_nothing() {
        let telemetry = Telemetry::start(Duration::ZERO, || None::<fn() -> GpuSample>).unwrap();
        assert_eq!(telemetry.latest(), None);
    }
}
