//! What a profile's losses need of scene and plan.

use super::{LossError, PlanError};
use crate::config::{Background, MostGaussians, Profile, Residency};
use crate::kernels::density_terms::DensityTerms;
use crate::kernels::fading::FadingWeight;
use crate::kernels::neighbor_loss::PairWeights;
use crate::kernels::views::IMAGE_BYTES;
use crate::kernels::{exposure, pose};
use crate::memory::{Gpu, MemoryError, PlanLimits};
use crate::plugins::{DensityVariant, Loss};
use crate::scene::{Alpha, SceneIndex};
use crate::step::{self, ExtraLosses, StepTensors};

/// Holds the losses against the scene.
///
/// # Errors
/// [`PlanError::Loss`] when the scene lacks what a loss needs, or its images are larger than the loss can take.
pub(super) fn check(profile: &Profile, scene: &SceneIndex, limits: PlanLimits) -> Result<(), PlanError> {
    let extra = extra(profile, scene.extent);
    if extra.alpha && !scene.masked {
        return Err(LossError::NoMasks.into());
    }
    if extra.alpha && profile.strategy.error_guided().is_some() {
        return Err(LossError::Scores.into());
    }
    let pixels = scene.views().map(|(_, view)| view.pixels()).max().unwrap_or(0);
    let most = limits.binding_bytes / IMAGE_BYTES;
    if extra.surfaces() && pixels > most {
        let losses = [
            ("normals", extra.normals),
            ("dn_consistency", extra.consistency),
            ("depth", extra.depth.is_some()),
            ("normal_map", extra.normal_map.is_some()),
            ("neighbour", extra.pair.is_some()),
        ];
        let loss = losses
            .into_iter()
            .find(|(_, has)| *has)
            .map_or("density", |(loss, _)| loss);
        return Err(LossError::SurfacesTooLarge { loss, pixels, most }.into());
    }
    if extra.pair.is_some() && profile.dataset.residency == Residency::Stream {
        return Err(LossError::Streamed.into());
    }
    if extra.depth.is_some() != scene.parts().depths {
        return Err(LossError::NoDepths.into());
    }
    if extra.normal_map.is_some() != scene.parts().normals {
        return Err(LossError::NoNormals.into());
    }
    let blended = scene.train.iter().any(|view| view.alpha == Alpha::Composite);
    if profile.model.background == Background::Random && blended {
        return Err(LossError::Blended.into());
    }
    Ok(())
}

/// Losses that need tensors of their own.
pub(super) fn extra(profile: &Profile, extent: f32) -> ExtraLosses {
    let has = |pick: fn(&Loss) -> bool| profile.losses.iter().any(pick);
    ExtraLosses {
        alpha: has(|loss| matches!(loss, Loss::Alpha(_)) && loss.weight() > 0.0),
        exposure: has(|loss| matches!(loss, Loss::Exposure(_))),
        normals: has(|loss| matches!(loss, Loss::Normals(_)) && loss.weight() > 0.0),
        consistency: has(|loss| matches!(loss, Loss::DnConsistency(_)) && loss.weight() > 0.0),
        depth: profile.losses.iter().find_map(|loss| match loss {
            Loss::Depth(options) => fading(options.weight, options.weight_end, options.from, profile),
            _ => None,
        }),
        normal_map: profile.losses.iter().find_map(|loss| match loss {
            Loss::NormalMap(options) => fading(options.weight, options.weight_end, options.from, profile),
            _ => None,
        }),
        pair: profile.losses.iter().find_map(|loss| match loss {
            Loss::Neighbour(options) if loss.weight() > 0.0 => Some(PairWeights {
                geometry: options.geometry,
                photometric: options.photometric,
            }),
            _ => None,
        }),
        density: profile.density().map(|options| DensityTerms {
            sdf: options.variant == DensityVariant::Sdf,
            weight: options.weight,
            normal: options.normal,
            samples: options.samples,
            k: options.k,
            extent,
        }),
    }
}

/// A weight that falls from one to another over the run, and is 0 before `from`; none where it is 0 throughout.
fn fading(weight: f32, weight_end: f32, from: u32, profile: &Profile) -> Option<FadingWeight> {
    (weight > 0.0).then(|| FadingWeight {
        start: weight,
        decay: (weight_end / weight).ln() / profile.schedule.iterations.max(1) as f32,
        from,
    })
}

/// Most Gaussians that the terms of the density leave room for; none where there are no such terms.
///
/// # Errors
/// [`PlanError::Loss`] when the first model has more, or the profile wants more.
pub(super) fn most_dense(profile: &Profile, initial: u32, limits: PlanLimits) -> Result<Option<u32>, PlanError> {
    let Some(options) = profile.density() else {
        return Ok(None);
    };
    let most = step::most_dense(options.k, limits.largest_tensor());
    let wanted = match profile.memory.max_gaussians {
        MostGaussians::Set(n) => n.max(initial),
        MostGaussians::UpTo(_) => initial,
    };
    if wanted > most {
        let fitting = u32::try_from(limits.largest_tensor() / 4 / u64::from(wanted)).unwrap_or(u32::MAX);
        return Err(LossError::TooDense {
            gaussians: wanted,
            k: options.k,
            most,
            fitting: (fitting > 0 && step::most_dense(fitting, limits.largest_tensor()) >= wanted).then_some(fitting),
        }
        .into());
    }
    Ok(Some(most))
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
