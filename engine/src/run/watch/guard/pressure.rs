//! What a run does when the driver grants it less memory than it holds.
//!
//! In this order, each step reported as an event, and taken back in the reverse order once the memory is free again:
//!
//! 1. *stop growth*: densifications remove Gaussians and add none. At once, when the budget has shrunk since the start and
//!    more than 95 % of it are in use, or when more is in use than there is;
//! 2. *drop prefetch*: images are decoded when their turn comes. When more is in use than there is, three looks in a row;
//! 3. *more bands*: steps run in 2, then 4, then 8 bands of tiles, which touch a smaller part of the arena at a time. After
//!    three more looks each. In deterministic mode bands do not change a byte.
//!
//! A response ends after three looks in a row at which the budget is as it was or less than 90 % of it are in use. A step
//! is never failed: work on the device is finished, however slowly.

use super::source::HeapFigures;
use crate::record::events::Event;
use crate::record::{PressureChange, Response};
use kiln_gpu::memory::MIB;

/// Change of the budget below which nothing is said and nothing is done: drivers move it all the time.
const SLACK_BYTES: u64 = 128 * MIB;
/// Change of the budget that is reported.
const TOLD_BYTES: u64 = 256 * MIB;
/// Looks in a row that make a response, or end one.
const LOOKS: u32 = 3;
/// Bands of the last responses.
const BANDS: [u32; 3] = [2, 4, 8];

/// What a run is to do differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Densifications may add Gaussians.
    Growth(bool),
    /// Images may be decoded ahead of time.
    Prefetch(bool),
    /// Steps run in at least as many bands; none = whole where they can. True when there are more than before.
    Bands(Option<u32>, bool),
}

impl Change {
    /// As it is reported.
    pub(super) fn reported(self, figures: &HeapFigures) -> PressureChange {
        let (response, active, bands) = match self {
            Self::Growth(on) => (Response::StopGrowth, !on, None),
            Self::Prefetch(on) => (Response::DropPrefetch, !on, None),
            Self::Bands(bands, more) => (Response::MoreBands, more, bands),
        };
        PressureChange {
            response,
            active,
            bands,
            heap_usage: figures.usage,
            heap_budget: figures.budget,
        }
    }
}

/// How short memory is, and what was done about it.
pub(super) struct Pressure {
    start: HeapFigures,
    /// Budget that was reported last.
    said: u64,
    /// Responses in force: the first so many of growth, prefetch and [`BANDS`].
    level: usize,
    over: u32,
    calm: u32,
}

impl Pressure {
    /// For a run that has taken its memory and finds these figures.
    pub(crate) fn new(start: HeapFigures) -> Self {
        Self {
            start,
            said: start.budget,
            level: 0,
            over: 0,
            calm: 0,
        }
    }

    /// An event when the budget is much smaller than when it was reported last.
    pub(super) fn shrunk(&mut self, now: &HeapFigures) -> Option<Event> {
        let from = self.said;
        if from.abs_diff(now.budget) < TOLD_BYTES {
            return None;
        }
        self.said = now.budget;
        let to = now.budget;
        (to < from).then_some(Event::BudgetShrunk { from, to })
    }

    /// What is to change after a look at the figures: at most one response more or less.
    pub(super) fn poll(&mut self, now: &HeapFigures) -> Option<Change> {
        let shrunk = now.budget.saturating_add(SLACK_BYTES) <= self.start.budget;
        let over = now.usage > now.budget;
        let near = over || (shrunk && now.usage > percent(now.budget, 95));
        if near && self.level == 0 {
            (self.over, self.calm) = (0, 0);
            return Some(self.respond());
        }
        self.over = if over { self.over + 1 } else { 0 };
        let calm = !near && (!shrunk || now.usage <= percent(now.budget, 90));
        self.calm = if calm { self.calm + 1 } else { 0 };
        if self.over == LOOKS && self.level < 2 + BANDS.len() {
            self.over = 0;
            return Some(self.respond());
        }
        if self.calm == LOOKS {
            self.calm = 0;
            return self.relax();
        }
        None
    }

    fn respond(&mut self) -> Change {
        self.level += 1;
        match self.level {
            1 => Change::Growth(false),
            2 => Change::Prefetch(false),
            level => Change::Bands(BANDS.get(level - 3).copied(), true),
        }
    }

    fn relax(&mut self) -> Option<Change> {
        let change = match self.level {
            0 => return None,
            1 => Change::Growth(true),
            2 => Change::Prefetch(true),
            level => Change::Bands(level.checked_sub(4).and_then(|at| BANDS.get(at).copied()), false),
        };
        self.level -= 1;
        Some(change)
    }
}

