//! Adam (Kingma and Ba 2015) with one learning rate and one step count per parameter group.
//!
//! Dense: Gaussians outside the view take part with a zero gradient, so their momentum runs on.

use super::gaussian::{Gaussian, VALUES};
use kiln_scene::math::Real;

/// Decay rates and the constant that keeps the quotient finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adam {
    /// Decay of the first moment.
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// Added to the root of the second moment; tiny, because gradients of single Gaussians are.
    pub eps: f64,
}

impl Default for Adam {
    fn default() -> Self {
        Self {
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-15,
        }
    }
}

/// One group's update: learning rate and how many updates the group has had, this one included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupStep {
    /// Learning rate.
    pub rate: f64,
    /// From 1.
    pub step: u32,
}

/// Updates of all groups; a group that is `None` is left alone, moments included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GroupSteps {
    /// Centres.
    pub mean: Option<GroupStep>,
    /// Rotations.
    pub quat: Option<GroupStep>,
    /// Log scales.
    pub log_scale: Option<GroupStep>,
    /// Opacity logits.
    pub opacity: Option<GroupStep>,
    /// Degree-0 colour.
    pub sh0: Option<GroupStep>,
    /// All higher degrees.
    pub sh_rest: Option<GroupStep>,
}

/// First and second moments of one Gaussian.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments<R> {
    /// Decaying mean of the gradient.
    pub first: Gaussian<R>,
    /// Decaying mean of its square.
    pub second: Gaussian<R>,
}

impl<R: Real> Moments<R> {
    /// Of a Gaussian that was never updated.
    pub const ZERO: Self = Self {
        first: Gaussian::ZERO,
        second: Gaussian::ZERO,
    };
}

/// Constants of one group's update, computed once in f64.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factors<R> {
    /// Decay of the first moment.
    pub beta1: R,
    /// Decay of the second moment.
    pub beta2: R,
    /// `rate / (1 - beta1^step)`.
    pub step_size: R,
    /// `1 / sqrt(1 - beta2^step)`.
    pub second_scale: R,
    /// See [`Adam::eps`].
    pub eps: R,
}

impl Adam {
    /// Constants of an update.
    #[must_use]
    pub fn factors<R: Real>(&self, group: GroupStep) -> Factors<R> {
        let correction = |beta: f64| 1.0 - beta.powf(f64::from(group.step));
        Factors {
            beta1: R::of(self.beta1),
            beta2: R::of(self.beta2),
            step_size: R::of(group.rate / correction(self.beta1)),
            second_scale: R::of(1.0 / correction(self.beta2).sqrt()),
            eps: R::of(self.eps),
        }
    }
}

/// Updates one scalar in place:
/// `m = b1 m + (1 - b1) g`, `v = b2 v + (1 - b2) g^2`, `p -= step_size m / (second_scale sqrt(v) + eps)`.
pub fn update<R: Real>(factors: &Factors<R>, parameter: &mut R, first: &mut R, second: &mut R, gradient: R) {
    *first = factors.beta1 * *first + (R::ONE - factors.beta1) * gradient;
    *second = factors.beta2 * *second + (R::ONE - factors.beta2) * gradient * gradient;
    *parameter -= factors.step_size * *first / (factors.second_scale * second.sqrt() + factors.eps);
}

/// Updates every Gaussian in place; the three slices have one entry a Gaussian.
pub fn adam<R: Real>(
    adam: &Adam,
    groups: &GroupSteps,
    gaussians: &mut [Gaussian<R>],
    moments: &mut [Moments<R>],
    gradients: &[Gaussian<R>],
) {
    let factors = |group: Option<GroupStep>| group.map(|g| adam.factors::<R>(g));
    let spans = [
        (0..3, factors(groups.mean)),
        (3..7, factors(groups.quat)),
        (7..10, factors(groups.log_scale)),
        (10..11, factors(groups.opacity)),
        (11..14, factors(groups.sh0)),
        (14..VALUES, factors(groups.sh_rest)),
    ];
    for ((gaussian, moments), gradient) in gaussians.iter_mut().zip(moments).zip(gradients) {
        let (mut values, gradient) = (gaussian.values(), gradient.values());
        let (mut first, mut second) = (moments.first.values(), moments.second.values());
        for (span, factors) in &spans {
            let Some(factors) = factors else { continue };
            for i in span.clone() {
                update(factors, &mut values[i], &mut first[i], &mut second[i], gradient[i]);
            }
        }
        *gaussian = Gaussian::from_values(&values);
        *moments = Moments {
            first: Gaussian::from_values(&first),
            second: Gaussian::from_values(&second),
        };
    }
}

