//! `sugar`: where the stages of SuGaR begin and what they are.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::profile::Profile;
use super::{Decimate, MeshFormat, MeshMethod, VertexUnits};
use crate::plugins::{
    Checker, DensityOptions, DensityVariant, DnConsistencyOptions, Init, Loss, ModelOptions, Regularizer,
};

/// `sugar`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sugar {
    /// A trained model to begin with, a run or its file; null = the run trains one until `start`.
    #[serde(default)]
    pub from: Option<String>,
    /// Iterations that are done when the coarse stage begins: schedules of a run that begins with a model count on from here.
    #[serde(default = "start")]
    pub start: u32,
    /// What the coarse stage adds, in place of the terms that `losses` and `regularizers` have for it; null = what these say.
    #[serde(default)]
    pub regularizer: Option<SugarRegularizer>,
    /// Adam goes on with its moments when the coarse stage begins; false = it starts anew, as published.
    #[serde(default)]
    pub keep_moments: bool,
    /// What the run does, in this order and without a gap; a run that begins with `extract` takes the model of `from` as it is.
    #[serde(default = "all")]
    pub stages: Vec<SugarStage>,
}

/// `sugar.stages`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SugarStage {
    /// Training until Gaussians lie on surfaces.
    Coarse,
    /// The mesh of its model, as `mesh` says.
    Extract,
    /// Gaussians on the triangles of that mesh, as `bound` says; `mesh.decimate` says how many triangles there are at most.
    Refine,
    /// A picture over the mesh that moved with them.
    Texture,
}

impl SugarStage {
    /// All, in their order.
    pub const ALL: [Self; 4] = [Self::Coarse, Self::Extract, Self::Refine, Self::Texture];

    /// The word in a profile.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Coarse => "coarse",
            Self::Extract => "extract",
            Self::Refine => "refine",
            Self::Texture => "texture",
        }
    }
}

fn all() -> Vec<SugarStage> {
    SugarStage::ALL.to_vec()
}

const fn start() -> u32 {
    7000
}

/// `sugar.regularizer`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SugarRegularizer {
    /// The density around samples is that of a surface.
    Density,
    /// Distances that the density says are those of the depth map.
    Sdf,
    /// `density`, and blended normals agree with the normals of blended depths.
    DnConsistency,
}

impl Sugar {
    /// Ranges.
    pub(super) fn check(&self, iterations: u32, c: &mut Checker) {
        c.range("start", self.start, 1..=10_000_000);
        let trains = self.stages.contains(&SugarStage::Coarse);
        c.require(
            "start",
            self.from.is_none() || self.start < iterations || !trains,
            self.start,
            || format!("below `schedule.iterations`, {iterations}: `sugar.from` counts as so many of them"),
        );
        let first = usize::from(!trains);
        let known = SugarStage::ALL.get(first..first + self.stages.len());
        let is_known = known == Some(&self.stages[..]) && !self.stages.is_empty();
        let names: Vec<&str> = self.stages.iter().map(|stage| stage.name()).collect();
        c.require("stages", is_known, format!("[{}]", names.join(", ")), || {
            "coarse, extract, refine and texture in this order, each once and without a gap, from coarse or extract on; `kiln mesh RUN` \
             makes the mesh of a run that is there"
                .to_owned()
        });
        c.require(
            "stages",
            trains || self.from.is_some() || !is_known,
            "without coarse",
            || "with coarse, or `sugar.from` with the model that it would train".to_owned(),
        );
        let from = self.from.as_deref();
        c.require("from", from != Some(""), "empty", || {
            "null, a run or a model".to_owned()
        });
        c.require("keep_moments", !(self.keep_moments && from.is_some()), "true", || {
            "false, because `sugar.from` names a model, which has no moments".to_owned()
        });
    }
}

/// What must be set where a run goes on behind the coarse stage.
pub(super) fn check_together(profile: &Profile, c: &mut Checker) {
    if profile.has_stage(SugarStage::Extract) {
        c.within("mesh", |c| {
            c.require("method", profile.mesh.method != MeshMethod::Bound, "bound", || {
                "poisson or fusion, because of `sugar.stages`: no mesh is there yet".to_owned()
            });
        });
    }
    if !profile.has_stage(SugarStage::Refine) {
        return;
    }
    c.within("mesh", |c| {
        c.require("decimate", profile.most_triangles().is_some(), "without a number", || {
            "`{ triangles: N }` or `{ vertices: N }`, because `sugar.stages` has refine: memory is planned for so many".to_owned()
        });
    });
    c.within("train", |c| {
        c.require("refine_poses", profile.train.refine_poses.is_none(), "set", || {
            "null, because `sugar.stages` has refine: it trains with the cameras of the data set".to_owned()
        });
    });
}

