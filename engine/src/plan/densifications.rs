//! Programs after which there are other Gaussians than before: the strategy's densifications, and culls.

use super::jobs::Job;
use super::look::Look;
use super::measures::Measures;
use super::order::Reorder;
use crate::step::{self, DensifyTensors, StepTensors};
use kiln_config::plugins::{ErrorGuidedOptions, Strategy};
use kiln_config::{Cull, Profile};
use kiln_kernels::camera_cull::Limits;
use kiln_kernels::densify::{Event, GrowthCurve, Options};
use kiln_kernels::error_guided::{Births, Exponents};
use kiln_kernels::filter_3d::FilterIo;
use kiln_kernels::mcmc_relocate;
use kiln_program::Program;

/// Largest scale that is cloned rather than split, as a share of the scene extent, as in 3DGS.
const CLONE_EXTENT: f64 = 0.01_f32 as f64;

/// The strategy's densification; none when it never densifies. Where the model is sorted it ends with a re-sort; the 3D
/// filter is recomputed after it.
pub(super) fn densifications(
    reorder: &Reorder,
    workspace: &DensifyTensors,
    tensors: &StepTensors,
    profile: &Profile,
    extent: f32,
) -> Vec<(Job, Program)> {
    let program = |capacity: u32, large: bool| {
        if let Some(mcmc) = profile.strategy.mcmc() {
            let event = mcmc_relocate::Event {
                dead_opacity: mcmc.densify.dead_opacity,
                growth: mcmc.densify.growth,
                capacity,
            };
            return Some(step::mcmc_relocate(tensors, workspace, &event));
        }
        let event = |options| Event {
            options,
            extent: extent.into(),
            capacity,
        };
        if let Some(error_guided) = profile.strategy.error_guided() {
            let event = event(error_guided_options(error_guided));
            return Some(step::error_guided(
                tensors,
                workspace,
                &event,
                &births(profile, error_guided),
            ));
        }
        let adaptive = profile.strategy.adaptive()?;
        let event = event(Options {
            gradient_threshold: adaptive.densify.grad_threshold.into(),
            use_abs: matches!(profile.strategy, Strategy::AdaptiveAbs(_)),
            clone_extent: CLONE_EXTENT,
            prune_opacity: adaptive.prune.opacity.into(),
            prune_extent: large.then(|| adaptive.prune.world.into()),
            ..Options::default()
        });
        Some(step::densify(tensors, workspace, &event))
    };
    let kinds = [(false, false), (false, true), (true, false), (true, true)];
    let job = |(held, large): (bool, bool)| {
        let capacity = if held { 0 } else { tensors.capacities.n_limit };
        let program = reorder.after(program(capacity, large)?, tensors);
        Some((Job::Densify { held, large }, program))
    };
    kinds.into_iter().filter_map(job).collect()
}

/// Removes what the training cameras say is not there. Places stay as they are until the next densification: those that moved are few.
pub(super) fn cull(
    tensors: &StepTensors,
    workspace: &DensifyTensors,
    cameras: &FilterIo,
    (cull, profile): (Cull, &Profile),
    measures: &Measures,
) -> (Job, Program) {
    let limits = Limits {
        clearance: measures.near_distance.map_or(0.0, |near| cull.clearance() * near),
        witnesses: 1,
        opacity: 0.0,
        kernel_size: Look::of(profile, 0).kernel_size,
    };
    (Job::Cull, step::camera_cull(tensors, workspace, cameras, &limits))
}

/// Who gives birth when, under the strategy `error_guided`.
fn births(profile: &Profile, options: &ErrorGuidedOptions) -> Births {
    let last = profile
        .strategy
        .window()
        .and_then(|window| window.last(profile.schedule.iterations));
    Births {
        curve: GrowthCurve {
            from: options.densify.from,
            last: last.unwrap_or(options.densify.from),
            ramp: options.densify.ramp,
            growth: options.densify.growth,
        },
        exponents: Exponents {
            error: options.score.error.into(),
            abs_gradient: options.score.abs_gradient.into(),
        },
    }
}

/// How Gaussians split and die under the strategy `error_guided`.
fn error_guided_options(options: &ErrorGuidedOptions) -> Options {
    Options {
        clone_extent: CLONE_EXTENT,
        prune_opacity: options.prune.opacity.into(),
        prune_extent: options.prune.world.map(f64::from),
        ..Options::default()
    }
}
