//! Terms of the image loss; the loss is the weighted sum.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Checker, Options, family::family};

family! {
    /// A term of the image loss.
    Loss {
        L1(L1Options) = "l1", "mean absolute difference";
        Dssim(DssimOptions) = "dssim", "1 - SSIM with an 11x11 Gaussian window, zero padded";
        Alpha(AlphaOptions) = "alpha", "mean absolute difference between coverage and the photo's mask; needs masks";
        Normals(NormalsOptions) = "normals", "disagreement between blended normals and the normals of the depth map, away from edges of the photo: surfaces for meshes";
        DnConsistency(DnConsistencyOptions) = "dn_consistency", "SuGaR: disagreement between blended normals and the normals of blended depths";
        Depth(DepthOptions) = "depth", "disagreement between a render's inverse depth and the photo's depth map; needs `dataset.depths`";
        NormalMap(NormalMapOptions) = "normal_map", "angle between a render's normals and those of the photo's normal map; needs `dataset.normals`";
        Neighbour(NeighbourOptions) = "neighbour", "PGSR: disagreement of depths and greys with those of a neighbouring view, by blended planes";
        Exposure(ExposureOptions) = "exposure", "no term: each photo's own affine map of colours, learnt between image and loss";
    }
}

impl Loss {
    /// Weight of this term, of all its parts together; 0 of what is none.
    #[must_use]
    pub fn weight(&self) -> f32 {
        match self {
            Self::L1(options) => options.weight,
            Self::Dssim(options) => options.weight,
            Self::Alpha(options) => options.weight,
            Self::Normals(options) => options.weight,
            Self::DnConsistency(options) => options.weight,
            Self::Depth(options) => options.weight,
            Self::NormalMap(options) => options.weight,
            Self::Neighbour(options) => options.geometry + options.photometric,
            Self::Exposure(_) => 0.0,
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

/// Options of `normals`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NormalsOptions {
    /// Weight in the sum; 0 to 10.
    pub weight: f32,
    /// First iteration that has the term; 0 to 10 000 000. The steps before it cost what they cost without it.
    pub from: u32,
}

impl Default for NormalsOptions {
    fn default() -> Self {
        Self {
            weight: 0.05,
            from: 7000,
        }
    }
}

impl Options for NormalsOptions {
    fn check(&self, checker: &mut Checker) {
        checker.range("weight", self.weight, 0.0..=10.0);
        checker.range("from", self.from, 0..=10_000_000);
    }
}

/// Options of `dn_consistency`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DnConsistencyOptions {
    /// Weight in the sum; 0 to 10.
    pub weight: f32,
    /// First iteration that has the term; 0 to 10 000 000. The steps before it cost what they cost without it.
    pub from: u32,
}

impl Default for DnConsistencyOptions {
    fn default() -> Self {
        Self {
            weight: 0.05,
            from: 9001,
        }
    }
}

impl Options for DnConsistencyOptions {
    fn check(&self, checker: &mut Checker) {
        checker.range("weight", self.weight, 0.0..=10.0);
        checker.range("from", self.from, 0..=10_000_000);
    }
}

/// Options of `depth`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DepthOptions {
    /// Weight in the sum at the first iteration; 0 to 10.
    pub weight: f32,
    /// And at the last, log-linear between; 0.000001 to 10.
    pub weight_end: f32,
    /// First iteration that has the term; 0 to 10 000 000. The steps before it cost what they cost without it.
    pub from: u32,
}

impl Default for DepthOptions {
    fn default() -> Self {
        Self {
            weight: 5.0,
            weight_end: 0.05,
            from: 500,
        }
    }
}

impl Options for DepthOptions {
    fn check(&self, checker: &mut Checker) {
        checker.range("weight", self.weight, 0.0..=10.0);
        checker.range("weight_end", self.weight_end, 1e-6..=10.0);
        checker.range("from", self.from, 0..=10_000_000);
    }
}

/// Options of `normal_map`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NormalMapOptions {
    /// Weight in the sum at the first iteration; 0 to 10.
    pub weight: f32,
    /// And at the last, log-linear between; 0.000001 to 10.
    pub weight_end: f32,
    /// First iteration that has the term; 0 to 10 000 000. The steps before it cost what they cost without it.
    pub from: u32,
}

impl Default for NormalMapOptions {
    fn default() -> Self {
        Self {
            weight: 0.5,
            weight_end: 0.05,
            from: 500,
        }
    }
}

impl Options for NormalMapOptions {
    fn check(&self, checker: &mut Checker) {
        checker.range("weight", self.weight, 0.0..=10.0);
        checker.range("weight_end", self.weight_end, 1e-6..=10.0);
        checker.range("from", self.from, 0..=10_000_000);
    }
}

/// Options of `neighbour`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NeighbourOptions {
    /// Weight of the mean distance that points are off after going to the neighbour's depth and back, per pixel; 0 to 10.
    pub geometry: f32,
    /// Weight of the mean of 1 - NCC over patches; 0 to 10.
    pub photometric: f32,
    /// First iteration that has the term; 0 to 10 000 000. The steps before it cost what they cost without it.
    pub from: u32,
}

impl Default for NeighbourOptions {
    fn default() -> Self {
        Self {
            geometry: 0.03,
            photometric: 0.15,
            from: 7000,
        }
    }
}

impl Options for NeighbourOptions {
    fn check(&self, checker: &mut Checker) {
        checker.range("geometry", self.geometry, 0.0..=10.0);
        checker.range("photometric", self.photometric, 0.0..=10.0);
        checker.range("from", self.from, 0..=10_000_000);
    }
}

/// Options of `exposure`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExposureOptions {
    /// Adam's learning rate of the maps at the first iteration; above 0, at most 1.
    pub lr: f32,
    /// And at the last, log-linear between; above 0, at most 1.
    pub lr_end: f32,
    /// Weight of half a map's squared distance from doing nothing; 0 to 10. The mean of all maps is held there without it.
    pub hold: f32,
}

impl Default for ExposureOptions {
    fn default() -> Self {
        Self {
            lr: 0.01,
            lr_end: 0.001,
            hold: 2.0,
        }
    }
}

impl Options for ExposureOptions {
    fn check(&self, checker: &mut Checker) {
        checker.positive("lr", self.lr.into(), 1.0);
        checker.positive("lr_end", self.lr_end.into(), 1.0);
        checker.range("hold", self.hold, 0.0..=10.0);
    }
}
