//! Relocation and births of 3DGS-MCMC (Kheradmand et al. 2024, sections 4.2 and 4.3), in place and as one event.
//!
//! Slots follow fixed rules so that a device reproduces them from prefix sums alone: copy `k` of all fills the `k`-th dead
//! slot, and those beyond the dead are appended. A copy's source is where `k` lies in the running sum of weights.

use super::adam::Moments;
use super::gaussian::Gaussian;
use super::rng;
use super::statistics::Statistics;
use kiln_kernels::generated::mcmc_scan::CHANNEL_OFFSET;
use kiln_kernels::generated::mcmc_weigh::CHANNEL_WEIGHT;
use kiln_scene::math::{Real, logit, sigmoid};

/// Highest opacity of a copy.
const MOST: f64 = 1.0 - 1e-6;

/// Circumstances of an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// Seed of the run.
    pub seed: u32,
    /// Iteration, part of the random numbers' key.
    pub iteration: u32,
    /// Opacity up to which a Gaussian is dead, before the 3D filter; also the least of a copy.
    pub dead_opacity: f32,
    /// Births, as a share of the Gaussians there are.
    pub growth: f32,
    /// Most Gaussians the model may hold.
    pub capacity: u32,
    /// Most copies.
    pub row: u32,
}

/// What an event did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Dead whose slots were reused.
    pub relocated: usize,
    /// Gaussians added.
    pub born: usize,
}

/// Opacity of each of `n` Gaussians in the place of one with `logit_opacity`, and what their log scales change by: equation
/// 9 of the paper with its double sum as the integral it stands for, see `shaders/common/mcmc.glsl`.
#[must_use]
pub fn share_among<R: Real>(logit_opacity: R, n: u32) -> (R, R) {
    const STEP: f64 = 0.125;
    const STEPS: u32 = 40;
    let n = R::of(f64::from(n));
    let zero = logit_opacity.max(R::ZERO);
    let absorbed = zero + (R::ONE + (-(zero + zero - logit_opacity)).exp()).ln();
    let opacity = one_minus_exp(absorbed / n).min(R::of(MOST));
    let mut sum = R::of(0.5) * one_minus_exp(n * minus_log_rest(opacity));
    for k in 1..=STEPS {
        let x = STEP * f64::from(k);
        sum += one_minus_exp(n * minus_log_rest(opacity * R::of((-x * x).exp())));
    }
    let integral = R::of(2.0 * STEP / std::f64::consts::PI.sqrt()) * sum;
    (opacity, (one_minus_exp(absorbed) / integral).ln())
}

/// `1 - exp(-t)` for `t >= 0`, without cancellation.
fn one_minus_exp<R: Real>(t: R) -> R {
    if t < R::of(0.01) {
        t * (R::ONE - t * (R::of(0.5) - t * R::of(1.0 / 6.0)))
    } else {
        R::ONE - (-t).exp()
    }
}

/// `-ln(1 - y)` for `0 <= y < 1`, without cancellation.
fn minus_log_rest<R: Real>(y: R) -> R {
    if y < R::of(0.01) {
        y * (R::ONE + y * (R::of(0.5) + y * (R::of(1.0 / 3.0) + R::of(0.25) * y)))
    } else {
        -(R::ONE - y).ln()
    }
}

