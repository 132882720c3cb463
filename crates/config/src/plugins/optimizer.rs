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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AdamOptions {
    /// Learning rates.
    pub lr: LearningRates,
    /// Colours of Gaussians out of view get their steps when they are next in view, the same steps at less memory traffic:
    /// `auto` = on, but off where equal runs give equal bytes (`train.deterministic`, segmented sums, software
    /// drivers) and unless `memory.storage` is `exact`.
    pub deferred_sh: DeferredSh,
}

/// `optimizer.deferred_sh`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeferredSh {
    /// On, where the bytes of a run do not repeat anyway.
    #[default]
    Auto,
    /// Always; not with `train.deterministic`.
    On,
    /// Colours take part in every step.
    Off,
}

impl AdamOptions {
    /// Decay of the first and second moment, as in 3DGS.
    pub const BETAS: [f32; 2] = [0.9, 0.999];
    /// Added to the root of the second moment, as in 3DGS.
    pub const EPSILON: f32 = 1e-15;
}

impl Options for AdamOptions {
    fn check(&self, checker: &mut Checker) {
        checker.within("lr", |c| self.lr.check(c));
    }
}

/// Learning rates by parameter group; each above 0, at most 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LearningRates {
    /// Centres at step 0, per unit of scene extent.
    pub means: f64,
    /// Centres at the end of the decay, per unit of scene extent; log-linear between.
    pub means_end: f64,
    /// Steps over which the centres' rate decays; `auto` = the whole run. A number keeps the decay of a run that is extended.
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
    /// Share of the run, at its end, in which all rates but the centres' fall to a tenth, log-linearly; 0 to 1, 0 = they stay.
    pub cooldown: f64,
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
        }
    }
}

impl LearningRates {
    fn check(&self, checker: &mut Checker) {
        checker.positive("means", self.means, 1.0);
        checker.positive("means_end", self.means_end, 1.0);
        checker.range("cooldown", self.cooldown, 0.0..=1.0);
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
