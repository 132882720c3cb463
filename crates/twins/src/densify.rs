//! Clones, splits and prunes Gaussians in place: adaptive density control of Kerbl et al. 2023, section 5.2, with the
//! abs statistic of Gaussian Opacity Fields (Yu et al. 2024) as a second way to be selected.
//!
//! Slots follow fixed rules so that a device reproduces them from prefix sums alone:
//!
//! - a split writes its first child into the parent's slot and appends the second; a clone appends its copy;
//!   appended slots are in id order;
//! - pruning looks at the model after the births; then the j-th dead slot below the new count receives the j-th live
//!   slot above it, and the tail is dropped.
//!
//! Children of splits and copies start with zero moments; a cloned parent keeps its own.

use super::adam::Moments;
use super::gaussian::Gaussian;
use super::statistics::Statistics;
use super::{rng, scan};
use kiln_kernels::densify::Options;
use kiln_scene::math::{Real, Vec3, add, mat_vec, norm, rotation, sigmoid};

/// Circumstances of an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// Seed of the run.
    pub seed: u32,
    /// Iteration, part of the random numbers' key.
    pub iteration: u32,
    /// Scene extent, world units.
    pub extent: f64,
    /// Most Gaussians the model may hold, counted before the deaths.
    pub capacity: usize,
}

/// What becomes of a Gaussian before pruning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Stays as it is.
    Keep,
    /// Stays and is copied.
    Clone,
    /// Is replaced by two smaller samples of itself.
    Split,
}

/// What an event did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Gaussians copied.
    pub cloned: usize,
    /// Gaussians split.
    pub split: usize,
    /// Gaussians selected but left alone for want of capacity.
    pub capped: usize,
    /// Gaussians removed, those added in the event included.
    pub pruned: usize,
}

/// Quantile `q` in 0..=1 with linear interpolation between the two nearest ranks; 0 of no values.
#[must_use]
pub fn quantile<R: Real>(values: &[R], q: f64) -> R {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.to_f64().total_cmp(&b.to_f64()));
    let at = q.clamp(0.0, 1.0) * sorted.len().saturating_sub(1) as f64;
    let (low, high) = (at.floor() as usize, at.ceil() as usize);
    match (sorted.get(low), sorted.get(high)) {
        (Some(&a), Some(&b)) => a + (b - a) * R::of(at - low as f64),
        _ => R::ZERO,
    }
}

/// Largest standard deviation.
fn max_scale<R: Real>(gaussian: &Gaussian<R>) -> R {
    gaussian.log_scale.map(R::exp).into_iter().fold(R::ZERO, R::max)
}

/// Decides for every Gaussian and gives the score by which births are rationed: the larger of the two statistics in
/// units of their thresholds.
///
/// With `g` and `ga` the mean gradient and the abs statistic, selected means `g >= threshold` or `ga >= Q`, `Q` the quantile
/// of `ga` above which as large a share of the model lies as is selected by `g`.
#[must_use]
pub fn decide<R: Real>(
    gaussians: &[Gaussian<R>],
    statistics: &[Statistics<R>],
    options: &Options,
    extent: f64,
) -> Vec<(Decision, R)> {
    let threshold = R::of(options.gradient_threshold);
    let means: Vec<(R, R)> = statistics.iter().map(Statistics::means).collect();
    let abs_threshold = options.use_abs.then(|| {
        let above = means.iter().filter(|(g, _)| *g >= threshold).count();
        let ratio = above as f64 / means.len().max(1) as f64;
        let abs: Vec<R> = means.iter().map(|&(_, ga)| ga).collect();
        quantile(&abs, 1.0 - ratio)
    });
    let clone_max = R::of(options.clone_extent * extent);
    gaussians
        .iter()
        .zip(means)
        .map(|(gaussian, (g, ga))| {
            let by_abs = abs_threshold.is_some_and(|q| ga >= q);
            let mut score = g / threshold;
            if let Some(q) = abs_threshold.filter(|&q| q > R::ZERO) {
                score = score.max(ga / q);
            }
            let decision = if !(g >= threshold || by_abs) {
                Decision::Keep
            } else if max_scale(gaussian) <= clone_max {
                Decision::Clone
            } else {
                Decision::Split
            };
            (decision, score)
        })
        .collect()
}

/// Turns selected Gaussians back to [`Decision::Keep`] until at most `free` births remain: the highest scores stay,
/// of equal scores the lower ids. Returns how many were turned back.
pub fn ration<R: Real>(decisions: &mut [(Decision, R)], free: usize) -> usize {
    let mut selected: Vec<usize> = (0..decisions.len())
        .filter(|&i| decisions[i].0 != Decision::Keep)
        .collect();
    selected.sort_by(|&a, &b| decisions[b].1.to_f64().total_cmp(&decisions[a].1.to_f64()));
    let dropped = selected.get(free..).unwrap_or_default();
    for &i in dropped {
        decisions[i].0 = Decision::Keep;
    }
    dropped.len()
}

