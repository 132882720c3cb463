//! Births of the strategy `budgeted`: how many there may be on the way to the cap, and who has them. What comes then is
//! [`densify`](super::densify)'s.

use super::adam::Moments;
use super::densify::{Decision, Event, Options, Report, carry_out, ration};
use super::gaussian::Gaussian;
use super::jitter::Jitter;
use super::math::{Real, sigmoid};
use super::project::Visible;
use super::rasterize::{Raster, TileLists};
use super::rasterize_backward::rasterize_backward;
use super::statistics::Statistics;

/// The way to the cap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Way {
    /// Iteration at which it begins.
    pub from: u32,
    /// Iteration of the last event, at which the cap is reached.
    pub last: u32,
    /// Its shape; 1 is a straight line, more is sooner.
    pub ramp: f32,
    /// Most births of an event, as a share of the Gaussians there are.
    pub growth: f32,
}

impl Way {
    /// Births there may be at `iteration` among `n` Gaussians: up to `capacity (1 - (1 - x)^ramp)` Gaussians in all, `x` the
    /// share of the way that is gone, and up to `growth n` births.
    #[must_use]
    pub fn room(&self, iteration: u32, n: u32, capacity: u32) -> u32 {
        let length = (self.last - self.from).max(1) as f32;
        let gone = (iteration.saturating_sub(self.from) as f32 / length).clamp(0.0, 1.0);
        let goal = capacity as f32 * (1.0 - (1.0 - gone).powf(self.ramp));
        let most = (goal as u32).min(capacity);
        most.saturating_sub(n).min((self.growth * n as f32) as u32)
    }
}

/// Exponents of what a score is the product of; 0 leaves a statistic out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponents {
    /// Of the error that lies in what the Gaussian contributes to pixels.
    pub error: f64,
    /// Of the mean per-pixel absolute gradient of the centre.
    pub abs_gradient: f64,
    /// Of the largest sum of blending weights in a view; may be negative.
    pub weight: f64,
    /// Of the opacity before the 3D filter.
    pub opacity: f64,
}

/// What an event adds to [`Options`], which has the deaths and how splits are made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Births {
    /// How many.
    pub way: Way,
    /// Who.
    pub exponents: Exponents,
}

/// Sum over a view's pixels of each visible Gaussian's blending weight times the pixel's `value`: what the gradient of its
/// colour would be if the image's gradient were `value`.
#[must_use]
pub fn splat_back<R: Real>(
    size_px: [u32; 2],
    visible: &[Visible<R>],
    lists: &TileLists,
    raster: &Raster<R>,
    value: &[R],
    jitter: Option<Jitter>,
) -> Vec<R> {
    let gradient: Vec<[R; 3]> = value.iter().map(|&v| [v; 3]).collect();
    let sums = rasterize_backward(size_px, visible, lists, [R::ZERO; 3], raster, &gradient, jitter);
    sums.into_iter().map(|sum| sum.rgb[0]).collect()
}

/// The score of a Gaussian. Statistics of this strategy have the error in the place of the gradient and the largest weight in
/// that of the radius.
#[must_use]
pub fn score<R: Real>(gaussian: &Gaussian<R>, statistics: &Statistics<R>, exponents: &Exponents) -> R {
    let power = |x: R, exponent: f64| {
        if exponent == 0.0 {
            R::ONE
        } else if x > R::ZERO {
            (R::of(exponent) * x.ln()).exp()
        } else {
            R::ZERO
        }
    };
    let (_, pull) = statistics.means();
    let product = power(statistics.gradient_sum, exponents.error) * power(pull, exponents.abs_gradient);
    let product = product * power(statistics.max_radius_px, exponents.weight);
    (product * power(sigmoid(gaussian.logit_opacity), exponents.opacity)).min(R::of(1e30))
}

/// Decides for every Gaussian: those with a score that do not die anyway may give birth. Without `halve` in the options, small
/// ones are copied.
#[must_use]
pub fn decide<R: Real>(
    gaussians: &[Gaussian<R>],
    statistics: &[Statistics<R>],
    options: &Options,
    exponents: &Exponents,
    extent: f64,
) -> Vec<(Decision, R)> {
    let copy_max = R::of(options.clone_extent * extent);
    let largest = |g: &Gaussian<R>| g.log_scale.map(R::exp).into_iter().fold(R::ZERO, R::max);
    let decide = |(gaussian, statistics): (&Gaussian<R>, &Statistics<R>)| {
        let score = score(gaussian, statistics, exponents);
        let lives = sigmoid(gaussian.logit_opacity) >= R::of(options.prune_opacity);
        let decision = if score <= R::ZERO || !lives {
            Decision::Keep
        } else if options.halve.is_some() || largest(gaussian) > copy_max {
            Decision::Split
        } else {
            Decision::Clone
        };
        (decision, score)
    };
    gaussians.iter().zip(statistics).map(decide).collect()
}