fn percent(bytes: u64, percent: u64) -> u64 {
    bytes / 100 * percent
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_gpu::memory::GIB;

    fn figures(budget_mib: u64, usage_mib: u64) -> HeapFigures {
        HeapFigures {
            budget: budget_mib * MIB,
            usage: usage_mib * MIB,
            host_usage: None,
            shared_usage: None,
        }
    }

    /// What a run of 7 GiB on an idle card of 8 GiB does as budgets come in, one a look.
    fn changes(budgets: &[u64]) -> Vec<Option<Change>> {
        let mut pressure = Pressure::new(figures(7600, 7168));
        budgets.iter().map(|mib| pressure.poll(&figures(*mib, 7168))).collect()
    }

    #[test]
    fn a_full_plan_is_no_pressure() {
        // 99 % in use from the start, and the budget moves a little.
        let mut pressure = Pressure::new(figures(7240, 7168));
        for budget in [7240, 7200, 7170, 7240] {
            assert_eq!(pressure.poll(&figures(budget, 7168)), None);
        }
        assert_eq!(changes(&[7600, 7500, 7600]), [None; 3]);
    }

    #[test]
    fn growth_stops_at_once_when_others_come() {
        // All that is free is gone: the budget is what the run holds.
        assert_eq!(changes(&[7168]), [Some(Change::Growth(false))]);
        // The same for a budget below it.
        assert_eq!(changes(&[800]), [Some(Change::Growth(false))]);
        // It is no reason for more, as long as the run is within its budget.
        assert_eq!(changes(&[7168; 30])[1..], [None; 29]);
    }

    #[test]
    fn responses_come_in_order_and_go_in_reverse() {
        let over = changes(&[6000; 20]);
        let taken: Vec<(usize, Change)> = (1..).zip(over).filter_map(|(at, c)| c.map(|c| (at, c))).collect();
        assert_eq!(
            taken,
            [
                (1, Change::Growth(false)),
                (4, Change::Prefetch(false)),
                (7, Change::Bands(Some(2), true)),
                (10, Change::Bands(Some(4), true)),
                (13, Change::Bands(Some(8), true)),
            ]
        );
        let mut budgets = vec![6000; 13];
        budgets.extend([7600; 20]);
        let back: Vec<Change> = changes(&budgets).into_iter().skip(13).flatten().collect();
        assert_eq!(
            back,
            [
                Change::Bands(Some(4), false),
                Change::Bands(Some(2), false),
                Change::Bands(None, false),
                Change::Prefetch(true),
                Change::Growth(true),
            ]
        );
    }

    #[test]
    fn a_moment_of_relief_is_not_the_end() {
        let found = changes(&[6000, 7600, 7600, 6000, 7600, 7600, 7600]);
        assert_eq!(found[..6], [Some(Change::Growth(false)), None, None, None, None, None]);
        assert_eq!(found[6], Some(Change::Growth(true)));
    }

    #[test]
    fn budgets_are_told_when_they_shrink_much() {
        let mut pressure = Pressure::new(figures(8000, 100));
        let mut tell = |mib| pressure.shrunk(&figures(mib, 100));
        assert_eq!(tell(7900), None);
        let event = tell(7000).unwrap();
        assert_eq!(
            event,
            Event::BudgetShrunk {
                from: 8000 * MIB,
                to: 7000 * MIB
            }
        );
        // Said once; more is not worth an event, and neither is what comes back.
        assert_eq!(
            [tell(7000), tell(6900), tell(7500), tell(7300)],
            [None, None, None, None]
        );
        assert_eq!(
            tell(7100),
            Some(Event::BudgetShrunk {
                from: 7500 * MIB,
                to: 7100 * MIB
            })
        );
    }

    #[test]
    fn no_figures_break_the_arithmetic() {
        let extremes = [0, 1, GIB, u64::MAX / 2, u64::MAX];
        for start in extremes {
            for budget in extremes {
                for usage in extremes {
                    let of = |budget, usage| HeapFigures {
                        budget,
                        usage,
                        host_usage: None,
                        shared_usage: None,
                    };
                    let mut pressure = Pressure::new(of(start, start));
                    for _ in 0..40 {
                        let _ = pressure.poll(&of(budget, usage));
                        let _ = pressure.shrunk(&of(budget, usage));
                    }
                }
            }
        }
    }
}
