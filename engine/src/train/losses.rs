//! What a profile's losses need of scene and plan.

use super::TrainError;
use crate::config::{Background, Profile};
use crate::kernels::exposure;
use crate::memory::Gpu;
use crate::plugins::Loss;
use crate::scene::{Alpha, SceneIndex};
use crate::step::{ExtraLosses, StepTensors};

/// Why a loss cannot be had from a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LossError {
    /// The coverage loss without masks.
    #[error("the loss `alpha` compares with masks, and the scene has none")]
    NoMasks,
    /// A background that changes behind photos that are blended over one.
    #[error("`model.background` is random, and photos with transparent pixels are blended over one colour once")]
    Blended,
    /// Coverage and scores both want the fourth value of image gradients.
    #[error(
        "the loss `alpha` and the strategy `budgeted` cannot go together: both use the fourth channel of image gradients"
    )]
    Scores,
}

impl LossError {
    /// What to do about it.
    #[must_use]
    pub fn hint(self) -> &'static str {
        match self {
            Self::NoMasks => {
                "`dataset.masks` names their folder; `dataset.alpha: mask` takes them from transparent photos"
            }
            Self::Blended => {
                "`dataset.alpha: mask` leaves transparent pixels out, `ignore` takes their colours as they are stored"
            }
            Self::Scores => "take the loss out, or choose another `strategy.kind`, `mcmc` for instance",
        }
    }
}

/// Holds the losses against the scene.
///
/// # Errors
/// [`TrainError::Loss`] when the scene lacks what a loss needs.
pub(super) fn check(profile: &Profile, scene: &SceneIndex) -> Result<(), TrainError> {
    let extra = extra(profile);
    if extra.alpha && !scene.masked {
        return Err(LossError::NoMasks.into());
    }
    if extra.alpha && profile.strategy.budgeted().is_some() {
        return Err(LossError::Scores.into());
    }
    let blended = scene.train.iter().any(|view| view.alpha == Alpha::Composite);
    if profile.model.background == Background::Random && blended {
        return Err(LossError::Blended.into());
    }
    Ok(())
}

/// Losses that need tensors of their own.
pub(super) fn extra(profile: &Profile) -> ExtraLosses {
    let has = |pick: fn(&Loss) -> bool| profile.losses.iter().any(pick);
    ExtraLosses {
        alpha: has(|loss| matches!(loss, Loss::Alpha(_)) && loss.weight() > 0.0),
        exposure: has(|loss| matches!(loss, Loss::Exposure(_))),
    }
}

/// Writes what losses learn beside the model as it is before the first step.
///
/// # Errors
/// [`TrainError::Memory`].
pub(super) fn start(gpu: &mut Gpu, tensors: &StepTensors) -> Result<(), TrainError> {
    if let Some(exposures) = &tensors.extra.exposures {
        gpu.write(&exposures.state, &exposure::start(tensors.capacities.cameras))?;
    }
    Ok(())
}
