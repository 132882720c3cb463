//! Time in a run: iterations a second and the seconds that count as training.
//!
//! Nothing here reads a clock. Every function takes `now`, the time since any fixed moment on a monotonic clock, so
//! that tests decide what time it is.

use std::collections::VecDeque;
use std::time::Duration;

/// Iterations the rate looks back on.
const WINDOW: usize = 100;

/// Iterations a second over the last 100 iterations.
#[derive(Clone, Debug, Default)]
pub struct Rate {
    /// Iteration and time, oldest first; one more than the window, because n intervals have n + 1 ends.
    seen: VecDeque<(u32, Duration)>,
}

impl Rate {
    /// Notes that `iteration` is done; gives the rate, or `None` before the second iteration and while no time passed.
    pub fn step(&mut self, iteration: u32, now: Duration) -> Option<f64> {
        // A replay or a resume goes back: what was seen is of another line of time.
        if self.seen.back().is_some_and(|(last, _)| iteration <= *last) {
            self.seen.clear();
        }
        if self.seen.len() > WINDOW {
            self.seen.pop_front();
        }
        self.seen.push_back((iteration, now));
        self.per_second()
    }

    /// The rate, as [`Rate::step`] gave it last.
    #[must_use]
    pub fn per_second(&self) -> Option<f64> {
        let (first, since) = self.seen.front()?;
        let (last, now) = self.seen.back()?;
        let seconds = now.saturating_sub(*since).as_secs_f64();
        (last > first && seconds > 0.0).then(|| f64::from(last - first) / seconds)
    }
}

/// Sums the time between starts and stops: training-loop seconds, without decoding and evaluation.
#[derive(Clone, Debug, Default)]
pub struct Stopwatch {
    sum: Duration,
    since: Option<Duration>,
}

impl Stopwatch {
    /// A stopped watch that already shows `seconds`, for a resumed run.
    #[must_use]
    pub fn showing(seconds: f64) -> Self {
        Self {
            sum: Duration::try_from_secs_f64(seconds).unwrap_or_default(),
            since: None,
        }
    }

    /// Starts counting; nothing happens when it runs already.
    pub fn start(&mut self, now: Duration) {
        self.since.get_or_insert(now);
    }

    /// Stops counting.
    pub fn stop(&mut self, now: Duration) {
        self.sum = self.elapsed(now);
        self.since = None;
    }

    /// Time counted so far.
    #[must_use]
    pub fn elapsed(&self, now: Duration) -> Duration {
        let running = self.since.map_or(Duration::ZERO, |since| now.saturating_sub(since));
        self.sum + running
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn rate_looks_back_one_hundred_iterations() {
        let mut rate = Rate::default();
        assert_eq!(rate.step(1, ms(0)), None);
        assert_eq!(rate.step(2, ms(0)), None);
        // 10 it/s up to iteration 200, then 100 it/s
        let mut now = 0;
        for iteration in 3..=200 {
            now += 100;
            rate.step(iteration, ms(now));
        }
        assert_eq!(rate.per_second(), Some(10.0));
        for iteration in 201..=250 {
            now += 10;
            rate.step(iteration, ms(now));
        }
        assert_eq!(rate.per_second(), Some(100.0 / 5.5));
        for iteration in 251..=300 {
            now += 10;
            rate.step(iteration, ms(now));
        }
        assert_eq!(rate.per_second(), Some(100.0));
    }

    #[test]
    fn rate_survives_going_back_and_missing_iterations() {
        let mut rate = Rate::default();
        rate.step(10, ms(0));
        assert_eq!(rate.step(30, ms(2000)), Some(10.0));
        assert_eq!(rate.step(20, ms(3000)), None);
        assert_eq!(rate.step(21, ms(3500)), Some(2.0));
    }

    #[test]
    fn stopwatch_leaves_out_what_lies_between() {
        let mut watch = Stopwatch::showing(2.0);
        watch.start(ms(1000));
        watch.start(ms(1500));
        watch.stop(ms(4000));
        watch.stop(ms(9000));
        assert_eq!(watch.elapsed(ms(9500)), ms(5000));
        watch.start(ms(10_000));
        assert_eq!(watch.elapsed(ms(10_250)), ms(5250));
        assert_eq!(Stopwatch::showing(f64::NAN).elapsed(ms(1)), Duration::ZERO);
    }
}
