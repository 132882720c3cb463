//! Which of several ways to compute a step is the quickest here: found by timing steps of the run itself.
//!
//! Devices of one kind differ in what they are quick at, and what is quick for few Gaussians may not be for many. The ways
//! differ in their kernels and not in their results, so a step that is timed is a step like any other. A race begins some
//! steps after the process, and again when the Gaussians of the model or those that are visible have become [`GROWN`] times
//! as many as in the last one. The ways take turns, step by step, so that what changes meanwhile changes for all of them.
//! What is compared is the time of the passes in which they differ, for each intersection, because views differ in those.
//! The way that the rules chose wins unless another one is quicker by more than [`MARGIN`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kernels::counters::Counters;

/// Finished steps of a process before its first race: clocks go up, submissions find their length.
const WARM_UP: u32 = 20;
/// How many times as many Gaussians call for another race.
const GROWN: f64 = 4.0;
/// Steps that count for each way. Each way's first does not: it may be the first of its kernels.
const ROUNDS: u32 = 12;
/// Steps after which a way that is far behind is given up.
const HEATS: u32 = 4;
/// Times the cost of the best, and a way is far behind.
const FAR_BEHIND: f64 = 1.5;
/// Times the cost of the best, and a way has no hope: on one card a step took 36 ms with it instead of 2. That of the rules is
/// not given up for one step that was held up.
const HOPELESS: f64 = 4.0;
/// Share by which a way must be quicker than that of the rules.
const MARGIN: f64 = 0.05;
/// Steps that a race may take for each way; it may have to wait for steps that do not run whole.
const PATIENCE: u32 = 4 * ROUNDS;
/// Steps over which the mean of the visible Gaussians is taken.
const MEMORY: f64 = 16.0;

/// How one way did in a race.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Runner {
    /// Its kernels.
    pub kernels: String,
    /// Steps timed.
    pub steps: u32,
    /// Milliseconds a step of the passes in which the ways differ, for as many intersections as all steps of the race had on
    /// average; null without a step.
    pub ms: Option<f32>,
}

/// A race that is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RaceResult {
    /// Gaussians in the model.
    pub gaussians: u32,
    /// Mean of the visible ones.
    pub visible: u32,
    /// Mean of the tile intersections.
    pub intersections: u32,
    /// The kernels that the rules chose come first.
    pub runners: Vec<Runner>,
    /// The kernels of steps from now on.
    pub chosen: String,
}

impl std::fmt::Display for RaceResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "steps run with the kernels {}", self.chosen)?;
        for (index, Runner { kernels, ms, .. }) in self.runners.iter().enumerate() {
            let begin = if index == 0 { ", found by a race: " } else { ", " };
            match ms {
                Some(ms) => write!(f, "{begin}{kernels} {ms:.3} ms")?,
                None => write!(f, "{begin}{kernels} none")?,
            }
        }
        Ok(())
    }
}

/// What was seen of one way in the race that is on.
#[derive(Clone, Debug, Default)]
struct Lane {
    /// Steps timed, the first included.
    steps: u32,
    ns: f64,
    intersections: f64,
    is_out: bool,
}

impl Lane {
    fn rounds(&self) -> u32 {
        self.steps.saturating_sub(1)
    }

    /// Nanoseconds an intersection.
    fn cost(&self) -> Option<f64> {
        (self.rounds() > 0 && self.intersections > 0.0).then(|| self.ns / self.intersections)
    }
}

/// The race that is on.
#[derive(Clone, Debug)]
struct Heat {
    lanes: Vec<Lane>,
    /// Whose turn it is.
    turn: usize,
    /// Steps given away.
    submitted: u32,
    /// Sum of the visible Gaussians of the steps that count.
    visible: f64,
}

/// The ways, and which of them steps take.
#[derive(Clone, Debug)]
pub(super) struct Race {
    /// What they are called; the first is that of the rules.
    ways: Vec<String>,
    chosen: usize,
    /// Finished steps of this process.
    finished: u32,
    gaussians: f64,
    /// A mean over the last steps.
    visible: f64,
    /// Gaussians and visible ones in the last race.
    last: Option<[f64; 2]>,
    heat: Option<Heat>,
}

impl Race {
    /// Ways of these names; with a single one there is nothing to race.
    pub(super) fn new(ways: Vec<String>) -> Self {
        Self {
            ways,
            chosen: 0,
            finished: 0,
            gaussians: 0.0,
            visible: 0.0,
            last: None,
            heat: None,
        }
    }

    /// The way of steps that are not timed.
    pub(super) fn chosen(&self) -> usize {
        self.chosen
    }

