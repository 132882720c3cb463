//! Terms of the loss that look at parameters instead of images.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::family::{family, options};

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

options! {
    /// Options of `entropy`.
    EntropyOptions {
        /// Weight in the sum; 0 to 10.
        weight: f32 = 0.1, in 0.0..=10.0;
        /// First iteration that has the term; 0 to 10 000 000.
        from: u32 = 7001, in 0..=10_000_000;
        /// First iteration that has it no more; 0 to 10 000 000.
        until: u32 = 9000, in 0..=10_000_000;
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

options! {
    /// Options of `density`.
    DensityOptions {
        /// What is compared.
        variant: DensityVariant = DensityVariant::Density;
        /// Weight of the density in the sum; 0 to 10.
        weight: f32 = 0.2, in 0.0..=10.0;
        /// Weight of the squared distance of normals from those around; 0 to 10.
        normal: f32 = 0.2, in 0.0..=10.0;
        /// Samples of a step, 68 bytes each in passing; 1 to 16 000 000.
        samples: u32 = 1_000_000, in 1..=16_000_000;
        /// Neighbours of each Gaussian that make the density, itself among them, 8 bytes each that stay; 1 to 32.
        k: u32 = 16, in 1..=32;
        /// Iterations between two searches for neighbours; 1 to 10 000 000. There is one more wherever Gaussians come, go or are
        /// sorted.
        rebuild: u32 = 500, in 1..=10_000_000;
        /// First iteration that has the terms; 1 to 10 000 000.
        from: u32 = 9001, in 1..=10_000_000;
        /// Only every so many iterations have them; 1 to 1000. Time is saved, and no memory.
        every: u32 = 1, in 1..=1000;
        /// Gaussians of less opacity go before the first iteration with the terms; 0 to below 1, 0 = none.
        prune: f32 = 0.5;
    } also |own, c| {
        c.require("prune", (0.0..1.0).contains(&own.prune), own.prune, || {
            "0 to below 1".to_owned()
        });
    }
}

options! {
    /// Options of `opacity` and `scale`.
    RegularizerOptions {
        /// Weight in the sum; 0 to 10.
        weight: f32 = 0.01, in 0.0..=10.0;
    }
}

options! {
    /// Options of `flat`.
    FlatOptions {
        /// Weight in the sum; 0 to 10 000.
        weight: f32 = 100.0, in 0.0..=10_000.0;
    }
}
