//! What a profile's losses need of scene and plan.

use super::{LossError, PlanError};
use crate::step::{self, StepTensors};
use kiln_config::plugins::{DensityVariant, Loss, Losses, Maps};
use kiln_config::{Background, MostGaussians, Profile, Residency};
use kiln_gpu::memory::{Gpu, MemoryError, PlanLimits};
use kiln_kernels::density_terms::DensityTerms;
use kiln_kernels::exposure::PhotoStart;
use kiln_kernels::views::IMAGE_BYTES;
use kiln_scene::{Alpha, SceneIndex};

/// Holds the losses against the scene.
///
/// # Errors
/// [`PlanError::Loss`] when the scene lacks what a loss needs, or its images are larger than the loss can take.
pub(super) fn check(profile: &Profile, scene: &SceneIndex, limits: PlanLimits) -> Result<(), PlanError> {
    let losses = losses(profile);
    for (loss, needs) in losses.iter().map(|loss| (loss.kind(), loss.needs())) {
        if needs.masks && !scene.masked {
            return Err(LossError::NoMasks { loss }.into());
        }
        if needs.fourth_channel && profile.strategy.error_guided().is_some() {
            return Err(LossError::Scores { loss }.into());
        }
    }
    let pixels = scene.views().map(|(_, view)| view.pixels()).max().unwrap_or(0);
    let most = limits.binding_bytes / IMAGE_BYTES;
    let of_distances = density(profile, scene.extent).filter(|terms| terms.sdf);
    let of_surfaces = losses.find(|needs| needs.surface.is_some()).map(Loss::kind);
    if let Some(loss) = of_surfaces
        .or(of_distances.map(|_| "density"))
        .filter(|_| pixels > most)
    {
        return Err(LossError::SurfacesTooLarge { loss, pixels, most }.into());
    }
    let of_two = losses.find(|needs| needs.neighbour).map(Loss::kind);
    if let Some(loss) = of_two.filter(|_| profile.dataset.residency == Residency::Stream) {
        return Err(LossError::Streamed { loss }.into());
    }
    for loss in Loss::plain() {
        let maps = loss.needs().maps;
        if let Some(maps) = maps.filter(|maps| losses.need_maps(*maps) != has_maps(scene, *maps)) {
            return Err(LossError::NoMaps {
                loss: loss.kind(),
                maps,
            }
            .into());
        }
    }
    let blended = scene.train.iter().any(|view| view.alpha == Alpha::Composite);
    if profile.model.background == Background::Random && blended {
        return Err(LossError::Blended.into());
    }
    Ok(())
}

/// True when photos of a scene come with these maps.
fn has_maps(scene: &SceneIndex, maps: Maps) -> bool {
    match maps {
        Maps::Depths => scene.parts().depths,
        Maps::Normals => scene.parts().normals,
    }
}

/// The losses that steps have.
pub(super) fn losses(profile: &Profile) -> Losses {
    Losses::new(&profile.losses, profile.schedule.iterations)
}

/// The terms of the density that steps have; none where there are none.
pub(super) fn density(profile: &Profile, extent: f32) -> Option<DensityTerms> {
    profile.density().map(|options| DensityTerms {
        sdf: options.variant == DensityVariant::Sdf,
        weight: options.weight,
        normal: options.normal,
        samples: options.samples,
        k: options.k,
        extent,
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

/// Writes what losses and photo colours learn beside the model as it is before the first step.
///
/// # Errors
/// [`MemoryError`] when the device refuses.
pub(crate) fn start(gpu: &mut Gpu, tensors: &StepTensors, scene: &SceneIndex) -> Result<(), MemoryError> {
    let (takers, _) = scene.takers();
    let views = scene.views().zip(takers);
    let photos: Vec<PhotoStart> = views
        .map(|((_, view), camera)| PhotoStart {
            camera,
            gains: view.gains,
        })
        .collect();
    for learnt in tensors.learnt(&photos) {
        gpu.write(&learnt.state, &learnt.start)?;
    }
    Ok(())
}
