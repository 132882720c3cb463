//! The uniform block of a training step, from profile, camera and iteration.

use crate::plan::schedule::{self, Events, group};
use crate::plan::{Look, background};
use kiln_config::plugins::{AdamOptions, Optimizer, Regularizer};
use kiln_config::{Background, PhotoColors, Profile, RefinePoses};
use kiln_kernels::fading::Progress;
use kiln_kernels::uniforms::{Group, StepUniforms, flags};
use kiln_scene::Camera;
use kiln_twins::rng;

/// Id of the background among those that draw random numbers; no Gaussian has so high a one.
const BACKGROUND_ID: u32 = u32::MAX;

/// Background of a step under [`Background::Random`]: uniform in the unit cube, by seed and iteration alone.
fn random_background(seed: u32, iteration: u32) -> [f32; 3] {
    [0, 1, 2].map(|channel| rng::uniform(seed, iteration, BACKGROUND_ID, channel))
}

/// Share of the Gaussians that a step leaves out: from 0 at the start to `train.dropout` at the end (Park et al. 2025).
fn dropout(profile: &Profile, iteration: u32) -> f32 {
    let share = f64::from(iteration) / f64::from(profile.schedule.iterations.max(1));
    #[expect(clippy::cast_possible_truncation, reason = "between two f32")]
    let share = share.min(1.0) as f32;
    profile.train.dropout * share
}

/// Learning rate of the camera's correction in a step that the optimiser takes, 0 in others; none where cameras are as given.
fn pose_rate(profile: &Profile, at: Progress, adam_skip_mask: u32) -> Option<f32> {
    let poses = profile.train.refine_poses?;
    let skipped = adam_skip_mask == group::ALL;
    Some(if skipped {
        0.0
    } else {
        at.falling([poses.lr, poses.lr_end])
    })
}

/// Makes of the uniforms that render a test view those of step `step` of `steps` that moves its camera to the photo and nothing
/// else: no group of the model's parameters takes part. Falls as in training, in fewer steps.
pub(super) fn for_alignment(u: &mut StepUniforms, poses: &RefinePoses, (step, steps): (u32, u32), extent: f32) {
    let share = f64::from(step) / f64::from(steps.max(1));
    let rate = f64::from(poses.lr).powf(1.0 - share) * f64::from(poses.lr_end).powf(share);
    #[expect(clippy::cast_possible_truncation, reason = "between two f32")]
    let rate = rate as f32;
    (u.pose_rate, u.pose_extent) = (rate, extent);
    u.flags |= flags::UPDATE | flags::POSES;
    u.adam_skip_mask = group::ALL;
    [u.beta1, u.beta2] = AdamOptions::BETAS;
    u.epsilon = AdamOptions::EPSILON;
}

/// Optimiser steps taken so far, per parameter group; steps that skip a group do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct GroupSteps(pub [u32; 6]);

impl GroupSteps {
    /// Counts one step of every group not in `skip_mask`.
    pub(super) fn advance(&mut self, skip_mask: u32) {
        for (group, steps) in self.0.iter_mut().enumerate() {
            *steps += u32::from(skip_mask & (1 << group) == 0);
        }
    }

    /// Steps of SH: none skips one degree and takes another.
    pub(super) fn sh(&self) -> u32 {
        let [.., rest] = self.0;
        rest
    }

    /// Takes back one [`GroupSteps::advance`]: the step was left out.
    pub(super) fn retract(&mut self, skip_mask: u32) {
        for (group, steps) in self.0.iter_mut().enumerate() {
            *steps = steps.saturating_sub(u32::from(skip_mask & (1 << group) == 0));
        }
    }
}

/// Lengths of a run, world units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lengths {
    /// Extent of the scene.
    pub(super) extent: f32,
    /// What learning rates of positions are in, see [`schedule::rate_unit`].
    pub(super) rate_unit: f64,
}

/// Uniforms that render `camera` with the model as it is: samples at pixel centres, whatever training does.
#[must_use]
pub(crate) fn render(profile: &Profile, camera: &Camera, look: &Look) -> StepUniforms {
    let mut uniforms = StepUniforms::for_camera(camera, background(profile), look.kernel_size);
    uniforms.sh_degree = look.sh_degree;
    uniforms.near_z = look.near_z;
    uniforms.flags |= if look.classic { flags::CLASSIC } else { 0 };
    uniforms.seed = seed(profile);
    uniforms
}

