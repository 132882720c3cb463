//! Options of the strategy `mcmc`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Checker, Options};

/// Options of `mcmc`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct McmcOptions {
    /// When Gaussians are relocated and added.
    pub densify: McmcDensify,
    /// Noise on the centres after every step, in learning rates of the centres times a covariance in units of a scene whose
    /// extent is 1; 0 = none, at most 1e9.
    pub noise: f64,
}

impl Default for McmcOptions {
    fn default() -> Self {
        Self {
            densify: McmcDensify::default(),
            noise: 5e5,
        }
    }
}

impl Options for McmcOptions {
    fn check(&self, checker: &mut Checker) {
        checker.within("densify", |c| self.densify.check(c));
        checker.range("noise", self.noise, 0.0..=1e9);
    }
}

/// Relocation and births of `mcmc`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct McmcDensify {
    /// Relocation and births start after this iteration.
    pub from: u32,
    /// They stop before this iteration.
    pub until: u32,
    /// Iterations between two events; at least 1.
    pub every: u32,
    /// Births of an event, as a share of the Gaussians there are; 0 to 1.
    pub growth: f32,
    /// Opacity (after the sigmoid, before the 3D filter) up to which a Gaussian is dead and its slot reused; 0 to 1.
    pub dead_opacity: f32,
}

impl Default for McmcDensify {
    fn default() -> Self {
        Self {
            from: 500,
            until: 25_000,
            every: 100,
            growth: 0.05,
            dead_opacity: 0.005,
        }
    }
}

impl McmcDensify {
    fn check(&self, checker: &mut Checker) {
        checker.range("from", self.from, 0..=10_000_000);
        checker.range("every", self.every, 1..=10_000_000);
        checker.require("until", self.until > self.from, self.until, || {
            format!("above `from`, {}", self.from)
        });
        checker.range("growth", self.growth, 0.0..=1.0);
        checker.range("dead_opacity", self.dead_opacity, 0.0..=1.0);
    }
}
