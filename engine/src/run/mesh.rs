//! What a mesh at the end of a run will take, before the run begins.

use crate::config::{MeshMethod, Profile};
use crate::kernels::views::Variants;
use crate::memory::{Budget, PlanLimits};
use crate::mesh::{MeshError, MeshJob, MeshOutlook, most_points};
use crate::plan::{Faults, FirstModel, Look, available_bytes};
use crate::scene::SceneIndex;

/// Plans the mesh of a model with as many Gaussians as a run may grow to. Where its surfaces will be is taken from the first
/// model, so the voxels may be others in the end; what is allocated depends on them by a bit per brick only.
///
/// # Errors
/// [`MeshError`] when it cannot fit, on the device or, for the points of a reconstruction, in the host's memory.
pub fn mesh_outlook(
    profile: &Profile,
    scene: &SceneIndex,
    (first, gaussians): (&FirstModel, u32),
    variants: &Variants,
    (budget, limits): (Budget, PlanLimits),
    faults: &Faults,
) -> Result<MeshOutlook, MeshError> {
    let look = Look::of(profile, profile.model.sh_degree);
    let job = MeshJob::new(profile, &first.gaussians, look, scene);
    let degree = profile.model.sh_degree;
    let plan = job.plan_for(gaussians, degree, variants, budget, limits, faults)?;
    if profile.mesh.method == MeshMethod::Poisson {
        let cameras = scene.train.iter().map(|view| &view.camera);
        most_points(cameras, profile.mesh.points, available_bytes())?;
    }
    Ok(plan.outlook())
}
