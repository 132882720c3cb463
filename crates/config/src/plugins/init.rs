//! Where the first Gaussians come from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Auto, Checker, Options, family::family};

family! {
    /// Initialisation of the model.
    Init {
        SfmPoints(SfmPointsOptions) = "sfm_points", "one Gaussian a sparse point of the scene";
        RandomBox(RandomBoxOptions) = "random_box", "uniform random points in a cube, for scenes without points";
        RandomFrustum(RandomFrustumOptions) = "random_frustum", "random points in front of the cameras, for scenes without points";
        Ply(PointsPlyOptions) = "ply", "one Gaussian a point of a PLY file";
        Model(ModelOptions) = "model", "the Gaussians of a trained model, with all their parameters";
        Mesh(MeshOptions) = "mesh", "Gaussians on the triangles of a mesh, which moves with them; see `bound`";
    }
}

/// Options of `sfm_points`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SfmPointsOptions {
    /// Opacity of a new Gaussian, after the sigmoid; 0.01 to 0.99.
    pub opacity: f32,
    /// Size of a new Gaussian, in mean distances to its nearest neighbours; above 0, at most 10.
    pub scale: f32,
    /// Points for what lies behind the scene, on spheres around it: 0 = none, at most 10 000 000; `auto` = some where the scene
    /// has hardly a point beyond its cameras.
    pub background: Auto<u32>,
}

impl Default for SfmPointsOptions {
    fn default() -> Self {
        Self {
            opacity: 0.1,
            scale: 1.0,
            background: Auto::Auto,
        }
    }
}

impl Options for SfmPointsOptions {
    fn check(&self, checker: &mut Checker) {
        checker.range("opacity", self.opacity, 0.01..=0.99);
        checker.positive("scale", self.scale.into(), 10.0);
        check_background(self.background, checker);
    }
}

fn check_background(count: Auto<u32>, checker: &mut Checker) {
    if let Auto::Set(count) = count {
        checker.range("background", count, 0..=10_000_000);
    }
}

impl Init {
    /// How many points the background gets, of kinds that have them.
    #[must_use]
    pub const fn background(&self) -> Option<Auto<u32>> {
        match self {
            Self::SfmPoints(options) => Some(options.background),
            Self::Ply(options) => Some(options.background),
            Self::RandomBox(_) | Self::RandomFrustum(_) | Self::Model(_) | Self::Mesh(_) => None,
        }
    }

    /// See [`Init::background`].
    pub const fn background_mut(&mut self) -> Option<&mut Auto<u32>> {
        match self {
            Self::SfmPoints(options) => Some(&mut options.background),
            Self::Ply(options) => Some(&mut options.background),
            Self::RandomBox(_) | Self::RandomFrustum(_) | Self::Model(_) | Self::Mesh(_) => None,
        }
    }
}

/// Options of `random_box`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RandomBoxOptions {
    /// Number of points; 1 to 10 000 000.
    pub count: u32,
    /// Half of the cube's side, world units; the cube is centred on the origin.
    pub half_side: f32,
    /// Opacity of a new Gaussian, after the sigmoid; 0.01 to 0.99.
    pub opacity: f32,
    /// Size of a new Gaussian, in mean distances to its nearest neighbours; above 0, at most 10.
    pub scale: f32,
}

impl Default for RandomBoxOptions {
    fn default() -> Self {
        Self {
            count: 100_000,
            half_side: 1.3,
            opacity: 0.1,
            scale: 1.0,
        }
    }
}

impl Options for RandomBoxOptions {
    fn check(&self, checker: &mut Checker) {
        checker.range("count", self.count, 1..=10_000_000);
        checker.positive("half_side", self.half_side.into(), 1e6);
        checker.range("opacity", self.opacity, 0.01..=0.99);
        checker.positive("scale", self.scale.into(), 10.0);
    }
}

/// Options of `random_frustum`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RandomFrustumOptions {
    /// Number of points; 1 to 10 000 000.
    pub count: u32,
    /// Opacity of a new Gaussian, after the sigmoid; 0.01 to 0.99.
    pub opacity: f32,
    /// Size of a new Gaussian, in mean distances to its nearest neighbours; above 0, at most 10.
    pub scale: f32,
}

impl Default for RandomFrustumOptions {
    fn default() -> Self {
        Self {
            count: 100_000,
            opacity: 0.1,
            scale: 1.0,
        }
    }
}

impl Options for RandomFrustumOptions {
    fn check(&self, checker: &mut Checker) {
        checker.range("count", self.count, 1..=10_000_000);
        checker.range("opacity", self.opacity, 0.01..=0.99);
        checker.positive("scale", self.scale.into(), 10.0);
    }
}

/// Options of `ply`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PointsPlyOptions {
    /// The file, ASCII or binary, in the scene's coordinates: `x, y, z` and colours where it has them. Of a Gaussian
    /// splatting file centres and colours are taken.
    pub path: String,
    /// Opacity of a new Gaussian, after the sigmoid; 0.01 to 0.99.
    pub opacity: f32,
    /// Size of a new Gaussian, in mean distances to its nearest neighbours; above 0, at most 10.
    pub scale: f32,
    /// Points for what lies behind the scene, on spheres around it: 0 = none, at most 10 000 000; `auto` = some where the scene
    /// has hardly a point beyond its cameras.
    pub background: Auto<u32>,
}

impl Default for PointsPlyOptions {
    fn default() -> Self {
        Self {
            path: String::new(),
            opacity: 0.1,
            scale: 1.0,
            background: Auto::Auto,
        }
    }
}

impl Options for PointsPlyOptions {
    fn check(&self, checker: &mut Checker) {
        checker.require("path", !self.path.is_empty(), "empty", || {
            "the path of a PLY file".to_owned()
        });
        checker.range("opacity", self.opacity, 0.01..=0.99);
        checker.positive("scale", self.scale.into(), 10.0);
        check_background(self.background, checker);
    }
}

/// Options of `model`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelOptions {
    /// The file, in the scene's coordinates: a Gaussian splatting PLY of any program, compressed PLY, SPZ, SOG or GLB. The first step
    /// renders all its SH coefficients; everything else is as the settings say, so that learning rates, for one, start anew.
    pub path: String,
}

impl Options for ModelOptions {
    fn check(&self, checker: &mut Checker) {
        checker.require("path", !self.path.is_empty(), "empty", || {
            "the path of a model".to_owned()
        });
    }
}

/// Options of `mesh`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MeshOptions {
    /// The file, PLY, OBJ or GLB, in the scene's coordinates. Colours of its vertices are those of the first Gaussians; grey
    /// where it has none.
    pub path: String,
    /// Opacity of a new Gaussian, after the sigmoid; 0.01 to 0.99.
    pub opacity: f32,
}

impl Default for MeshOptions {
    fn default() -> Self {
        Self {
            path: String::new(),
            opacity: 0.1,
        }
    }
}

impl Options for MeshOptions {
    fn check(&self, checker: &mut Checker) {
        checker.require("path", !self.path.is_empty(), "empty", || {
            "the path of a mesh, PLY, OBJ or GLB".to_owned()
        });
        checker.range("opacity", self.opacity, 0.01..=0.99);
    }
}