/// How often each Gaussian is copied, and the dead.
///
/// Copies lie evenly in the running sum of weights (systematic resampling, Kitagawa 1996), which are opacities in whole
/// steps, rounded at random so that their means are the opacities.
#[must_use]
pub fn copies<R: Real>(gaussians: &[Gaussian<R>], event: &Event) -> (Vec<u32>, Vec<bool>) {
    let n = gaussians.len() as u32;
    let opacities = || gaussians.iter().map(|g| sigmoid(g.logit_opacity).to_f64());
    let dead: Vec<bool> = opacities().map(|o| o <= f64::from(event.dead_opacity)).collect();
    let steps = f64::from((u32::MAX / n.max(1) - 1).min(32_767));
    let weights: Vec<u64> = opacities()
        .zip(&dead)
        .enumerate()
        .map(|(id, (opacity, &dead))| {
            let draw: f64 = rng::uniform(event.seed, event.iteration, id as u32, CHANNEL_WEIGHT);
            if dead { 0 } else { (opacity * steps + draw) as u64 }
        })
        .collect();
    let total: u64 = weights.iter().sum();
    let n_dead = dead.iter().filter(|&&d| d).count() as u64;
    let born = event.capacity.saturating_sub(n).min((event.growth * n as f32) as u32);
    let copies = (n_dead + u64::from(born)).min(event.row.into()).min(total.max(1) - 1);
    let rate = (copies << 32) / total.max(1);
    let offset = u64::from(rng::bits(event.seed, event.iteration, 0, CHANNEL_OFFSET));
    let below = |sum: u64| match sum < total {
        true => ((sum * rate + offset) >> 32).min(copies),
        false => copies,
    };
    let mut sum = 0;
    let counts = weights.iter().map(|&weight| {
        let before = sum;
        sum += weight;
        if weight > 0 {
            (below(sum) - below(before)) as u32
        } else {
            0
        }
    });
    (counts.collect(), dead)
}

