//! Plans of runs on a card of a named size, which need not be here.

use super::{ForScene, JobError};
use crate::plan::{Faults, PlanError, PlanReport, plan_first, plan_with_photos, scene_options};
use crate::project::{BlockEntry, BlockFolder, Draft, ProjectFolder};
use kiln_config::{Inputs, Override, Profile};
use kiln_gpu::memory::{BlockRounding, Budget, GIB, PlanLimits};
use kiln_kernels::views::{Loops, Reduction, Threads, Variants};
use kiln_scene::{SceneIndex, SceneOptions};

/// Points that are looked at of each photo.
const SEEN_POINTS: u32 = 4096;
/// Views of a scene that a recipe's number of steps is meant for, and the least and the most it is multiplied by.
const USUAL_VIEWS: f64 = 200.0;
const STEPS: [f64; 2] = [0.35, 2.0];

/// Limits that cards of profiles have.
pub(super) const fn card_limits() -> PlanLimits {
    PlanLimits {
        block_bytes: GIB,
        binding_bytes: 4 * GIB - 1,
        rounding: BlockRounding::NONE,
    }
}

/// Kernels that cards of profiles run.
pub(super) const fn card_variants(profile: &Profile, faults: &Faults) -> Variants {
    let atomic = !(profile.train.deterministic || faults.portable);
    Variants {
        reduction: if atomic {
            Reduction::Atomic
        } else {
            Reduction::Segmented
        },
        sort_subgroup: if atomic { 32 } else { 0 },
        threads: if atomic { Threads::Pixels } else { Threads::Columns },
        loops: Loops::Long,
    }
}

/// The plan of a run on a card of that budget.
pub(super) fn planned(
    profile: &mut Profile,
    scene: &SceneIndex,
    budget: Budget,
    faults: &Faults,
) -> Result<PlanReport, PlanError> {
    let variants = card_variants(profile, faults);
    let make = |profile: &Profile| plan_first(profile, scene, budget, card_limits(), &variants, faults);
    // How much memory the host will have is not known here.
    plan_with_photos(profile, scene, budget.cap_bytes, None, make, |(_, _, report)| report).map(|(_, _, report)| report)
}

/// Plans a block of a draft as its run will, and writes its index.
pub(super) fn write_planned(
    draft: &Draft,
    project: &ProjectFolder,
    mut folder: BlockFolder,
    budget: Budget,
    faults: &Faults,
) -> Result<(BlockFolder, BlockEntry), JobError> {
    let inputs = project.inputs(&folder, &Inputs::default());
    let ForScene { mut profile, scene, .. } = ForScene::of(&inputs)?;
    let report = planned(&mut profile, &scene, budget, faults)?;
    folder.record.planned.gaussians = report.capacities.n_limit;
    folder.record.planned.device_bytes = report.device_bytes;
    let entry = draft.write_block(&folder)?;
    Ok((folder, entry))
}

/// How the scene of `profile` is read to see which points its photos see.
pub(super) fn seen_options(profile: &Profile) -> Result<SceneOptions, PlanError> {
    Ok(SceneOptions {
        eval: false,
        seen_points: SEEN_POINTS,
        ..scene_options(profile)?
    })
}

pub(super) fn sets(inputs: &Inputs, key: &str) -> bool {
    inputs.overrides.iter().any(|set: &Override| set.key == key)
}

/// Factor of the steps of a run on so many views; none where its length is set.
pub(super) fn steps_scaler(inputs: &Inputs, views: usize) -> Option<f64> {
    if inputs.steps_scaler.is_some() || sets(inputs, "schedule.iterations") {
        return None;
    }
    Some((views as f64 / USUAL_VIEWS).clamp(STEPS[0], STEPS[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_as_long_as_their_views_ask_for() {
        let inputs = Inputs::default();
        let scaler = |views| steps_scaler(&inputs, views);
        assert_eq!(
            [scaler(10), scaler(100), scaler(1000)],
            [Some(0.35), Some(0.5), Some(2.0)]
        );
        let typed = Inputs {
            steps_scaler: Some(3.0),
            ..Inputs::default()
        };
        assert_eq!(steps_scaler(&typed, 100), None);
        let typed = Inputs {
            overrides: vec![Override::new("schedule.iterations", "500".to_owned(), "--iterations")],
            ..Inputs::default()
        };
        assert_eq!(steps_scaler(&typed, 100), None);
    }
}
