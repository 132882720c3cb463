//! Terms of the image loss; the loss is the weighted sum.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Checker, NeedClass, NeedList, Options, family::family};

family! {
    /// A term of the image loss.
    Loss {
        L1(L1Options) = "l1", "mean absolute difference";
        Dssim(DssimOptions) = "dssim", "1 - SSIM with an 11x11 Gaussian window, zero padded";
        Alpha(AlphaOptions) = "alpha", "mean absolute difference between coverage and the photo's mask; needs masks";
    }
}

impl Loss {
    /// Weight of this term.
    #[must_use]
    pub fn weight(&self) -> f32 {
        match self {
            Self::L1(options) => options.weight,
            Self::Dssim(options) => options.weight,
            Self::Alpha(options) => options.weight,
        }
    }

    /// Declares the term's device memory.
    pub fn needs(&self, list: &mut NeedList) {
        match self {
            // The differences go straight into the image gradient.
            Self::L1(_) | Self::Alpha(_) => {}
            // SSIM's gradient needs three blurred maps of three channels: dS/dx = w*p + 2x (w*q) + y (w*r).
            Self::Dssim(_) => list.add("dssim.gradient_maps", NeedClass::PerPixel, 3 * 3 * 4),
        }
    }
}

/// Options of `l1`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct L1Options {
    /// Weight in the sum; 0 to 10.
    pub weight: f32,
}

impl Default for L1Options {
    fn default() -> Self {
        Self { weight: 0.8 }
    }
}

impl Options for L1Options {
    fn check(&self, checker: &mut Checker) {
        checker.range("weight", self.weight, 0.0..=10.0);
    }
}

/// Options of `dssim`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DssimOptions {
    /// Weight in the sum; 0 to 10.
    pub weight: f32,
}

impl Default for DssimOptions {
    fn default() -> Self {
        Self { weight: 0.2 }
    }
}

impl Options for DssimOptions {
    fn check(&self, checker: &mut Checker) {
        checker.range("weight", self.weight, 0.0..=10.0);
    }
}

/// Options of `alpha`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AlphaOptions {
    /// Weight in the sum; 0 to 10.
    pub weight: f32,
}

impl Default for AlphaOptions {
    fn default() -> Self {
        Self { weight: 0.1 }
    }
}

impl Options for AlphaOptions {
    fn check(&self, checker: &mut Checker) {
        checker.range("weight", self.weight, 0.0..=10.0);
    }
}
