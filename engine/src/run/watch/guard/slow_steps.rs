//! Notices when steps suddenly take far longer than before: second evidence of memory that went elsewhere.
//!
//! Twenty steps in a row that each take three times as long as the median of the hundred before them are reported once, and
//! their time is the usual one from then on. Steps at which the model changes size, or that run in bands, begin the count
//! anew, because they have their own reason to be slow.

use std::collections::VecDeque;

/// Steps whose median is what is usual.
const WINDOW: usize = 100;
/// Steps before anything is usual.
const LEAST: usize = 30;
/// How many times the median is slow.
const FACTOR: f64 = 3.0;
/// Slow steps in a row that are reported.
const IN_A_ROW: usize = 20;

/// Times of the last steps.
#[derive(Clone, Debug, Default)]
pub(super) struct SlowSteps {
    last: Option<(u32, f64)>,
    usual_s: VecDeque<f64>,
    slow_s: Vec<f64>,
}

impl SlowSteps {
    /// Takes the second at which step `it` was over; milliseconds of the slow steps and usual ones, when it is time to
    /// report.
    pub(super) fn step(&mut self, it: u32, t_s: f64, steady: bool) -> Option<(f64, f64)> {
        let last = self.last.replace((it, t_s));
        let (last_it, last_t_s) = last?;
        // Steps that were left out or done again leave gaps, and a resumed run goes back.
        if !steady || it != last_it.wrapping_add(1) || t_s < last_t_s {
            self.slow_s.clear();
            return None;
        }
        let seconds = t_s - last_t_s;
        let usual_s = median(self.usual_s.iter().copied());
        if self.usual_s.len() < LEAST || seconds <= FACTOR * usual_s {
            self.slow_s.clear();
            if self.usual_s.len() == WINDOW {
                self.usual_s.pop_front();
            }
            self.usual_s.push_back(seconds);
            return None;
        }
        self.slow_s.push(seconds);
        if self.slow_s.len() < IN_A_ROW {
            return None;
        }
        let slow_s = median(self.slow_s.iter().copied());
        self.usual_s = self.slow_s.drain(..).collect();
        Some((1e3 * slow_s, 1e3 * usual_s))
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    let middle = values.len() / 2;
    if values.is_empty() {
        return 0.0;
    }
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Iterations at which something is reported, when each step takes so many milliseconds.
    fn reported(ms: impl IntoIterator<Item = (f64, bool)>) -> Vec<(u32, f64, f64)> {
        let mut slow = SlowSteps::default();
        let mut now = 0.0;
        let mut list = Vec::new();
        for (it, (ms, steady)) in (1..).zip(ms) {
            now += 1e-3 * ms;
            let event = slow.step(it, now, steady);
            list.extend(event.map(|(slow, usual)| (it, slow.round(), usual.round())));
        }
        list
    }

    fn steps(n: usize, ms: f64) -> impl Iterator<Item = (f64, bool)> {
        std::iter::repeat_n((ms, true), n)
    }

    #[test]
    fn a_cliff_is_told_once_after_twenty_steps() {
        assert_eq!(
            reported(steps(200, 10.0).chain(steps(500, 200.0))),
            [(220, 200.0, 10.0)]
        );
        // And another one below it.
        let found = reported(steps(200, 10.0).chain(steps(50, 100.0)).chain(steps(50, 1000.0)));
        assert_eq!(found, [(220, 100.0, 10.0), (270, 1000.0, 100.0)]);
    }

    #[test]
    fn what_changes_slowly_or_for_a_moment_is_not_told() {
        assert_eq!(
            reported(steps(200, 10.0).chain(steps(19, 500.0)).chain(steps(200, 10.0))),
            []
        );
        assert_eq!(reported(steps(200, 10.0).chain(steps(300, 29.0))), []);
        let growing = (0..3000).map(|k| (10.0 * 1.002_f64.powi(k), true));
        assert_eq!(reported(growing), []);
        assert_eq!(
            reported(steps(20, 1.0).chain(steps(5, 90.0))),
            [],
            "nothing is usual yet"
        );
    }

    #[test]
    fn a_densification_or_bands_begin_the_count_anew() {
        let restless = steps(400, 90.0).zip(1..).map(|((ms, _), k)| (ms, k % 15 != 0));
        assert_eq!(reported(steps(200, 10.0).chain(restless)), []);
        // Slow ever since a densification: the times before it still say what is usual.
        let since = [(10.0, false)].into_iter().chain(steps(60, 90.0));
        assert_eq!(reported(steps(200, 10.0).chain(since)), [(221, 90.0, 10.0)]);
    }

    #[test]
    fn going_back_in_time_is_no_step() {
        let mut slow = SlowSteps::default();
        for it in 1..=100 {
            assert_eq!(slow.step(it, f64::from(it), true), None);
        }
        for it in 50..=60 {
            assert_eq!(slow.step(it, f64::from(it), true), None);
        }
    }
}
