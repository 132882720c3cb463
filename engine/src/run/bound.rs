//! What the refinement of a mesh will take, before there is a mesh.

use std::path::Path;

use crate::plan::{Demand, Faults, PlanError, PlanReport, plan};
use kiln_config::Profile;
use kiln_gaussians::bound::Binding;
use kiln_gpu::memory::{Budget, PlanLimits};
use kiln_kernels::views::Variants;
use kiln_scene::SceneIndex;

/// Plans the refinement by [`Profile::refining`] of a mesh that is to come, with so many triangles. How many Gaussians its views
/// see is not known yet: the plan has room for all of them where memory is not short.
///
/// # Errors
/// [`PlanError::Bound`] when it cannot fit, naming what would.
pub fn refinement_outlook(
    profile: &Profile,
    scene: &SceneIndex,
    triangles: u32,
    variants: &Variants,
    (budget, limits): (Budget, PlanLimits),
    faults: &Faults,
) -> Result<PlanReport, PlanError> {
    let refining = profile.refining(Path::new("mesh.ply"));
    let bound = refining.bound();
    let binding = Binding::expected(triangles, bound.per_triangle, bound.normal_consistency);
    let demand = Demand::of_binding(binding);
    let (_, report) = plan(&refining, scene, &demand, budget, limits, variants, faults)?;
    Ok(report)
}