/// What the run's generators are seeded with: they take 32 bits, and both halves of the seed count.
#[must_use]
pub(super) fn seed(profile: &Profile) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "folding 64 bits into 32 on purpose")]
    let seed = (profile.train.seed ^ (profile.train.seed >> 32)) as u32;
    seed
}

/// Makes of uniforms that render a view those that render its near light: over black, splats with a depth below
/// `limit` are white and all others black, so that a pixel's colour is the sum of the near ones' blending weights.
pub(crate) fn for_near_light(uniforms: &mut StepUniforms, limit: f32) {
    uniforms.flags |= flags::NEAR;
    uniforms.near_limit = limit;
    uniforms.background[..3].fill(0.0);
}

/// Makes of uniforms that render a view those that render its depths: over black, the colour of a splat is the first three powers of
/// its depth's logarithm.
pub(crate) fn for_depths(uniforms: &mut StepUniforms) {
    for_near_light(uniforms, -1.0);
}

/// Uniforms of training iteration `iteration`; `steps` already counts this step.
#[must_use]
pub(super) fn train(
    profile: &Profile,
    camera: &Camera,
    iteration: u32,
    lengths: Lengths,
    events: &Events,
    steps: &GroupSteps,
) -> StepUniforms {
    let extent = lengths.extent;
    let look = Look::of(profile, schedule::sh_degree_at(profile, iteration));
    let mut u = render(profile, camera, &look);
    u.iteration = iteration;
    u.flags |= if profile.strategy.counts_faint() {
        flags::COUNT_FAINT
    } else {
        0
    };
    u.flags |= if profile.strategy.error_guided().is_some() {
        flags::SCORES
    } else {
        0
    };
    u.flags |= if events.statistics { flags::STATISTICS } else { 0 };
    u.flags |= flags::UPDATE;
    u.adam_skip_mask = events.adam_skip_mask;
    let at = Progress {
        iteration,
        iterations: profile.schedule.iterations,
    };
    u.weights[..2].fill(0.0);
    for loss in &profile.losses {
        loss.set(&mut u, at);
    }
    if profile.learns_photo_colors() {
        u.camera_position[3] = at.falling(PhotoColors::RATES);
        u.exposure_hold = PhotoColors::HOLD;
    }
    let term = |pick: fn(&Regularizer) -> bool| {
        let terms = profile.regularizers.iter();
        terms.filter(|r| pick(r)).map(Regularizer::weight).sum::<f32>()
    };
    u.opacity_weight = term(|r| matches!(r, Regularizer::Opacity(_)));
    // Scenes have no unit of length: sizes are measured in extents.
    u.scale_weight = term(|r| matches!(r, Regularizer::Scale(_))) / extent;
    u.flat_weight = term(|r| matches!(r, Regularizer::Flat(_))) / extent;
    u.entropy_weight = profile
        .regularizers
        .iter()
        .map(|term| match term {
            Regularizer::Entropy(options) if (options.from..options.until).contains(&iteration) => options.weight,
            _ => 0.0,
        })
        .sum();
    u.flags |= if schedule::density_at(profile, iteration) {
        flags::DENSITY
    } else {
        0
    };
    u.dropout = dropout(profile, iteration);
    if let Some(rate) = pose_rate(profile, at, events.adam_skip_mask) {
        (u.pose_rate, u.pose_extent) = (rate, extent);
        u.flags |= flags::POSES;
    }
    if profile.model.background == Background::Random {
        let color = random_background(u.seed, iteration);
        u.background[..3].copy_from_slice(&color);
    }
    [u.beta1, u.beta2] = AdamOptions::BETAS;
    u.epsilon = AdamOptions::EPSILON;
    set_rates(&mut u, profile, lengths, steps);
    u
}

