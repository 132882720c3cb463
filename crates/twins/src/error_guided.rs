//! Births of the strategy `error_guided`: how many there may be on the way to the cap, and which Gaussians they copy. What comes then is
//! [`densify`](super::densify)'s.

use super::adam::Moments;
use super::densify::{Decision, Event, Report, carry_out, ration};
use super::gaussian::Gaussian;
use super::project::Visible;
use super::rasterize::{Raster, TileLists};
use super::rasterize_backward::rasterize_backward;
use super::statistics::Statistics;
use kiln_kernels::densify::{GrowthCurve, Options};
use kiln_kernels::error_guided::{Births, Exponents};
use kiln_scene::math::{Real, sigmoid};

/// Births there may be at `iteration` among `n` Gaussians: up to `capacity (1 - (1 - x)^ramp)` Gaussians in all, `x` the
/// share of the way that is gone, and up to `growth n` births.
#[must_use]
pub fn room(curve: &GrowthCurve, iteration: u32, n: u32, capacity: u32) -> u32 {
    let length = (curve.last - curve.from).max(1) as f32;
    let gone = (iteration.saturating_sub(curve.from) as f32 / length).clamp(0.0, 1.0);
    let goal = capacity as f32 * (1.0 - (1.0 - gone).powf(curve.ramp));
    let most = (goal as u32).min(capacity);
    most.saturating_sub(n).min((curve.growth * n as f32) as u32)
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
) -> Vec<R> {
    let gradient: Vec<[R; 3]> = value.iter().map(|&v| [v; 3]).collect();
    let sums = rasterize_backward(size_px, visible, lists, [R::ZERO; 3], raster, &gradient);
    sums.into_iter().map(|sum| sum.rgb[0]).collect()
}

/// The score of a Gaussian. Statistics of this strategy have the error in the place of the gradient.
#[must_use]
pub fn score<R: Real>(statistics: &Statistics<R>, exponents: &Exponents) -> R {
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
    (power(statistics.gradient_sum, exponents.error) * power(pull, exponents.abs_gradient)).min(R::of(1e30))
}

/// Decides for every Gaussian: those with a score that do not die anyway may give birth. Small ones are copied.
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
        let score = score(statistics, exponents);
        let lives = sigmoid(gaussian.logit_opacity) >= R::of(options.prune_opacity);
        let decision = if score <= R::ZERO || !lives {
            Decision::Keep
        } else if largest(gaussian) > copy_max {
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
    let room = room(
        &births.curve,
        event.iteration,
        gaussians.len() as u32,
        event.capacity as u32,
    );
    let capped = ration(&mut decisions, room as usize);
    let report = carry_out(gaussians, moments, statistics, &decisions, options, event);
    Report { capped, ..report }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CURVE: GrowthCurve = GrowthCurve {
        from: 500,
        last: 14_900,
        ramp: 3.0,
        growth: 0.25,
    };

    #[test]
    fn the_way_ends_at_the_cap_and_never_passes_it() {
        assert_eq!(room(&CURVE, 500, 100, 1000), 0);
        assert_eq!(room(&CURVE, 14_900, 990, 1000), 10);
        assert_eq!(room(&CURVE, 20_000, 1000, 1000), 0);
        assert_eq!(room(&CURVE, 14_900, 100, 1000), 25, "a quarter");
        let straight = GrowthCurve { ramp: 1.0, ..CURVE };
        assert_eq!(room(&straight, 7700, 450, 1000), 50);
        let free = GrowthCurve { growth: 1.0, ..CURVE };
        let mut before = 0;
        for iteration in (600..=14_900).step_by(100) {
            // As many as leave no room for more.
            let goal = (1..=1000).find(|&n| room(&free, iteration, n, 1000) == 0);
            let goal = goal.unwrap_or(u32::MAX);
            assert!((before..=1000).contains(&goal), "{iteration}: {goal}");
            before = goal;
        }
        assert_eq!(before, 1000);
    }

    #[test]
    fn scores_are_products_of_what_is_switched_on() {
        let seen = Statistics {
            gradient_sum: 3.0,
            abs_sum: 8.0,
            count: 2,
        };
        let of = |error, abs_gradient| {
            let exponents = Exponents { error, abs_gradient };
            score(&seen, &exponents)
        };
        for (found, wanted) in [(of(1.0, 0.0), 3.0), (of(0.0, 0.5), 2.0), (of(2.0, 1.0), 36.0)] {
            let found: f64 = found;
            assert!((found - wanted).abs() < 1e-12, "{found}, not {wanted}");
        }
        let exponents = Exponents {
            error: 1.0,
            abs_gradient: 0.0,
        };
        assert_eq!(score(&Statistics::<f64>::default(), &exponents), 0.0);
    }
}