/// Child `child` (0 or 1) of a split: a sample of the parent as the new centre, scales divided. Draws normals of
/// channels `3 child .. 3 child + 3` of the parent's slot.
#[must_use]
pub fn split_child<R: Real>(
    parent: &Gaussian<R>,
    id: u32,
    child: u32,
    options: &Options,
    event: &Event,
) -> Gaussian<R> {
    let length = norm(parent.quat);
    let axes = rotation(parent.quat.map(|v| v / length));
    let sample: Vec3<R> = std::array::from_fn(|i| {
        parent.log_scale[i].exp() * rng::normal::<R>(event.seed, event.iteration, id, 3 * child + i as u32)
    });
    Gaussian {
        mean: add(mat_vec(axes, sample), parent.mean),
        log_scale: parent.log_scale.map(|s| s - R::of(options.split_divisor.ln())),
        ..*parent
    }
}

/// Whether a Gaussian dies.
#[must_use]
pub fn dies<R: Real>(gaussian: &Gaussian<R>, options: &Options, extent: f64) -> bool {
    sigmoid(gaussian.logit_opacity) < R::of(options.prune_opacity)
        || options
            .prune_extent
            .is_some_and(|share| max_scale(gaussian) > R::of(share * extent))
}

/// Live count and the moves `(from, to)` that close the holes: the j-th dead slot below the live count receives the
/// j-th live slot at or above it.
#[must_use]
pub fn compaction(dead: &[bool]) -> (usize, Vec<(usize, usize)>) {
    let live = dead.iter().filter(|&&d| !d).count();
    let holes = (0..live).filter(|&i| dead[i]);
    let tail = (live..dead.len()).filter(|&i| !dead[i]);
    (live, tail.zip(holes).collect())
}

/// Runs a whole event. All three lists have one entry a Gaussian and grow or shrink together; statistics end cleared.
pub fn densify<R: Real>(
    gaussians: &mut Vec<Gaussian<R>>,
    moments: &mut Vec<Moments<R>>,
    statistics: &mut Vec<Statistics<R>>,
    options: &Options,
    event: &Event,
) -> Report {
    let mut decisions = decide(gaussians, statistics, options, event.extent);
    let capped = ration(&mut decisions, event.capacity.saturating_sub(gaussians.len()));
    let report = carry_out(gaussians, moments, statistics, &decisions, options, event);
    Report { capped, ..report }
}

/// The event from the decisions on: births, deaths, moves.
pub fn carry_out<R: Real>(
    gaussians: &mut Vec<Gaussian<R>>,
    moments: &mut Vec<Moments<R>>,
    statistics: &mut Vec<Statistics<R>>,
    decisions: &[(Decision, R)],
    options: &Options,
    event: &Event,
) -> Report {
    let n = gaussians.len();
    let births: Vec<u32> = decisions.iter().map(|(d, _)| u32::from(*d != Decision::Keep)).collect();
    let (slots, born) = scan::exclusive(&births);

    let total = n + born as usize;
    gaussians.resize(total, Gaussian::ZERO);
    moments.resize(total, Moments::ZERO);
    statistics.resize(total, Statistics::default());
    let mut report = Report::default();
    let child = |parent: &Gaussian<R>, id: usize, which: u32| split_child(parent, id as u32, which, options, event);
    for (id, (decision, _)) in decisions.iter().enumerate() {
        let slot = n + slots[id] as usize;
        let parent = gaussians[id];
        match decision {
            Decision::Keep => {}
            Decision::Clone => {
                gaussians[slot] = parent;
                report.cloned += 1;
            }
            Decision::Split => {
                gaussians[id] = child(&parent, id, 0);
                gaussians[slot] = child(&parent, id, 1);
                moments[id] = Moments::ZERO;
                report.split += 1;
            }
        }
    }

    let dead: Vec<bool> = gaussians
        .iter()
        .map(|gaussian| dies(gaussian, options, event.extent))
        .collect();
    let (live, moves) = compaction(&dead);
    for (from, to) in moves {
        gaussians[to] = gaussians[from];
        moments[to] = moments[from];
    }
    gaussians.truncate(live);
    moments.truncate(live);
    statistics.clear();
    statistics.resize(live, Statistics::default());
    report.pruned = total - live;
    report
}

#[cfg(test)]
mod tests;
