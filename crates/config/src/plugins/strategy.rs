//! How the number of Gaussians changes during training.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Checker, ErrorGuidedOptions, McmcOptions, Options, family::family};

family! {
    /// Densification, pruning and opacity resets.
    Strategy {
        AdaptiveAbs(AdaptiveOptions) = "adaptive_abs", "adaptive density control: mean gradient threshold or a quantile of the per-pixel absolute gradient";
        Adaptive(AdaptiveOptions) = "adaptive", "adaptive density control of plain 3DGS: mean gradient threshold";
        Mcmc(McmcOptions) = "mcmc", "3DGS-MCMC: dead Gaussians move to where opacity is, steady growth up to the cap, noise, no resets";
        ErrorGuided(ErrorGuidedOptions) = "error_guided", "births where the image is wrong, on a steady way to the cap; no resets";
        Fixed(FixedOptions) = "fixed", "the number of Gaussians never changes";
    }
}

impl Strategy {
    /// The density-control options, when this strategy densifies.
    #[must_use]
    pub fn adaptive(&self) -> Option<&AdaptiveOptions> {
        match self {
            Self::AdaptiveAbs(options) | Self::Adaptive(options) => Some(options),
            Self::Mcmc(_) | Self::ErrorGuided(_) | Self::Fixed(_) => None,
        }
    }

    /// The options of `mcmc`, when that is the strategy.
    #[must_use]
    pub fn mcmc(&self) -> Option<&McmcOptions> {
        match self {
            Self::Mcmc(options) => Some(options),
            _ => None,
        }
    }

    /// The options of `error_guided`, when that is the strategy.
    #[must_use]
    pub fn error_guided(&self) -> Option<&ErrorGuidedOptions> {
        match self {
            Self::ErrorGuided(options) => Some(options),
            _ => None,
        }
    }

    /// When the number of Gaussians may change; none when it never does.
    #[must_use]
    pub fn window(&self) -> Option<Window> {
        match self {
            Self::AdaptiveAbs(AdaptiveOptions { densify: d, .. })
            | Self::Adaptive(AdaptiveOptions { densify: d, .. }) => Some(Window::new(d.from, d.until, d.every)),
            Self::Mcmc(McmcOptions { densify: d, .. }) => Some(Window::new(d.from, d.until, d.every)),
            Self::ErrorGuided(ErrorGuidedOptions { densify: d, .. }) => Some(Window::new(d.from, d.until, d.every)),
            Self::Fixed(_) => None,
        }
    }

    /// The iterations of [`Strategy::window`].
    pub fn window_mut(&mut self) -> Option<[&mut u32; 3]> {
        match self {
            Self::AdaptiveAbs(AdaptiveOptions { densify: d, .. })
            | Self::Adaptive(AdaptiveOptions { densify: d, .. }) => Some([&mut d.from, &mut d.until, &mut d.every]),
            Self::Mcmc(McmcOptions { densify: d, .. }) => Some([&mut d.from, &mut d.until, &mut d.every]),
            Self::ErrorGuided(ErrorGuidedOptions { densify: d, .. }) => Some([&mut d.from, &mut d.until, &mut d.every]),
            Self::Fixed(_) => None,
        }
    }

    /// True when densification looks at the absolute pulls of pixels.
    #[must_use]
    pub const fn sums_absolute_pulls(&self) -> bool {
        matches!(self, Self::AdaptiveAbs(_) | Self::ErrorGuided(_))
    }

    /// True when mean gradients are over all steps in which a Gaussian had a radius on screen, as in the published code, not
    /// only over those in which some pixel could see it.
    #[must_use]
    pub const fn counts_faint(&self) -> bool {
        matches!(self, Self::AdaptiveAbs(_))
    }

    /// Noise on the centres after every step, in learning rates of the centres.
    #[must_use]
    pub fn noise(&self) -> f64 {
        match self {
            Self::Mcmc(options) => options.noise,
            Self::AdaptiveAbs(_) | Self::Adaptive(_) | Self::ErrorGuided(_) | Self::Fixed(_) => 0.0,
        }
    }

