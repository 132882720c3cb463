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
    /// Points for what lies behind the scene.
    pub background: BackgroundOptions,
}

impl Default for SfmPointsOptions {
    fn default() -> Self {
        Self {
            opacity: 0.1,
            scale: 1.0,
            background: BackgroundOptions::default(),
        }
    }
}

impl Options for SfmPointsOptions {
    fn check(&self, checker: &mut Checker) {
        checker.range("opacity", self.opacity, 0.01..=0.99);
        checker.positive("scale", self.scale.into(), 10.0);
        self.background.check(checker);
    }
}

/// Points for what lies behind the scene, beside those it starts from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BackgroundOptions {
    /// Number of points; 0 = none, at most 10 000 000. `auto` = some where the scene has hardly a point beyond its cameras.
    pub count: Auto<u32>,
    /// Radii of the spheres around the cameras' mean that they lie on, times the scene's extent, ascending; 1 to 1000, at
    /// most 16.
    pub shells: Vec<f32>,
}

impl Default for BackgroundOptions {
    fn default() -> Self {
        Self {
            count: Auto::Auto,
            shells: vec![2.0, 4.0, 8.0],
        }
    }
}

impl BackgroundOptions {
    fn check(&self, checker: &mut Checker) {
        checker.within("background", |c| {
            if let Auto::Set(count) = self.count {
                c.range("count", count, 0..=10_000_000);
            }
            let len = self.shells.len();
            c.require("shells", (1..=16).contains(&len), format!("a list of {len}"), || {
                "1 to 16 radii".to_owned()
            });
            c.within("shells", |c| {
                let mut last = 0.0;
                for (i, shell) in self.shells.iter().enumerate() {
                    c.range(&i.to_string(), *shell, 1.0..=1000.0);
                    c.require(&i.to_string(), *shell > last, shell, || {
                        format!("above {last}, the shell before")
                    });
                    last = *shell;
                }
            });
        });
    }
}

impl Init {
    /// The points of the background, of kinds that have them.
    #[must_use]
    pub const fn background(&self) -> Option<&BackgroundOptions> {
        match self {
            Self::SfmPoints(options) => Some(&options.background),
            Self::Ply(options) => Some(&options.background),
            Self::RandomBox(_) | Self::RandomFrustum(_) => None,
        }
    }

    /// See [`Init::background`].
    pub const fn background_mut(&mut self) -> Option<&mut BackgroundOptions> {
        match self {
            Self::SfmPoints(options) => Some(&mut options.background),
            Self::Ply(options) => Some(&mut options.background),
            Self::RandomBox(_) | Self::RandomFrustum(_) => None,
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
    /// Points for what lies behind the scene.
    pub background: BackgroundOptions,
}

impl Default for PointsPlyOptions {
    fn default() -> Self {
        Self {
            path: String::new(),
            opacity: 0.1,
            scale: 1.0,
            background: BackgroundOptions::default(),
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
        self.background.check(checker);
    }
}
