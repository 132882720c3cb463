//! What a mesh at the end of a run will take, before the run begins.

use super::RunError;
use crate::mesh::{MeshJob, MeshOutlook, most_points};
use crate::plan::{Faults, FirstModel, Look, pinhole_options};
use kiln_config::Profile;
use kiln_gpu::memory::{Budget, PlanLimits};
use kiln_kernels::views::Variants;
use kiln_scene::SceneIndex;

/// Plans the mesh of a model with as many Gaussians as a run may grow to. Where its surfaces will be is taken from the first
/// model, so the voxels may be others in the end; what is allocated depends on them by a bit per brick only. A scene with fisheyes as
/// they are is read again, as the mesh will see it.
///
/// # Errors
/// [`RunError::Scene`]; [`RunError::Mesh`] when it cannot fit, on the device or, for the points of a reconstruction, in the host's memory.
pub fn mesh_outlook(
    profile: &Profile,
    scene: &SceneIndex,
    (first, gaussians): (&FirstModel, u32),
    variants: &Variants,
    (budget, limits): (Budget, PlanLimits),
    faults: &Faults,
) -> Result<MeshOutlook, RunError> {
    let has_lens = scene.views().any(|(_, view)| view.camera.lens.is_some());
    let through_pinholes =
        has_lens.then(|| SceneIndex::load(&scene.root, &pinhole_options(profile)?).map_err(RunError::from));
    let through_pinholes = through_pinholes.transpose()?;
    let scene = through_pinholes.as_ref().unwrap_or(scene);
    let look = Look::of(profile, profile.model.sh_degree);
    let job = MeshJob::new(profile, &first.gaussians, look, scene);
    let degree = profile.model.sh_degree;
    let plan = job.plan_for(gaussians, degree, variants, budget, limits, faults)?;
    if profile.mesh.method.is_poisson() {
        let cameras = scene.train.iter().map(|view| &view.camera);
        most_points(cameras, profile.mesh.quality.points(), kiln_system::available_bytes())?;
    }
    Ok(plan.outlook())
}