    /// See [`Strategy::adaptive`].
    pub fn adaptive_mut(&mut self) -> Option<&mut AdaptiveOptions> {
        match self {
            Self::AdaptiveAbs(options) | Self::Adaptive(options) => Some(options),
            Self::Mcmc(_) | Self::ErrorGuided(_) | Self::Fixed(_) => None,
        }
    }
}

/// The iterations at which the number of Gaussians may change: multiples of `every` above `from` and below `until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Events come after this iteration,
    pub from: u32,
    /// before this one,
    pub until: u32,
    /// and this many apart, at least 1.
    pub every: u32,
}

impl Window {
    fn new(from: u32, until: u32, every: u32) -> Self {
        let every = every.max(1);
        Self { from, until, every }
    }

    /// True when an iteration is in it, in a run that ends at iteration `end`: the last one never is.
    #[must_use]
    pub const fn has(&self, iteration: u32, end: u32) -> bool {
        iteration > self.from && iteration < self.until && iteration < end && iteration.is_multiple_of(self.every)
    }

    /// The last iteration that is in it, if one is.
    #[must_use]
    pub fn last(&self, end: u32) -> Option<u32> {
        let last = self.until.min(end).saturating_sub(1) / self.every * self.every;
        self.has(last, end).then_some(last)
    }
}

/// Options of `adaptive` and `adaptive_abs`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AdaptiveOptions {
    /// When and what is cloned and split.
    pub densify: Densify,
    /// What is removed at each densification.
    pub prune: Prune,
    /// Opacity resets.
    pub reset: Reset,
}

impl Options for AdaptiveOptions {
    fn check(&self, checker: &mut Checker) {
        checker.within("densify", |c| self.densify.check(c));
        checker.within("prune", |c| self.prune.check(c));
        checker.within("reset", |c| self.reset.check(c));
    }
}

/// Clone and split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Densify {
    /// Densification starts after this iteration.
    pub from: u32,
    /// Densification and its statistics stop before this iteration.
    pub until: u32,
    /// Iterations between two densifications; at least 1.
    pub every: u32,
    /// Mean norm of the 2D gradient (NDC units) from which a Gaussian is densified; above 0, at most 1.
    pub grad_threshold: f32,
}

impl Default for Densify {
    fn default() -> Self {
        Self {
            from: 500,
            until: 15_000,
            every: 100,
            grad_threshold: 2e-4,
        }
    }
}

impl Densify {
    fn check(&self, checker: &mut Checker) {
        checker.range("from", self.from, 0..=10_000_000);
        checker.range("every", self.every, 1..=10_000_000);
        checker.require("until", self.until > self.from, self.until, || {
            format!("above `from`, {}", self.from)
        });
        checker.positive("grad_threshold", self.grad_threshold.into(), 1.0);
    }
}

/// Removal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Prune {
    /// Opacity (after the sigmoid, before the 3D filter) below which a Gaussian is removed; 0 to 1.
    pub opacity: f32,
    /// Largest scale allowed after the first reset, as a share of the scene extent; above 0.
    pub world: f32,
}

impl Default for Prune {
    fn default() -> Self {
        Self {
            opacity: 0.005,
            world: 0.1,
        }
    }
}

impl Prune {
    fn check(&self, checker: &mut Checker) {
        checker.range("opacity", self.opacity, 0.0..=1.0);
        checker.positive("world", self.world.into(), 1e6);
    }
}

/// Opacity resets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Reset {
    /// Iterations between two resets; null = never.
    pub every: Option<u32>,
    /// Resets stop before this iteration.
    pub until: u32,
    /// Effective opacity no Gaussian exceeds after a reset; above 0, at most 1.
    pub opacity: f32,
}

impl Default for Reset {
    fn default() -> Self {
        Self {
            every: Some(3000),
            until: 15_000,
            opacity: 0.01,
        }
    }
}

impl Reset {
    fn check(&self, checker: &mut Checker) {
        if let Some(every) = self.every {
            checker.range("every", every, 1..=10_000_000);
        }
        checker.range("until", self.until, 0..=10_000_000);
        checker.positive("opacity", self.opacity.into(), 1.0);
    }
}

/// Options of `fixed`: none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FixedOptions {}

impl Options for FixedOptions {}