/// Runs a whole event. All three lists have one entry a Gaussian and grow together.
pub fn mcmc_relocate<R: Real>(
    gaussians: &mut Vec<Gaussian<R>>,
    moments: &mut Vec<Moments<R>>,
    statistics: &mut Vec<Statistics<R>>,
    event: &Event,
) -> Report {
    let (counts, dead) = copies(gaussians, event);
    let sources: Vec<usize> = counts
        .iter()
        .enumerate()
        .flat_map(|(id, &count)| std::iter::repeat_n(id, count as usize))
        .collect();
    for (id, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let gaussian = &mut gaussians[id];
        let (opacity, change) = share_among(gaussian.logit_opacity, count + 1);
        gaussian.logit_opacity = logit(opacity.max(R::of(event.dead_opacity.into())));
        gaussian.log_scale = gaussian.log_scale.map(|s| s + change);
        moments[id] = Moments::ZERO;
        statistics[id] = Statistics::default();
    }
    let holes: Vec<usize> = (0..dead.len()).filter(|&id| dead[id]).take(sources.len()).collect();
    let born = sources.len().saturating_sub(dead.iter().filter(|&&d| d).count());
    let first = gaussians.len();
    gaussians.resize(first + born, Gaussian::ZERO);
    moments.resize(first + born, Moments::ZERO);
    statistics.resize(first + born, Statistics::default());
    for (source, slot) in sources.into_iter().zip(holes.iter().copied().chain(first..)) {
        gaussians[slot] = gaussians[source];
        moments[slot] = Moments::ZERO;
        statistics[slot] = Statistics::default();
    }
    Report {
        relocated: holes.len(),
        born,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: Event = Event {
        seed: 5,
        iteration: 600,
        dead_opacity: 0.005,
        growth: 0.05,
        capacity: 1 << 20,
        row: 1 << 19,
    };

    fn model(n: u32) -> Vec<Gaussian<f64>> {
        let opacity = |id| 0.02 + 0.9 * rng::uniform::<f64>(3, 0, id, 0);
        (0..n)
            .map(|id| Gaussian {
                mean: [f64::from(id), 0.0, 0.0],
                logit_opacity: if id % 10 == 3 { -8.0 } else { logit(opacity(id)) },
                ..Gaussian::ZERO
            })
            .collect()
    }

    /// Equation 9 as the paper writes it.
    fn paper(opacity: f64, n: u32) -> (f64, f64) {
        let shared = 1.0 - (1.0 - opacity).powf(1.0 / f64::from(n));
        let mut sum = 0.0;
        for i in 1..=n {
            let mut binomial = 1.0;
            for k in 0..i {
                let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
                sum += binomial * sign * shared.powi(k as i32 + 1) / f64::from(k + 1).sqrt();
                binomial *= f64::from(i - 1 - k) / f64::from(k + 1);
            }
        }
        (shared, (opacity / sum).ln())
    }

    #[test]
    fn shares_are_those_of_the_paper() {
        for opacity in [0.006, 0.1, 0.5, 0.9, 0.99] {
            for n in [2, 3, 5, 12, 30] {
                let (o, s) = share_among(logit(opacity), n);
                let (wanted_o, wanted_s) = paper(opacity, n);
                assert!((o - wanted_o).abs() < 1e-6 * wanted_o, "{opacity} {n}: {o} {wanted_o}");
                assert!((s - wanted_s).abs() < 2e-6, "{opacity} {n}: {s} {wanted_s}");
                let (single_o, single_s) = share_among(logit(opacity) as f32, n);
                assert!((f64::from(single_o) - o).abs() < 1e-5 * o && (f64::from(single_s) - s).abs() < 1e-5);
            }
        }
        // Nearly opaque and many: the sum of the paper would have no digit left.
        for n in [2, 51, 4000] {
            let (o, s) = share_among(18.0_f32, n);
            assert!(o > 0.0 && o < 1.0 && s.is_finite() && s <= 1e-6, "{n}: {o} {s}");
        }
    }

    #[test]
    fn copies_follow_opacity_and_fill_dead_slots_first() {
        let mut gaussians = model(2000);
        let mut wanted = 0.0;
        let mut found = 0;
        let total: f64 = gaussians.iter().map(|g| sigmoid(g.logit_opacity)).sum();
        for iteration in 0..200 {
            let (counts, dead) = copies(&gaussians, &Event { iteration, ..EVENT });
            assert_eq!(counts.iter().sum::<u32>(), 200 + 100);
            assert!(counts.iter().zip(&dead).all(|(&count, &dead)| count == 0 || !dead));
            found += counts[..700].iter().sum::<u32>();
            let faint: f64 = gaussians[..700].iter().map(|g| sigmoid(g.logit_opacity)).sum();
            wanted += 300.0 * faint / total;
        }
        assert!((f64::from(found) / wanted - 1.0).abs() < 0.01, "{found} {wanted}");

        let before = gaussians.clone();
        let (mut moments, mut statistics) = (vec![Moments::ZERO; 2000], vec![Statistics::default(); 2000]);
        let report = mcmc_relocate(&mut gaussians, &mut moments, &mut statistics, &EVENT);
        assert_eq!((report.relocated, report.born, gaussians.len()), (200, 100, 2100));
        assert!(gaussians.iter().all(|g| g.logit_opacity > -8.0), "none is dead");
        let copied = (0..2000).filter(|&id| gaussians[id] != before[id] && gaussians[id].mean == before[id].mean);
        assert!(copied.count() > 150);
    }

    #[test]
    fn the_capacity_is_never_passed() {
        for capacity in [0, 1900, 2000, 2001, 2050] {
            let mut gaussians = model(2000);
            let (mut moments, mut statistics) = (vec![Moments::ZERO; 2000], vec![Statistics::default(); 2000]);
            let event = Event { capacity, ..EVENT };
            let report = mcmc_relocate(&mut gaussians, &mut moments, &mut statistics, &event);
            assert_eq!(gaussians.len(), 2000.max(capacity as usize));
            assert_eq!(report.relocated, 200);
        }
    }

    #[test]
    fn all_dead_and_nobody_are_left_alone() {
        let mut gaussians = model(20);
        for gaussian in &mut gaussians {
            gaussian.logit_opacity = -9.0;
        }
        let before = gaussians.clone();
        let (mut moments, mut statistics) = (vec![Moments::ZERO; 20], vec![Statistics::default(); 20]);
        assert_eq!(
            mcmc_relocate(&mut gaussians, &mut moments, &mut statistics, &EVENT),
            Report::default()
        );
        assert_eq!(gaussians, before);
        let none = mcmc_relocate::<f64>(&mut vec![], &mut vec![], &mut vec![], &EVENT);
        assert_eq!(none, Report::default());
    }
}
