//! Terms of the loss that look at parameters instead of images.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Checker, Options, family::family};

family! {
    /// A regularisation term.
    Regularizer {
        Opacity(RegularizerOptions) = "opacity", "mean opacity over all Gaussians: what no view needs fades";
        Scale(RegularizerOptions) = "scale", "mean standard deviation over all Gaussians and axes in extents of the scene: what no view needs shrinks";
        Flat(FlatOptions) = "flat", "mean over the visible Gaussians of the smallest standard deviation in extents of the scene: Gaussians become discs";
    }
}

impl Regularizer {
    /// Weight of this term.
    #[must_use]
    pub const fn weight(&self) -> f32 {
        match self {
            Self::Opacity(options) | Self::Scale(options) => options.weight,
            Self::Flat(options) => options.weight,
        }
    }
}

/// Options of `opacity` and `scale`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RegularizerOptions {
    /// Weight in the sum; 0 to 10.
    pub weight: f32,
}

impl Default for RegularizerOptions {
    fn default() -> Self {
        Self { weight: 0.01 }
    }
}

impl Options for RegularizerOptions {
    fn check(&self, checker: &mut Checker) {
        checker.range("weight", self.weight, 0.0..=10.0);
    }
}

/// Options of `flat`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FlatOptions {
    /// Weight in the sum; 0 to 10 000.
    pub weight: f32,
}

impl Default for FlatOptions {
    fn default() -> Self {
        Self { weight: 100.0 }
    }
}

impl Options for FlatOptions {
    fn check(&self, checker: &mut Checker) {
        checker.range("weight", self.weight, 0.0..=10_000.0);
    }
}