    /// True while a race is on.
    pub(super) fn is_on(&self) -> bool {
        self.heat.is_some()
    }

    /// Takes note of a finished step; the next ones may be those of a race.
    pub(super) fn see(&mut self, counters: &Counters) {
        self.finished = self.finished.saturating_add(1);
        self.gaussians = counters.gaussians.into();
        let share = if self.finished == 1 { 1.0 } else { 1.0 / MEMORY };
        self.visible += share * (f64::from(counters.visible) - self.visible);
        let has_grown = self.last.is_none_or(|[gaussians, visible]| {
            self.gaussians >= GROWN * gaussians.max(1.0) || self.visible >= GROWN * visible.max(1.0)
        });
        if self.ways.len() > 1 && self.heat.is_none() && self.finished >= WARM_UP && has_grown {
            self.heat = Some(Heat {
                lanes: vec![Lane::default(); self.ways.len()],
                turn: 0,
                submitted: 0,
                visible: 0.0,
            });
        }
    }

    /// The way of the next step if that is to be timed for a race.
    pub(super) fn turn(&mut self) -> Option<usize> {
        let ways = self.ways.len();
        let heat = self.heat.as_mut()?;
        let most = PATIENCE.saturating_mul(u32::try_from(ways).unwrap_or(u32::MAX));
        if heat.submitted >= most {
            // Steps do not come back as they should: things stay as they are until the model has grown again.
            self.heat = None;
            self.last = Some([self.gaussians, self.visible]);
            return None;
        }
        heat.submitted += 1;
        let lanes = &heat.lanes;
        let is_in = |way: &usize| lanes.get(*way).is_some_and(|lane| !lane.is_out);
        let way = (0..ways).map(|k| (heat.turn + k) % ways).find(is_in)?;
        heat.turn = way + 1;
        Some(way)
    }

    /// Adds a step that took `ns` with way `way`; gives the result when that was the last one.
    pub(super) fn add(&mut self, way: usize, ns: f64, counters: &Counters) -> Option<RaceResult> {
        let heat = self.heat.as_mut()?;
        let lane = heat.lanes.get_mut(way).filter(|lane| !lane.is_out)?;
        lane.steps += 1;
        if lane.rounds() == 0 {
            return None;
        }
        lane.ns += ns;
        lane.intersections += f64::from(counters.intersections);
        heat.visible += f64::from(counters.visible);
        let best = best(&heat.lanes).and_then(|way| heat.lanes.get(way)?.cost());
        for (way, lane) in heat.lanes.iter_mut().enumerate() {
            let is_behind = |times: f64| {
                let costs = lane.cost().zip(best);
                costs.is_some_and(|(cost, best)| cost > times * best)
            };
            let is_hopeless = way > 0 && is_behind(HOPELESS);
            lane.is_out |= is_hopeless || is_behind(FAR_BEHIND) && lane.rounds() >= HEATS;
        }
        let is_over = heat.lanes.iter().all(|lane| lane.is_out || lane.rounds() >= ROUNDS);
        if is_over { self.finish() } else { None }
    }

    fn finish(&mut self) -> Option<RaceResult> {
        let Heat { lanes, visible, .. } = self.heat.take()?;
        self.last = Some([self.gaussians, self.visible]);
        let cost = |way: usize| lanes.get(way).and_then(Lane::cost);
        self.chosen = match (best(&lanes), cost(0)) {
            (Some(best), Some(ruled)) if cost(best)? < (1.0 - MARGIN) * ruled => best,
            (Some(best), None) => best,
            _ => 0,
        };
        let rounds: u32 = lanes.iter().map(Lane::rounds).sum();
        let mean = |sum: f64| sum / f64::from(rounds.max(1));
        let intersections = mean(lanes.iter().map(|lane| lane.intersections).sum());
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "figures for people, of what was counted in 32 bits"
        )]
        let result = RaceResult {
            gaussians: self.gaussians as u32,
            visible: mean(visible) as u32,
            intersections: intersections as u32,
            runners: std::iter::zip(&self.ways, &lanes)
                .map(|(kernels, lane)| Runner {
                    kernels: kernels.clone(),
                    steps: lane.rounds(),
                    ms: lane.cost().map(|ns| (ns * intersections / 1e6) as f32),
                })
                .collect(),
            chosen: self.ways.get(self.chosen)?.clone(),
        };
        Some(result)
    }
}

/// The lane with the lowest cost.
fn best(lanes: &[Lane]) -> Option<usize> {
    let costs = lanes
        .iter()
        .enumerate()
        .filter_map(|(way, lane)| Some((way, lane.cost()?)));
    costs.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(way, _)| way)
}

#[cfg(test)]
mod tests;
