//! Options of the strategy `error_guided`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Checker, Options};

/// Options of `error_guided`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ErrorGuidedOptions {
    /// When there are events, and how many births.
    pub densify: ErrorGuidedDensify,
    /// Who gives birth.
    pub score: ErrorGuidedScore,
    /// What is removed at each event.
    pub prune: ErrorGuidedPrune,
}

impl Options for ErrorGuidedOptions {
    fn check(&self, checker: &mut Checker) {
        checker.within("densify", |c| self.densify.check(c));
        checker.within("score", |c| self.score.check(c));
        checker.within("prune", |c| self.prune.check(c));
    }
}

/// When and how many.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ErrorGuidedDensify {
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
    /// Births end for good where training photos that no step has seen gain less PSNR than this between two judgements, of which there
    /// are nine between `from` and `until`; dB, 0 to 10. Those photos (one in ten, 3 to 8) train from then on. null = every photo
    /// trains from the start, and births end at `until`.
    pub least_gain: Option<f32>,
}

impl Default for ErrorGuidedDensify {
    fn default() -> Self {
        Self {
            from: 500,
            until: 15_000,
            every: 100,
            ramp: 3.0,
            growth: 0.25,
            least_gain: None,
        }
    }
}

impl ErrorGuidedDensify {
    fn check(&self, checker: &mut Checker) {
        checker.range("from", self.from, 0..=10_000_000);
        checker.range("every", self.every, 1..=10_000_000);
        checker.require("until", self.until > self.from, self.until, || {
            format!("above `from`, {}", self.from)
        });
        checker.range("ramp", self.ramp, 0.1..=100.0);
        checker.range("growth", self.growth, 0.0..=1.0);
        if let Some(gain) = self.least_gain {
            checker.range("least_gain", gain, 0.0..=10.0);
        }
    }
}

/// The highest scores give birth. A score is the product of statistics since the last event, each to an exponent; an
/// exponent of 0 leaves a statistic out. Each 0 to 4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ErrorGuidedScore {
    /// Of the image error that lies in what the Gaussian contributes to pixels.
    pub error: f32,
    /// Of the mean per-pixel absolute gradient of its centre.
    pub abs_gradient: f32,
}

impl Default for ErrorGuidedScore {
    fn default() -> Self {
        Self {
            error: 0.5,
            abs_gradient: 0.5,
        }
    }
}

impl ErrorGuidedScore {
    fn check(&self, checker: &mut Checker) {
        checker.range("error", self.error, 0.0..=4.0);
        checker.range("abs_gradient", self.abs_gradient, 0.0..=4.0);
        checker.require("error", self.error > 0.0 || self.abs_gradient > 0.0, self.error, || {
            "above 0 where `abs_gradient` is 0: one of the two scores chooses the Gaussians to clone and split"
                .to_owned()
        });
    }
}

/// Removal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ErrorGuidedPrune {
    /// Opacity (after the sigmoid, before the 3D filter) below which a Gaussian is removed; 0 to 1.
    pub opacity: f32,
    /// Largest scale allowed, as a share of the scene extent; above 0; null = no limit.
    pub world: Option<f32>,
}

impl Default for ErrorGuidedPrune {
    fn default() -> Self {
        Self {
            opacity: 0.005,
            world: None,
        }
    }
}

impl ErrorGuidedPrune {
    fn check(&self, checker: &mut Checker) {
        checker.range("opacity", self.opacity, 0.0..=1.0);
        if let Some(world) = self.world {
            checker.positive("world", world.into(), 1e6);
        }
    }
}
