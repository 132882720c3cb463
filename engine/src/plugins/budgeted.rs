//! Options of the strategy `budgeted`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Checker, Options};

/// Options of `budgeted`; every ingredient can be switched off alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetedOptions {
    /// When there are events, and how many births.
    pub densify: BudgetedDensify,
    /// Who gives birth.
    pub score: BudgetedScore,
    /// How.
    pub split: BudgetedSplit,
    /// What is removed at each event.
    pub prune: BudgetedPrune,
    /// What every opacity loses at each event, in place of resets; 0 = nothing, at most 0.1.
    pub decay: f32,
    /// Share of its size that every Gaussian loses at each event; 0 = nothing, at most 0.1.
    pub scale_decay: f32,
    /// Noise on the centres after every step, in learning rates of the centres times a covariance in units of a scene whose
    /// extent is 1; 0 = none, at most 1e9.
    pub noise: f64,
}

impl Default for BudgetedOptions {
    fn default() -> Self {
        Self {
            densify: BudgetedDensify::default(),
            score: BudgetedScore::default(),
            split: BudgetedSplit::default(),
            prune: BudgetedPrune::default(),
            decay: 0.004,
            scale_decay: 0.0,
            noise: 5e5,
        }
    }
}

impl Options for BudgetedOptions {
    fn check(&self, checker: &mut Checker) {
        checker.within("densify", |c| self.densify.check(c));
        checker.within("score", |c| self.score.check(c));
        checker.within("split", |c| self.split.check(c));
        checker.within("prune", |c| self.prune.check(c));
        checker.range("decay", self.decay, 0.0..=0.1);
        checker.range("scale_decay", self.scale_decay, 0.0..=0.1);
        checker.range("noise", self.noise, 0.0..=1e9);
    }
}

/// When and how many.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetedDensify {
    /// Events start after this iteration.
    pub from: u32,
    /// They and their statistics stop before this iteration.
    pub until: u32,
    /// Iterations between two events; at least 1.
    pub every: u32,
    /// Shape of the way to the cap: between `from` and `until`, a share x of the way, the model may hold
    /// cap (1 - (1 - x)^ramp) Gaussians. 1 = a straight line, more = sooner; 0.1 to 100.
    pub ramp: f32,
    /// Most births of an event, as a share of the Gaussians there are; 0 to 1.
    pub growth: f32,
}

impl Default for BudgetedDensify {
    fn default() -> Self {
        Self {
            from: 500,
            until: 15_000,
            every: 100,
            ramp: 3.0,
            growth: 0.25,
        }
    }
}

impl BudgetedDensify {
    fn check(&self, checker: &mut Checker) {
        checker.range("from", self.from, 0..=10_000_000);
        checker.range("every", self.every, 1..=10_000_000);
        checker.require("until", self.until > self.from, self.until, || {
            format!("above `from`, {}", self.from)
        });
        checker.range("ramp", self.ramp, 0.1..=100.0);
        checker.range("growth", self.growth, 0.0..=1.0);
    }
}

/// The highest scores give birth. A score is the product of statistics since the last event, each to an exponent; an
/// exponent of 0 leaves a statistic out. Each 0 to 4, that of the weight from -4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetedScore {
    /// Of the image error that lies in what the Gaussian contributes to pixels.
    pub error: f32,
    /// Of the mean per-pixel absolute gradient of its centre.
    pub abs_gradient: f32,
    /// Of the largest sum of its blending weights in a view: below 0, the error counts by how much it lies in few pixels.
    pub weight: f32,
    /// Of its opacity.
    pub opacity: f32,
}

impl Default for BudgetedScore {
    fn default() -> Self {
        Self {
            error: 1.0,
            abs_gradient: 0.5,
            weight: 0.0,
            opacity: 0.0,
        }
    }
}

impl BudgetedScore {
    fn check(&self, checker: &mut Checker) {
        let exponents = [self.error, self.abs_gradient, self.opacity];
        for (key, exponent) in ["error", "abs_gradient", "opacity"].into_iter().zip(exponents) {
            checker.range(key, exponent, 0.0..=4.0);
        }
        checker.range("weight", self.weight, -4.0..=4.0);
        checker.require("error", exponents.iter().any(|e| *e > 0.0), self.error, || {
            "above 0 where the other exponents are 0: something must tell who gives birth".to_owned()
        });
    }
}

/// How a Gaussian becomes two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetedSplit {
    /// Along its longest axis; false = as `adc`: small ones are copied, large ones replaced by two samples.
    pub long_axis: bool,
    /// Distance of the halves from the centre along that axis, in its standard deviations; above 0, at most 0.95.
    pub offset: f32,
    /// Without `long_axis`: largest scale that is copied, as a share of the scene extent; 0 to 1.
    pub percent_dense: f32,
}

impl Default for BudgetedSplit {
    fn default() -> Self {
        Self {
            long_axis: true,
            offset: 0.6,
            percent_dense: 0.01,
        }
    }
}

impl BudgetedSplit {
    fn check(&self, checker: &mut Checker) {
        checker.positive("offset", self.offset.into(), 0.95);
        checker.range("percent_dense", self.percent_dense, 0.0..=1.0);
    }
}

/// Removal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetedPrune {
    /// Opacity (after the sigmoid, before the 3D filter) below which a Gaussian is removed; 0 to 1.
    pub opacity: f32,
    /// Largest scale allowed, as a share of the scene extent; above 0; null = no limit.
    pub world: Option<f32>,
    /// A Gaussian that was seen since the last event and in no view had this weight, the sum of its blending weights over all
    /// pixels, is removed; 0 = none, at most 1000.
    pub weight: f32,
}

impl Default for BudgetedPrune {
    fn default() -> Self {
        Self {
            opacity: 0.005,
            world: None,
            weight: 0.1,
        }
    }
}

impl BudgetedPrune {
    fn check(&self, checker: &mut Checker) {
        checker.range("opacity", self.opacity, 0.0..=1.0);
        if let Some(world) = self.world {
            checker.positive("world", world.into(), 1e6);
        }
        checker.range("weight", self.weight, 0.0..=1000.0);
    }
}