/// Puts what `sugar` says in its place: the terms of `regularizer`, and the model of `from`.
pub(super) fn apply(profile: &mut Profile) {
    let Some(sugar) = &profile.sugar else { return };
    if let Some(path) = &sugar.from {
        profile.init = Init::Model(ModelOptions { path: path.clone() });
    }
    let Some(regularizer) = sugar.regularizer else { return };
    let variant = match regularizer {
        SugarRegularizer::Sdf => DensityVariant::Sdf,
        SugarRegularizer::Density | SugarRegularizer::DnConsistency => DensityVariant::Density,
    };
    let listed = profile.regularizers.iter_mut().find_map(|term| match term {
        Regularizer::Density(options) => Some(options),
        _ => None,
    });
    match listed {
        Some(options) => options.variant = variant,
        None => profile.regularizers.push(Regularizer::Density(DensityOptions {
            variant,
            ..DensityOptions::default()
        })),
    }
    let is_consistency = |loss: &Loss| matches!(loss, Loss::DnConsistency(_));
    if regularizer != SugarRegularizer::DnConsistency {
        profile.losses.retain(|loss| !is_consistency(loss));
    } else if !profile.losses.iter().any(is_consistency) {
        profile
            .losses
            .push(Loss::DnConsistency(DnConsistencyOptions::default()));
    }
}

impl Profile {
    /// True where a run has this stage of SuGaR.
    #[must_use]
    pub fn has_stage(&self, stage: SugarStage) -> bool {
        self.sugar.as_ref().is_some_and(|sugar| sugar.stages.contains(&stage))
    }

    /// Triangles that a decimated mesh has at most, by `mesh.decimate`: a closed one has two for each vertex. None where no number
    /// is asked for.
    #[must_use]
    pub fn most_triangles(&self) -> Option<u32> {
        let Decimate {
            triangles, vertices, ..
        } = self.mesh.decimate?;
        triangles.or(vertices.map(|n| n.saturating_mul(2)))
    }

    /// The profile by which the mesh of the coarse stage is made: where it is to move, picture and borders are for later.
    #[must_use]
    pub fn extracting(&self) -> Self {
        let mut profile = self.clone();
        if self.has_stage(SugarStage::Refine) {
            profile.mesh.formats = vec![MeshFormat::Ply];
            profile.mesh.peel = None;
        }
        profile
    }

    /// The profile of the stage that refines the mesh in `path`: [`Profile::refining`] with the rate of the vertices that SuGaR
    /// has, by the number asked for and half the diagonal of the box.
    #[must_use]
    pub fn refine_stage(&self, path: &Path) -> Self {
        let mut profile = self.refining(path);
        let asked = self.mesh.decimate.and_then(|asked| asked.triangles.or(asked.vertices));
        let half = |[x0, y0, z0, x1, y1, z1]: [f64; 6]| {
            0.5 * [x1 - x0, y1 - y0, z1 - z0]
                .map(|side| side as f32)
                .iter()
                .map(|side| side * side)
                .sum::<f32>()
                .sqrt()
        };
        profile.bound.get_or_insert_default().units = VertexUnits {
            radius: self.mesh.bounds.map(half),
            vertices: asked,
        };
        profile
    }

    /// Iterations that count as done before a run's first step.
    #[must_use]
    pub fn iterations_before(&self) -> u32 {
        self.sugar
            .as_ref()
            .filter(|sugar| sugar.from.is_some() && sugar.stages.contains(&SugarStage::Coarse))
            .map_or(0, |sugar| sugar.start)
    }

    /// Iteration after which Adam starts anew; none where it never does.
    #[must_use]
    pub fn adam_restart(&self) -> Option<u32> {
        let sugar = self
            .sugar
            .as_ref()
            .filter(|sugar| sugar.from.is_none() && !sugar.keep_moments)?;
        (sugar.start < self.schedule.iterations).then_some(sugar.start)
    }
}
