//! Terms of the loss that look at parameters instead of images.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Checker, Options, family::family};

family! {
    /// A regularisation term.
    Regularizer {
        Opacity(RegularizerOptions) = "opacity", "mean opacity over all Gaussians: what no view needs fades";
        Scale(RegularizerOptions) = "scale", "mean standard deviation over all Gaussians and axes in extents of the scene: what no view needs shrinks";
        Entropy(EntropyOptions) = "entropy", "mean entropy of the visible Gaussians' opacities: what is half there becomes whole or nothing";
        Density(DensityOptions) = "density", "SuGaR: the density of Gaussians around samples is that of a surface, and normals agree with those around";
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
            Self::Entropy(options) => options.weight,
            Self::Density(options) => options.weight,
        }
    }
}

/// Options of `entropy`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EntropyOptions {
    /// Weight in the sum; 0 to 10.
    pub weight: f32,
    /// First iteration that has the term; 0 to 10 000 000.
    pub from: u32,
    /// First iteration that has it no more; 0 to 10 000 000.
    pub until: u32,
}

impl Default for EntropyOptions {
    fn default() -> Self {
        Self {
            weight: 0.1,
            from: 7001,
            until: 9000,
        }
    }
}

impl Options for EntropyOptions {
    fn check(&self, checker: &mut Checker) {
        checker.range("weight", self.weight, 0.0..=10.0);
        checker.range("from", self.from, 0..=10_000_000);
        checker.range("until", self.until, 0..=10_000_000);
    }
}

/// What `density` compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DensityVariant {
    /// The density around samples with that of a flat surface through their Gaussian.
    Density,
    /// The distance from a surface that the density says with that from the view's depth map.
    Sdf,
}

/// Options of `density`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DensityOptions {
    /// What is compared.
    pub variant: DensityVariant,
    /// Weight of the density in the sum; 0 to 10.
    pub weight: f32,
    /// Weight of the squared distance of normals from those around; 0 to 10.
    pub normal: f32,
    /// Samples of a step, 68 bytes each in passing; 1 to 16 000 000.
    pub samples: u32,
    /// Neighbours of each Gaussian that make the density, itself among them, 8 bytes each that stay; 1 to 32.
    pub k: u32,
    /// Iterations between two searches for neighbours; 1 to 10 000 000. There is one more wherever Gaussians come, go or are
    /// sorted.
    pub rebuild: u32,
    /// First iteration that has the terms; 1 to 10 000 000.
    pub from: u32,
    /// Only every so many iterations have them; 1 to 1000. Time is saved, and no memory.
    pub every: u32,
    /// Gaussians of less opacity go before the first iteration with the terms; 0 to below 1, 0 = none.
    pub prune: f32,
}

impl Default for DensityOptions {
    fn default() -> Self {
        Self {
            variant: DensityVariant::Density,
            weight: 0.2,
            normal: 0.2,
            samples: 1_000_000,
            k: 16,
            rebuild: 500,
            from: 9001,
            every: 1,
            prune: 0.5,
        }
    }
}

impl Options for DensityOptions {
    fn check(&self, checker: &mut Checker) {
        checker.range("weight", self.weight, 0.0..=10.0);
        checker.range("normal", self.normal, 0.0..=10.0);
        checker.range("samples", self.samples, 1..=16_000_000);
        checker.range("k", self.k, 1..=32);
        checker.range("rebuild", self.rebuild, 1..=10_000_000);
        checker.range("from", self.from, 1..=10_000_000);
        checker.range("every", self.every, 1..=1000);
        checker.require("prune", (0.0..1.0).contains(&self.prune), self.prune, || {
            "0 to below 1".to_owned()
        });
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
