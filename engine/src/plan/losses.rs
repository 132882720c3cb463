//! What a profile's losses need of scene and plan.

use super::{LossError, PlanError};
use crate::config::{Background, Profile};
use crate::kernels::depth_loss::DepthWeight;
use crate::kernels::views::IMAGE_BYTES;
use crate::kernels::{exposure, pose};
use crate::memory::{Gpu, MemoryError, PlanLimits};
use crate::plugins::Loss;
use crate::scene::{Alpha, SceneIndex};
use crate::step::{ExtraLosses, StepTensors};

/// Holds the losses against the scene.
///
/// # Errors
/// [`PlanError::Loss`] when the scene lacks what a loss needs, or its images are larger than the loss can take.
pub(super) fn check(profile: &Profile, scene: &SceneIndex, limits: PlanLimits) -> Result<(), PlanError> {
    let extra = extra(profile);
    if extra.alpha && !scene.masked {
        return Err(LossError::NoMasks.into());
    }
    if extra.alpha && profile.strategy.error_guided().is_some() {
        return Err(LossError::Scores.into());
    }
    let pixels = scene.views().map(|(_, view)| view.pixels()).max().unwrap_or(0);
    let most = limits.binding_bytes / IMAGE_BYTES;
    if extra.surfaces() && pixels > most {
        let loss = if extra.normals { "normals" } else { "depth" };
        return Err(LossError::SurfacesTooLarge { loss, pixels, most }.into());
    }
    if extra.depth.is_some() != scene.parts().depths {
        return Err(LossError::NoDepths.into());
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
        normals: has(|loss| matches!(loss, Loss::Normals(_)) && loss.weight() > 0.0),
        depth: profile.losses.iter().find_map(|loss| match loss {
            Loss::Depth(options) if options.weight > 0.0 => Some(DepthWeight {
                start: options.weight,
                decay: (options.weight_end / options.weight).ln() / profile.schedule.iterations.max(1) as f32,
            }),
            _ => None,
        }),
    }
}

/// Writes what losses learn beside the model as it is before the first step.
///
/// # Errors
/// [`MemoryError`] when the device refuses.
pub(crate) fn start(gpu: &mut Gpu, tensors: &StepTensors) -> Result<(), MemoryError> {
    if let Some(exposures) = &tensors.extra.exposures {
        let c = &tensors.capacities;
        gpu.write(&exposures.state, &exposure::start(c.cameras.max(c.poses)))?;
    }
    if let Some(poses) = &tensors.extra.poses {
        gpu.write(
            &poses.state,
            &vec![0.0_f32; tensors.capacities.poses as usize * pose::WORDS],
        )?;
    }
    Ok(())
}
