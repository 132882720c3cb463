//! What the stages of SuGaR behind its training will take, before the run begins.

use std::path::Path;

use super::{RunError, mesh_outlook, refinement_outlook};
use crate::mesh::{MeshJob, MeshOutlook};
use crate::plan::{Faults, FirstModel, Look, PlanReport};
use kiln_config::{Profile, SugarStage};
use kiln_gpu::memory::{Budget, PlanLimits};
use kiln_kernels::views::Variants;
use kiln_scene::SceneIndex;

/// Plans of the stages that a run has.
#[derive(Clone, Debug)]
pub struct StagesOutlook {
    /// The mesh of the coarse model.
    pub extract: Option<MeshOutlook>,
    /// Gaussians on that mesh, with as many triangles as decimation leaves at most, and the number of these.
    pub refine: Option<(PlanReport, u32)>,
    /// The mesh that moved.
    pub texture: Option<MeshOutlook>,
}

/// Plans every stage behind the training of a model of at most `gaussians` Gaussians, which lie about where those of `first` do. Each
/// has the device to itself.
///
/// # Errors
/// [`RunError::Mesh`], [`RunError::Plan`] for the first that cannot fit.
pub fn stages_outlook(
    profile: &Profile,
    scene: &SceneIndex,
    (first, gaussians): (&FirstModel, u32),
    variants: &Variants,
    (budget, limits): (Budget, PlanLimits),
    faults: &Faults,
) -> Result<StagesOutlook, RunError> {
    let place = (budget, limits);
    let mut outlook = StagesOutlook {
        extract: None,
        refine: None,
        texture: None,
    };
    if profile.has_stage(SugarStage::Extract) {
        let extracting = profile.extracting();
        outlook.extract = Some(mesh_outlook(
            &extracting,
            scene,
            (first, gaussians),
            variants,
            place,
            faults,
        )?);
    }
    let triangles = profile.most_triangles().unwrap_or(u32::MAX);
    let refining = profile.refine_stage(Path::new("mesh.ply"));
    if profile.has_stage(SugarStage::Refine) {
        let report = refinement_outlook(profile, scene, triangles, variants, place, faults)?;
        outlook.refine = Some((report, triangles));
    }
    if profile.has_stage(SugarStage::Texture) {
        let bound = triangles.saturating_mul(profile.bound().per_triangle);
        outlook.texture = Some(mesh_outlook(&refining, scene, (first, bound), variants, place, faults)?);
        let look = Look::of(&refining, refining.model.sh_degree);
        MeshJob::new(&refining, &first.gaussians, look, scene).check_picture(triangles, budget, limits)?;
    }
    Ok(outlook)
}
