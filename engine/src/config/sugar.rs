//! `sugar`: where the stages of SuGaR begin and what they are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::profile::Profile;
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
    /// What the run does, in this order: `coarse`, and `extract` for the mesh of its model, as `mesh` says.
    #[serde(default = "all")]
    pub stages: Vec<SugarStage>,
}

/// `sugar.stages`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SugarStage {
    /// Training until Gaussians lie on surfaces.
    Coarse,
    /// The mesh of its model.
    Extract,
}

fn all() -> Vec<SugarStage> {
    vec![SugarStage::Coarse, SugarStage::Extract]
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
        c.require(
            "start",
            self.from.is_none() || self.start < iterations,
            self.start,
            || format!("below `schedule.iterations`, {iterations}: `sugar.from` counts as so many of them"),
        );
        let is_known = matches!(
            self.stages[..],
            [SugarStage::Coarse] | [SugarStage::Coarse, SugarStage::Extract]
        );
        c.require("stages", is_known, format!("{:?}", self.stages).to_lowercase(), || {
            "[coarse] or [coarse, extract]; `kiln mesh RUN` makes the mesh of a run that is there".to_owned()
        });
        let from = self.from.as_deref();
        c.require("from", from != Some(""), "empty", || {
            "null, a run or a model".to_owned()
        });
        c.require("keep_moments", !(self.keep_moments && from.is_some()), "true", || {
            "false, because `sugar.from` names a model, which has no moments".to_owned()
        });
    }
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
    /// True where a run ends with the mesh of its model.
    #[must_use]
    pub fn extracts(&self) -> bool {
        self.sugar
            .as_ref()
            .is_some_and(|sugar| sugar.stages.contains(&SugarStage::Extract))
    }

    /// Iterations that count as done before a run's first step.
    #[must_use]
    pub fn iterations_before(&self) -> u32 {
        self.sugar
            .as_ref()
            .filter(|sugar| sugar.from.is_some())
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