/// Learning rate between `first` at iteration 0 and `last` at `iterations`, linear in the logarithm.
#[must_use]
pub fn log_linear_rate(first: f64, last: f64, iteration: u32, iterations: u32) -> f64 {
    let t = (f64::from(iteration) / f64::from(iterations)).clamp(0.0, 1.0);
    (first.ln() * (1.0 - t) + last.ln() * t).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_steps_by_hand() {
        // rate 0.1, gradients 1, -2, 0.5:
        // m = 0.1, -0.11, -0.049; v = 0.001, 0.004999, 0.005244001;
        // corrected m / (1 - 0.9^t): 1, -0.578947368, -0.180811808;
        // corrected v / (1 - 0.999^t): 1, 2.500750375, 1.749749500.
        let (mut p, mut m, mut v) = (1.0_f64, 0.0, 0.0);
        let expected = [0.9, 0.936_610_352_7, 0.950_279_419_0];
        for (i, g) in [1.0, -2.0, 0.5].into_iter().enumerate() {
            let factors = Adam::default().factors(GroupStep {
                rate: 0.1,
                step: i as u32 + 1,
            });
            update(&factors, &mut p, &mut m, &mut v, g);
            assert!((p - expected[i]).abs() < 1e-10, "step {}: {p}", i + 1);
        }
        assert!((m + 0.049).abs() < 1e-15 && (v - 0.005_244_001).abs() < 1e-15);
    }

    #[test]
    fn a_late_newcomer_moves_by_about_root_ten_rates() {
        // Zero moments but a large step count: m / sqrt(v) = 0.1 g / (sqrt(0.001) g).
        let (mut p, mut m, mut v) = (0.0_f64, 0.0, 0.0);
        update(
            &Adam::default().factors(GroupStep {
                rate: 1.0,
                step: 100_000,
            }),
            &mut p,
            &mut m,
            &mut v,
            3e-9,
        );
        assert!((p + 10.0_f64.sqrt()).abs() < 1e-4);
    }

    #[test]
    fn skipped_groups_keep_values_and_moments() {
        let mut gaussians = [Gaussian::<f64>::ZERO];
        let mut moments = [Moments {
            first: Gaussian::from_values(&[1.0; VALUES]),
            second: Gaussian::from_values(&[1.0; VALUES]),
        }];
        let gradients = [Gaussian::from_values(&[0.5; VALUES])];
        let groups = GroupSteps {
            sh0: Some(GroupStep { rate: 0.1, step: 3 }),
            ..GroupSteps::default()
        };
        adam(&Adam::default(), &groups, &mut gaussians, &mut moments, &gradients);
        for (i, value) in gaussians[0].values().into_iter().enumerate() {
            assert_eq!(value != 0.0, (11..14).contains(&i));
            assert_eq!(moments[0].first.values()[i] != 1.0, (11..14).contains(&i));
        }
    }

    #[test]
    fn position_schedule_is_known() {
        for (iteration, rate) in [
            (0, 1.6e-4),
            (1000, 1.372_313_4e-4),
            (7000, 5.463_278_2e-5),
            (15_000, 1.6e-5),
            (30_000, 1.6e-6),
            (40_000, 1.6e-6),
        ] {
            let found = log_linear_rate(1.6e-4, 1.6e-6, iteration, 30_000);
            assert!((found / rate - 1.0).abs() < 1e-7, "{iteration}: {found}");
        }
    }
}
