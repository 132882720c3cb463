//! A thread that reports what the device is at when it has been silent for long.
//!
//! Drivers give no sign when a pass hangs: the host waits, and a user sees a line that does not move. This thread looks at
//! the queue a few times within the limit. Two equal looks while work is under way mean that nothing was finished, and no
//! marked pass begun, in between; when that lasts as long as the limit, the place is reported. While it goes on it is reported again
//! after twice, four times, ... as long. A device without work is not silent.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::record::ticker::Ticker;
use kiln_gpu::vk::Pulse;

/// Looks within the limit.
const LOOKS: u32 = 5;

/// A device that was silent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Silence {
    /// For how long so far.
    pub(super) seconds: f64,
    /// What it was at.
    pub(super) at: String,
}

/// The thread and what it found; it ends with the value.
pub(super) struct Watchdog {
    news: Arc<Mutex<Vec<Silence>>>,
    // Without a thread nobody watches, which is no reason not to train.
    _thread: Option<Ticker>,
}

impl Watchdog {
    /// Watches a queue: `pulse` looks at it, `place` names what it is at, `say` prints at once.
    pub(crate) fn start(
        limit: Duration,
        pulse: impl Fn() -> Option<Pulse> + Send + 'static,
        place: impl Fn() -> String + Send + 'static,
        say: impl Fn(&Silence) + Send + 'static,
    ) -> Self {
        let news = Arc::<Mutex<Vec<Silence>>>::default();
        let own = news.clone();
        let mut quiet = Quiet::new(limit);
        let watch = move || {
            if let Some(seconds) = quiet.look(pulse(), Instant::now()) {
                let silence = Silence { seconds, at: place() };
                say(&silence);
                own.lock().unwrap_or_else(PoisonError::into_inner).push(silence);
            }
        };
        Self {
            news,
            _thread: Ticker::start("watchdog", limit / LOOKS, move || Some(watch)).ok(),
        }
    }

    /// What was reported since the last call.
    pub(super) fn take(&self) -> Vec<Silence> {
        std::mem::take(&mut self.news.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// How long nothing has happened.
struct Quiet {
    limit: Duration,
    last: Option<(Pulse, Instant)>,
    /// Silence after which it is reported next.
    next: Duration,
}

impl Quiet {
    fn new(limit: Duration) -> Self {
        Self {
            limit,
            last: None,
            next: limit,
        }
    }

    /// Takes a look; gives the seconds of a silence that is to be reported.
    fn look(&mut self, pulse: Option<Pulse>, now: Instant) -> Option<f64> {
        match (&self.last, pulse.filter(Pulse::is_busy)) {
            (Some((before, since)), Some(pulse)) if *before == pulse => {
                let silent = now.duration_since(*since);
                let reported = silent >= self.next;
                if reported {
                    self.next = 2 * silent;
                }
                reported.then_some(silent.as_secs_f64())
            }
            (_, pulse) => {
                self.last = pulse.map(|pulse| (pulse, now));
                self.next = self.limit;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(finished: u64, marker: u32) -> Option<Pulse> {
        Some(Pulse {
            submitted: 9,
            finished,
            marker,
        })
    }

    #[test]
    fn only_work_that_stands_still_is_silent() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut quiet = Quiet::new(Duration::from_secs(5));
        assert_eq!(quiet.look(busy(3, 1), at(0)), None);
        // A pass begun, a submission finished: both are signs of life.
        assert_eq!(quiet.look(busy(3, 2), at(4)), None);
        assert_eq!(quiet.look(busy(4, 2), at(8)), None);
        assert_eq!(quiet.look(busy(4, 2), at(12)), None);
        assert_eq!(quiet.look(busy(4, 2), at(13)), Some(5.0));
        assert_eq!(quiet.look(busy(4, 2), at(14)), None, "reported once");
        assert_eq!(quiet.look(busy(4, 2), at(18)), Some(10.0), "and again when it lasts");
        // Idle devices and lost ones are not waited for.
        assert_eq!(quiet.look(busy(9, 2), at(30)), None);
        assert_eq!(quiet.look(busy(9, 2), at(60)), None);
        assert_eq!(quiet.look(None, at(61)), None);
        assert_eq!(quiet.look(busy(5, 2), at(62)), None);
        assert_eq!(quiet.look(busy(5, 2), at(68)), Some(6.0));
    }

    #[test]
    fn the_thread_tells_and_ends() {
        let (send, reported) = std::sync::mpsc::channel();
        let dog = Watchdog::start(
            Duration::from_millis(20),
            || busy(1, 7),
            || "`sort` of `step`".to_owned(),
            move |silence| send.send(silence.clone()).unwrap_or_default(),
        );
        let first = reported.recv_timeout(Duration::from_secs(20)).unwrap_or(Silence {
            seconds: 0.0,
            at: String::new(),
        });
        assert!(first.seconds >= 0.02 && first.at == "`sort` of `step`", "{first:?}");
        let since = Instant::now();
        drop(dog);
        assert!(since.elapsed() < Duration::from_secs(10));
        // It is over: the channel's other end is gone once what was said is taken.
        assert!(reported.iter().count() < 1000);
    }
}