/// Runs a whole event. All three lists have one entry a Gaussian and grow or shrink together; statistics end cleared.
pub fn densify<R: Real>(
    gaussians: &mut Vec<Gaussian<R>>,
    moments: &mut Vec<Moments<R>>,
    statistics: &mut Vec<Statistics<R>>,
    options: &Options,
    births: &Births,
    event: &Event,
) -> Report {
    let mut decisions = decide(gaussians, statistics, options, &births.exponents, event.extent);
    let room = births
        .way
        .room(event.iteration, gaussians.len() as u32, event.capacity as u32);
    let capped = ration(&mut decisions, room as usize);
    let report = carry_out(gaussians, moments, statistics, &decisions, options, event);
    Report { capped, ..report }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::cpu::densify::{half, half_factors};
    use crate::kernels::cpu::math::logit;

    const WAY: Way = Way {
        from: 500,
        last: 14_900,
        ramp: 3.0,
        growth: 0.25,
    };

    #[test]
    fn the_way_ends_at_the_cap_and_never_passes_it() {
        assert_eq!(WAY.room(500, 100, 1000), 0);
        assert_eq!(WAY.room(14_900, 990, 1000), 10);
        assert_eq!(WAY.room(20_000, 1000, 1000), 0);
        assert_eq!(WAY.room(14_900, 100, 1000), 25, "a quarter");
        let straight = Way { ramp: 1.0, ..WAY };
        assert_eq!(straight.room(7700, 450, 1000), 50);
        let free = Way { growth: 1.0, ..WAY };
        let mut before = 0;
        for iteration in (600..=14_900).step_by(100) {
            // As many as leave no room for more.
            let goal = (1..=1000).find(|&n| free.room(iteration, n, 1000) == 0);
            let goal = goal.unwrap_or(u32::MAX);
            assert!((before..=1000).contains(&goal), "{iteration}: {goal}");
            before = goal;
        }
        assert_eq!(before, 1000);
    }

    #[test]
    fn scores_are_products_of_what_is_switched_on() {
        let gaussian = Gaussian {
            logit_opacity: logit(0.25),
            ..Gaussian::ZERO
        };
        let seen = Statistics {
            gradient_sum: 3.0,
            abs_sum: 8.0,
            count: 2,
            max_radius_px: 16.0,
            ..Statistics::default()
        };
        let of = |error, abs_gradient, weight, opacity| {
            let exponents = Exponents {
                error,
                abs_gradient,
                weight,
                opacity,
            };
            score(&gaussian, &seen, &exponents)
        };
        for (found, wanted) in [
            (of(1.0, 0.0, 0.0, 0.0), 3.0),
            (of(0.0, 0.5, 0.0, 0.0), 2.0),
            (of(2.0, 1.0, 0.0, 0.5), 18.0),
            (of(1.0, 0.0, -0.5, 0.0), 0.75),
            (of(0.0, 0.0, 0.0, 1.0), 0.25),
        ] {
            let found: f64 = found;
            assert!((found - wanted).abs() < 1e-12, "{found}, not {wanted}");
        }
        let exponents = Exponents {
            error: 1.0,
            abs_gradient: 0.0,
            weight: 0.0,
            opacity: 0.0,
        };
        assert_eq!(score(&gaussian, &Statistics::default(), &exponents), 0.0);
    }

    #[test]
    fn halves_are_as_wide_and_at_the_centre_as_opaque_as_the_whole() {
        for offset in [0.3, 0.5, 0.6] {
            let parent = Gaussian {
                quat: [0.8, 0.0, 0.6, 0.0],
                log_scale: [-1.0, 0.5, -0.2],
                logit_opacity: logit(0.4),
                ..Gaussian::ZERO
            };
            let halves = [half(&parent, 0, offset), half(&parent, 1, offset)];
            let (shrink, gain) = half_factors(offset);
            let s = 0.5_f64.exp();
            // The second axis of a rotation about the second axis.
            assert!((halves[0].mean[1] - offset * s).abs() < 1e-12);
            assert_eq!(halves[0].mean.map(|v| -v), halves[1].mean);
            let width = (halves[0].log_scale[1].exp().powi(2) + halves[0].mean[1].powi(2)).sqrt();
            assert!((width - s).abs() < 1e-12 && shrink < 1.0);
            assert_eq!((halves[0].log_scale[0], halves[0].log_scale[2]), (-1.0, -0.2));
            let at_centre = sigmoid(halves[0].logit_opacity) / gain;
            assert!((1.0 - (1.0 - at_centre).powi(2) - 0.4).abs() < 1e-12);
        }
        // Far apart they would have to be more opaque than the whole to make up for it, and are not; opaque ones stay finite.
        let far = Gaussian {
            logit_opacity: logit(0.4_f64),
            ..Gaussian::ZERO
        };
        assert_eq!(half(&far, 0, 0.8).logit_opacity, far.logit_opacity);
        let wall = Gaussian {
            logit_opacity: 30.0_f32,
            ..Gaussian::ZERO
        };
        assert_eq!(half(&wall, 0, 0.6).logit_opacity, 30.0);
    }
}