/// Sets the learning rates of `u`'s iteration; `steps` already counts this step.
pub(super) fn set_rates(u: &mut StepUniforms, profile: &Profile, lengths: Lengths, steps: &GroupSteps) {
    let Lengths { extent, rate_unit } = lengths;
    let Optimizer::AdamFused(adam) = &profile.optimizer;
    let iteration = u.iteration;
    let means_rate = schedule::means_lr(profile, iteration, rate_unit);
    // A covariance has the square of the unit of length: as if the scene's extent were 1.
    #[expect(clippy::cast_possible_truncation, reason = "rates fit f32")]
    let noise = (profile.strategy.noise() * means_rate / f64::from(extent).powi(2)) as f32;
    u.noise = noise;
    u.sh_steps = steps
        .sh()
        .saturating_sub(u32::from(u.adam_skip_mask & group::SH_REST == 0));
    let share = schedule::others_share(profile, iteration);
    let rates = [
        (Group::Means, means_rate),
        (Group::Quats, share * f64::from(adam.lr.quats)),
        (Group::Scales, share * f64::from(adam.lr.scales)),
        (Group::Opacity, share * f64::from(adam.lr.opacity)),
        (Group::Sh0, share * f64::from(adam.lr.sh0)),
        (Group::ShRest, share * f64::from(adam.lr.sh_rest)),
    ];
    for (group, rate) in rates {
        let index = group as usize;
        let n = f64::from(steps.0.get(index).copied().unwrap_or(0).max(1));
        let [first, second] = AdamOptions::BETAS.map(|beta| 1.0 - f64::from(beta).powf(n));
        #[expect(clippy::cast_possible_truncation, reason = "rates fit f32")]
        if let (Some(r), Some(s)) = (u.adam_rate.get_mut(index), u.adam_scale.get_mut(index)) {
            *r = (rate / first) as f32;
            *s = (1.0 / second.sqrt()) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_config::{Inputs, Override, resolve};

    fn at(recipe: &str, settings: &[(&str, &str)], iteration: u32) -> StepUniforms {
        let set = |(key, value): &(&str, &str)| Override {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
            flag: "--set".to_owned(),
        };
        let inputs = Inputs {
            recipe: Some(recipe.to_owned()),
            overrides: settings.iter().map(set).collect(),
            ..Inputs::default()
        };
        let profile = resolve(&inputs).unwrap();
        let camera = Camera {
            width_px: 64,
            height_px: 48,
            fx: 60.0,
            fy: 60.0,
            cx: 32.0,
            cy: 24.0,
            rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            translation: [0.0; 3],
            lens: None,
        };
        let events = schedule::events_at(&profile, iteration);
        let lengths = Lengths {
            extent: 4.0,
            rate_unit: 4.0,
        };
        train(&profile, &camera, iteration, lengths, &events, &GroupSteps::default())
    }

    #[test]
    fn switches_are_off_or_what_was_asked_for() {
        for recipe in ["default", "mip", "quality", "mcmc"] {
            let u = at(recipe, &[], 15_000);
            assert_eq!(
                (u.dropout, u.exposure_hold, u.normals_weight, u.flat_weight),
                (0.0, 0.0, 0.0, 0.0),
                "{recipe}"
            );
            assert_eq!((u.pose_rate, u.flags & flags::POSES), (0.0, 0), "{recipe}");
        }
        let dropout = [0, 7500, 30_000].map(|i| at("mcmc", &[("train.dropout", "0.2")], i).dropout);
        assert_eq!(dropout, [0.0, 0.05, 0.2]);
        // In extents of the scene, which is 4 here.
        let surface = [1, 6999, 7000, 30_000].map(|i| at("surface", &[], i));
        assert!(surface.iter().all(|u| u.flat_weight == 2.5));
        assert_eq!(surface.map(|u| u.normals_weight), [0.0, 0.0, 0.05, 0.05]);
        // The last step moves nothing, and is drawn from where the camera was moved to.
        let poses = [0, 1, 600, 30_000].map(|i| at("default", &[("train.refine_poses", "{ lr: 0.01 }")], i));
        assert_eq!(poses.map(|u| u.pose_rate > 0.0), [true, true, false, false]);
        assert!(
            poses
                .iter()
                .all(|u| u.flags & flags::POSES != 0 && u.pose_extent == 4.0)
        );
        let colors = [0, 30_000].map(|i| at("default", &[("train.photo_colors", "on")], i));
        let [first, last] = colors.map(|u| (u.camera_position[3], u.exposure_hold));
        assert_eq!((first, last), ((0.01, 2.0), (0.001, 2.0)));
    }
}
