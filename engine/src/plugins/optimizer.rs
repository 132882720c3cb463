//! How gradients become steps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Auto, Checker, Options, family::family};

family! {
    /// The optimiser.
    Optimizer {
        AdamFused(AdamOptions) = "adam_fused", "Adam fused with the projection backward pass; no SH gradient buffer";
    }
}

/// Options of `adam_fused`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AdamOptions {
    /// Learning rates.
    pub lr: LearningRates,
    /// Decay of the first and second moment; each 0 to 0.99999.
    pub betas: [f32; 2],
    /// Added to the root of the second moment; above 0, at most 0.001.
    pub eps: f32,
    /// Colours of Gaussians out of view get their steps when they are next in view, the same steps at less memory traffic:
    /// `auto` = on, but off where equal runs give equal bytes (`train.deterministic`, segmented sums, software
    /// drivers). `off` is the default until it has been measured on a card.
    pub deferred_sh: DeferredSh,
}

/// `optimizer.deferred_sh`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeferredSh {
    /// On, where the bytes of a run do not repeat anyway.
    Auto,
    /// Always; not with `train.deterministic`.
    On,
    /// Colours take part in every step.
    #[default]
    Off,
}

impl Default for AdamOptions {
    fn default() -> Self {
        Self {
            lr: LearningRates::default(),
            betas: [0.9, 0.999],
            eps: 1e-15,
            deferred_sh: DeferredSh::Off,
        }
    }
}

/// Largest `b1 / sqrt(b2)` that colours may wait with: the closer to 1, the more digits does the difference of two sums lose.
const LARGEST_QUOTIENT: f64 = 0.99;

impl AdamOptions {
    /// True when momentum fades so much faster than second moments that missed steps can be summed up.
    #[must_use]
    pub fn can_defer(&self) -> bool {
        let [b1, b2] = self.betas.map(f64::from);
        b2 > 0.0 && b1 / b2.sqrt() <= LARGEST_QUOTIENT
    }

    /// Upper bound of a first moment over the root of its second, whatever the gradients are: by Cauchy and Schwarz
    /// `(1 - b1) / sqrt((1 - b2) (1 - b1^2 / b2))`, and infinite where `b1^2 >= b2`.
    #[must_use]
    pub fn largest_ratio(&self) -> f64 {
        let [b1, b2] = self.betas.map(f64::from);
        let left = 1.0 - if b1 == 0.0 { 0.0 } else { b1 * b1 / b2 };
        if left > 0.0 {
            (1.0 - b1) / ((1.0 - b2) * left).sqrt()
        } else {
            f64::INFINITY
        }
    }
}

impl Options for AdamOptions {
    fn check(&self, checker: &mut Checker) {
        checker.within("lr", |c| self.lr.check(c));
        checker.within("betas", |c| {
            for (i, beta) in self.betas.iter().enumerate() {
                c.range(&i.to_string(), *beta, 0.0..=0.99999);
            }
        });
        checker.positive("eps", self.eps.into(), 1e-3);
        let possible = self.deferred_sh != DeferredSh::On || self.can_defer();
        checker.require("deferred_sh", possible, "on", || {
            format!(
                "auto or off with `betas` {:?}: the first over the root of the second is above {LARGEST_QUOTIENT}",
                self.betas
            )
        });
    }
}

/// Learning rates by parameter group; each above 0, at most 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LearningRates {
    /// Centres at step 0, per unit of scene extent.
    pub means: f64,
    /// Centres at the end of the decay, per unit of scene extent.
    pub means_end: f64,
    /// Steps over which the centres' rate decays (log-linearly); `auto` = the whole run.
    pub means_decay_steps: Auto<u32>,
    /// Degree-0 colour.
    pub sh0: f32,
    /// Higher colour degrees.
    pub sh_rest: f32,
    /// Opacity logits.
    pub opacity: f32,
    /// Log scales.
    pub scales: f32,
    /// Rotations.
    pub quats: f32,
    /// Share of the run, at its end, in which all rates but the centres' fall, log-linearly; 0 to 1, 0 = they stay.
    pub cooldown: f64,
    /// Share of those rates that is left after the last step; above 0, at most 1.
    pub cooldown_to: f64,
}

impl Default for LearningRates {
    fn default() -> Self {
        Self {
            means: 1.6e-4,
            means_end: 1.6e-6,
            means_decay_steps: Auto::Auto,
            sh0: 2.5e-3,
            sh_rest: 1.25e-4,
            opacity: 0.05,
            scales: 5e-3,
            quats: 1e-3,
            cooldown: 0.0,
            cooldown_to: 0.1,
        }
    }
}

impl LearningRates {
    fn check(&self, checker: &mut Checker) {
        checker.positive("means", self.means, 1.0);
        checker.positive("means_end", self.means_end, 1.0);
        checker.range("cooldown", self.cooldown, 0.0..=1.0);
        checker.positive("cooldown_to", self.cooldown_to, 1.0);
        if let Auto::Set(steps) = self.means_decay_steps {
            checker.range("means_decay_steps", steps, 1..=10_000_000);
        }
        for (key, value) in [
            ("sh0", self.sh0),
            ("sh_rest", self.sh_rest),
            ("opacity", self.opacity),
            ("scales", self.scales),
            ("quats", self.quats),
        ] {
            checker.positive(key, value.into(), 1.0);
        }
    }
}
