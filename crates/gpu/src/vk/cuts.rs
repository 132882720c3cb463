//! Where a program is cut into submissions, so that none of them keeps a device busy for long.
//!
//! Systems reset a device that does not answer: Windows after two seconds of one submission. How long a pass takes is only
//! known by running it, so a program begins in [`START_PARTS`] parts. After [`TRIALS`] runs, parts that are short together
//! become one, in most programs one for all; from then on a part that takes longer than the limit is cut in two, until it
//! does not or is a single command.

use std::ops::Range;

/// Submissions of a program that has not been measured yet.
const START_PARTS: usize = 8;
/// Runs that are measured before parts are joined.
const TRIALS: u32 = 3;
/// Parts are joined up to this share of the limit: models grow, and times vary.
const JOINED: f64 = 0.5;

/// The cuts of one program.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cuts {
    limit_ms: f64,
    commands: usize,
    /// First command of every part.
    starts: Vec<usize>,
    /// Longest time of each part so far, until parts are joined.
    longest_ms: Vec<f64>,
    trials: u32,
}

impl Cuts {
    /// A program of `commands` commands, none of whose parts shall take longer than `limit_ms`; without a limit it stays in
    /// one.
    pub(super) fn new(commands: usize, limit_ms: Option<f64>) -> Self {
        let parts = limit_ms.map_or(1, |_| START_PARTS.clamp(1, commands.max(1)));
        let mut starts: Vec<usize> = (0..parts).map(|part| part * commands / parts).collect();
        starts.dedup();
        Self {
            limit_ms: limit_ms.unwrap_or(f64::INFINITY),
            commands,
            longest_ms: vec![0.0; starts.len()],
            starts,
            trials: 0,
        }
    }

    /// The parts.
    pub(super) fn parts(&self) -> Vec<Range<usize>> {
        let ends = self.starts.iter().skip(1).copied().chain([self.commands]);
        self.starts.iter().zip(ends).map(|(start, end)| *start..end).collect()
    }

    /// True where times are looked at.
    pub(super) const fn is_limited(&self) -> bool {
        self.limit_ms.is_finite()
    }

    /// True when the parts of the start were joined.
    pub(super) const fn is_settled(&self) -> bool {
        self.trials >= TRIALS
    }

    /// Takes the times of a run, one for each part; true when the program is to be cut anew.
    pub(super) fn observe(&mut self, times_ms: &[f64]) -> bool {
        if times_ms.len() != self.starts.len() {
            return false;
        }
        let before = self.starts.clone();
        if self.trials < TRIALS {
            self.trials += 1;
            for (longest, ms) in self.longest_ms.iter_mut().zip(times_ms) {
                *longest = longest.max(*ms);
            }
            if self.trials == TRIALS {
                self.join();
            }
        }
        if self.starts == before {
            self.divide(times_ms);
        }
        self.starts != before
    }

    fn join(&mut self) {
        let mut starts = Vec::new();
        let mut sum = 0.0;
        for (start, ms) in self.starts.iter().zip(&self.longest_ms) {
            if starts.is_empty() || sum + ms > JOINED * self.limit_ms {
                starts.push(*start);
                sum = 0.0;
            }
            sum += ms;
        }
        self.starts = starts;
    }

    fn divide(&mut self, times_ms: &[f64]) {
        let over = self.parts().into_iter().zip(times_ms);
        let middles: Vec<usize> = over
            .filter(|(part, ms)| **ms > self.limit_ms && part.len() > 1)
            .map(|(part, _)| part.start + part.len() / 2)
            .collect();
        self.starts.extend(middles);
        self.starts.sort_unstable();
        self.longest_ms.resize(self.starts.len(), 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a program whose commands take `ms` each until it is not cut any more; gives the longest part.
    fn settle(cuts: &mut Cuts, ms: &[f64]) -> f64 {
        let time = |part: &Range<usize>| ms.get(part.clone()).unwrap_or_default().iter().sum::<f64>();
        for _ in 0..20 {
            let times: Vec<f64> = cuts.parts().iter().map(time).collect();
            cuts.observe(&times);
        }
        cuts.parts().iter().map(time).fold(0.0, f64::max)
    }

    #[test]
    fn parts_cover_all_commands_in_order() {
        for commands in [0, 1, 5, 8, 61] {
            let parts = Cuts::new(commands, Some(100.0)).parts();
            assert_eq!(parts.first().map(|p| p.start), Some(0));
            assert_eq!(parts.last().map(|p| p.end), Some(commands));
            assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start), "{parts:?}");
            assert_eq!(Cuts::new(commands, None).parts(), vec![0..commands; 1]);
        }
    }

    #[test]
    fn a_quick_program_becomes_one_submission() {
        let mut cuts = Cuts::new(60, Some(100.0));
        assert_eq!(cuts.parts().len(), 8, "careful at first");
        settle(&mut cuts, &[0.5; 60]);
        assert_eq!(cuts.parts(), vec![0..60; 1]);
    }

    #[test]
    fn a_slow_program_is_cut_until_every_part_is_short() {
        let mut ms = vec![1.0; 60];
        // Four passes of 60 ms, two of them neighbours.
        for at in [10, 11, 30, 50] {
            ms[at] = 60.0;
        }
        let mut cuts = Cuts::new(60, Some(100.0));
        let longest = settle(&mut cuts, &ms);
        assert!(longest <= 100.0, "{longest} ms in {:?}", cuts.parts());
        assert!(cuts.parts().len() < 12, "{:?}", cuts.parts());
    }

    #[test]
    fn a_model_that_grows_is_cut_later_and_one_command_is_the_least() {
        let mut cuts = Cuts::new(40, Some(100.0));
        settle(&mut cuts, &[1.0; 40]);
        assert_eq!(cuts.parts().len(), 1);
        let longest = settle(&mut cuts, &[10.0; 40]);
        assert!(longest <= 100.0 && cuts.parts().len() >= 4);
        let mut one = vec![0.0; 40];
        one[7] = 500.0;
        settle(&mut cuts, &one);
        assert!(cuts.parts().contains(&(7..8)), "{:?}", cuts.parts());
    }
}
