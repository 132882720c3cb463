//! Pure functions of the iteration number: learning rates, events, image scale.
//!
//! Iterations count from 1 to `schedule.iterations`. Rules follow 3D Gaussian Splatting (Kerbl et al. 2023) and
//! Mip-Splatting (Yu et al. 2024).

use crate::step::Terms;
use kiln_config::plugins::{AdamOptions, DensityOptions, DensityVariant, Init, Needs, Optimizer, Sink};
use kiln_config::{Background, Profile};
use kiln_gaussians::bound::Binding;

/// Parameter groups of the optimiser, as bits of [`Events::adam_skip_mask`].
pub mod group {
    /// Centres.
    pub const MEANS: u32 = 1;
    /// Rotations.
    pub const QUATS: u32 = 1 << 1;
    /// Log scales.
    pub const SCALES: u32 = 1 << 2;
    /// Opacity logits.
    pub const OPACITY: u32 = 1 << 3;
    /// Degree-0 colour.
    pub const SH0: u32 = 1 << 4;
    /// Higher colour degrees.
    pub const SH_REST: u32 = 1 << 5;
    /// All of them.
    pub const ALL: u32 = (1 << 6) - 1;
}

/// What happens at one iteration, besides the step itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// Densification statistics are accumulated.
    pub statistics: bool,
    /// Clone, split, prune.
    pub densify: bool,
    /// World-size (and screen-size) pruning applies at this densification.
    pub prune_large: bool,
    /// Opacities are reset.
    pub reset: bool,
    /// Gaussians go by what the training cameras say of them, before what is densified.
    pub cull: bool,
    /// What is faint goes, before the first iteration with terms of the density.
    pub prune: bool,
    /// Neighbours are found anew, after all that changes who is where.
    pub neighbors: bool,
    /// The 3D filter is recomputed after the update.
    pub filter: bool,
    /// Parameters are counted into histograms, for sinks that show them.
    pub histograms: bool,
    /// Groups the optimiser leaves alone: moments, step counts and values ([`group`]).
    pub adam_skip_mask: u32,
}

/// Active SH degree: 0 at first, one more at every multiple of `schedule.sh_every`, at most `model.sh_degree`; all of it where the
/// first model is a trained one, and one from the start where it is a mesh.
#[must_use]
pub fn sh_degree_at(profile: &Profile, iteration: u32) -> u32 {
    let first = match profile.init {
        Init::Model(_) => return profile.model.sh_degree,
        // As SuGaR refines.
        Init::Mesh(_) => 1,
        _ => 0,
    };
    (first + iteration / profile.schedule.sh_every.max(1)).min(profile.model.sh_degree)
}

/// Share of the stored SH coefficients that take part in the step of `iteration`.
pub(crate) fn sh_share_at(profile: &Profile, iteration: u32) -> f64 {
    let coefficients = |degree: u32| f64::from((degree + 1) * (degree + 1));
    coefficients(sh_degree_at(profile, iteration)) / coefficients(profile.model.sh_degree)
}

/// What is left of the learning rates that cool down, after the last step.
const COOLED_TO: f64 = 0.1;

/// True when the step of an iteration has terms of the density.
#[must_use]
pub fn density_at(profile: &Profile, iteration: u32) -> bool {
    profile.density().is_some_and(|options| {
        iteration >= options.from && (iteration - options.from).is_multiple_of(options.every.max(1))
    })
}

/// True when Gaussians that are too faint for the terms of the density go after an iteration: once, before the first with them.
#[must_use]
pub fn is_prune(profile: &Profile, iteration: u32) -> bool {
    let first = |options: &DensityOptions| options.prune > 0.0 && iteration > 0 && iteration + 1 == options.from;
    profile.density().is_some_and(first) && iteration < profile.schedule.iterations
}

/// True when the neighbours of Gaussians are known after an iteration and what follows it.
#[must_use]
pub(crate) fn knows_neighbors(profile: &Profile, iteration: u32) -> bool {
    let from = profile.density().map(|options| options.from);
    from.is_some_and(|from| iteration + 1 >= from && iteration < profile.schedule.iterations)
}

/// True when neighbours are found anew after an iteration: before the first that has terms of the density, then at multiples of
/// `rebuild` and whenever Gaussians came, went or were sorted. Iteration 0 is the start of the run.
#[must_use]
pub fn is_rebuild(profile: &Profile, iteration: u32) -> bool {
    profile.density().is_some_and(|options| {
        let first = iteration + 1 == options.from;
        let moved = is_densify(profile, iteration) || is_cull(profile, iteration);
        let regular = iteration.is_multiple_of(options.rebuild.max(1));
        iteration < profile.schedule.iterations && (first || iteration >= options.from && (moved || regular))
    })
}

/// What the loss of a step looks at: surfaces too from the iteration that one of the losses of planes names, and where distances
/// from them are a term.
#[must_use]
pub fn terms_at(profile: &Profile, iteration: u32) -> Terms {
    let of_distances = |options: &DensityOptions| options.variant == DensityVariant::Sdf;
    if any_at(profile, iteration, |needs| needs.surface.is_some() && !needs.neighbour)
        || density_at(profile, iteration) && profile.density().is_some_and(of_distances)
    {
        Terms::Surface
    } else {
        Terms::Image
    }
}

/// True when the loss of a step looks at a neighbouring view too, where the view has one.
#[must_use]
pub fn pairs_at(profile: &Profile, iteration: u32) -> bool {
    any_at(profile, iteration, |needs| needs.neighbour)
}

/// True when the step of an iteration has a loss with such needs.
fn any_at(profile: &Profile, iteration: u32, of: impl Fn(Needs) -> bool) -> bool {
    let mut losses = profile.losses.iter();
    losses.any(|loss| of(loss.needs()) && loss.is_on() && iteration >= loss.first())
}

/// Length that learning rates of positions are in, world units: the extent of the scene, or for the vertices of a mesh ten radii over
/// the root of their number, as SuGaR has it.
#[must_use]
pub fn rate_unit(profile: &Profile, extent: f32, bound: Option<&Binding>) -> f64 {
    let Some(binding) = bound else {
        return extent.into();
    };
    let units = profile.bound().units;
    let radius = f64::from(units.radius.unwrap_or(extent));
    let vertices = units.vertices.unwrap_or(binding.vertices).max(1);
    10.0 * radius / f64::from(vertices).sqrt()
}

/// Learning rate of the centres: log-linear from `means` to `means_end`, times the unit of length, see [`rate_unit`].
#[must_use]
pub fn means_lr(profile: &Profile, iteration: u32, unit: f64) -> f64 {
    let lr = &adam(profile).lr;
    let steps = lr.means_decay_steps.unwrap_or(profile.schedule.iterations).max(1);
    let t = (f64::from(iteration) / f64::from(steps)).min(1.0);
    unit * (lr.means.ln() * (1.0 - t) + lr.means_end.ln() * t).exp()
}

/// Share of the other learning rates that is left: 1, and in the last part of the run, `cooldown` of it, log-linear from 1 to
/// a tenth.
#[must_use]
pub fn others_share(profile: &Profile, iteration: u32) -> f64 {
    let lr = &adam(profile).lr;
    let end = f64::from(profile.schedule.iterations);
    let (part, left) = (lr.cooldown * end, (end - f64::from(iteration)).max(0.0));
    if left >= part {
        return 1.0;
    }
    COOLED_TO.powf(1.0 - left / part)
}

/// True when clones, splits and prunes happen: multiples of `every` above `from` and below `until`, but never after the last
/// iteration, whose model is measured and saved as it was trained.
#[must_use]
pub fn is_densify(profile: &Profile, iteration: u32) -> bool {
    let window = profile.strategy.window();
    window.is_some_and(|window| window.has(iteration, profile.schedule.iterations))
}

/// True when Gaussians are culled after an iteration: at multiples of `cull.every`. At the last iteration they are before its
/// evaluation, which is not the schedule's business.
#[must_use]
pub fn is_cull(profile: &Profile, iteration: u32) -> bool {
    let every = profile.cull.map_or(0, |cull| cull.every);
    let due = every > 0 && iteration > 0 && iteration.is_multiple_of(every);
    due && iteration < profile.schedule.iterations
}

/// True when opacities are reset: multiples of `every` below `until` and before the last iteration, and on a white background once more when
/// densification starts.
#[must_use]
pub fn is_reset(profile: &Profile, iteration: u32) -> bool {
    profile.strategy.adaptive().is_some_and(|adaptive| {
        let Some(every) = adaptive.reset.every else {
            return false;
        };
        let white_start = profile.model.background == Background::White && iteration == adaptive.densify.from;
        iteration > 0
            && iteration < adaptive.reset.until.min(profile.schedule.iterations)
            && (iteration.is_multiple_of(every.max(1)) || white_start)
    })
}

/// True when the 3D filter is recomputed after an iteration: after every densification, and as often when these are over, until
/// as many steps before the end; every 100 steps under a strategy without any. It is also computed before the first iteration and when the
/// image size changes, which is not an iteration's business. A resumed run takes it from the checkpoint: recomputing it
/// from centres that have moved since would make the pause visible.
#[must_use]
pub fn is_filter(profile: &Profile, iteration: u32) -> bool {
    let (from, every) = match profile.strategy.window() {
        Some(window) => (window.until, window.every),
        None => (0, 100),
    };
    let end = profile.schedule.iterations.saturating_sub(every);
    let regular = iteration > from && iteration < end && iteration.is_multiple_of(every);
    profile.has_filter_3d() && (regular || is_densify(profile, iteration))
}

/// True when a sink wants histograms of the parameters after an iteration. Evaluations bring their own.
#[must_use]
pub fn is_histogram(profile: &Profile, iteration: u32) -> bool {
    let wanted = |every: u32| iteration > 0 && iteration.is_multiple_of(every);
    profile.sinks.iter().filter_map(Sink::histogram_every).any(wanted)
}

/// Groups without an optimiser step: all at a densification and at the last iteration (the model that is saved is the
/// one that was rendered), opacity at a reset.
#[must_use]
pub fn adam_skip_mask(profile: &Profile, iteration: u32) -> u32 {
    if is_densify(profile, iteration) || iteration >= profile.schedule.iterations {
        group::ALL
    } else if is_reset(profile, iteration) {
        group::OPACITY
    } else {
        0
    }
}

/// Everything that happens at an iteration.
#[must_use]
pub fn events_at(profile: &Profile, iteration: u32) -> Events {
    let (adaptive, error_guided) = (profile.strategy.adaptive(), profile.strategy.error_guided());
    let densify = is_densify(profile, iteration);
    Events {
        statistics: adaptive
            .map(|adaptive| adaptive.densify.until)
            .is_some_and(|until| iteration < until)
            || error_guided.is_some_and(|error_guided| iteration < error_guided.densify.until),
        densify,
        prune_large: densify
            && adaptive
                .and_then(|adaptive| adaptive.reset.every)
                .is_some_and(|every| iteration > every),
        reset: is_reset(profile, iteration),
        cull: is_cull(profile, iteration),
        prune: is_prune(profile, iteration),
        neighbors: is_rebuild(profile, iteration),
        filter: is_filter(profile, iteration),
        histograms: is_histogram(profile, iteration),
        adam_skip_mask: adam_skip_mask(profile, iteration),
    }
}

/// Scale of the training images' sides: the phase of `schedule.resolution`.
#[must_use]
pub fn resolution_scale_at(profile: &Profile, iteration: u32) -> f32 {
    let phase = profile
        .schedule
        .resolution
        .iter()
        .find(|phase| iteration <= phase.until);
    phase.map_or(1.0, |phase| phase.scale)
}

fn adam(profile: &Profile) -> &AdamOptions {
    let Optimizer::AdamFused(adam) = &profile.optimizer;
    adam
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_config::{Inputs, Override, resolve};

    fn recipe(name: &str, sets: &[(&str, &str)]) -> Profile {
        let overrides = sets
            .iter()
            .map(|(key, value)| Override {
                key: (*key).to_owned(),
                value: (*value).to_owned(),
                flag: "--set".to_owned(),
            })
            .collect();
        resolve(&Inputs {
            recipe: Some(name.to_owned()),
            overrides,
            ..Inputs::default()
        })
        .unwrap()
    }

    fn iterations(profile: &Profile, test: impl Fn(&Profile, u32) -> bool) -> Vec<u32> {
        (1..=profile.schedule.iterations)
            .filter(|iteration| test(profile, *iteration))
            .collect()
    }

    #[test]
    fn full_run_has_144_densifications_and_four_resets() {
        for name in ["mip", "default"] {
            let profile = recipe(name, &[]);
            let densify = iterations(&profile, is_densify);
            assert_eq!((densify.len(), densify[0], densify[143]), (144, 600, 14_900));
            assert_eq!(iterations(&profile, is_reset), [3000, 6000, 9000, 12_000]);
            let large = iterations(&profile, |p, i| events_at(p, i).prune_large);
            assert_eq!((large.len(), large[0]), (119, 3100));
            let statistics = iterations(&profile, |p, i| events_at(p, i).statistics);
            assert_eq!((statistics.len(), statistics.last()), (14_999, Some(&14_999)));
        }
    }

    #[test]
    fn culls_go_on_after_densification_and_end_before_the_last_iteration() {
        assert!(iterations(&recipe("default", &[]), is_cull).is_empty());
        let profile = recipe("default", &[("cull.every", "1000")]);
        let culls = iterations(&profile, is_cull);
        assert_eq!((culls.len(), culls[0], culls[28]), (29, 1000, 29_000));
        let last = recipe("default", &[("cull", "floaters")]);
        assert!(iterations(&last, is_cull).is_empty());
    }

    #[test]
    fn truncation_keeps_the_window_and_shortens_the_decay() {
        let profile = recipe("default", &[("schedule.iterations", "7000")]);
        let densify = iterations(&profile, is_densify);
        // The last iteration's model is measured as it was trained: no densification, and no reset either.
        assert_eq!((densify.len(), densify.last()), (64, Some(&6900)));
        assert_eq!(iterations(&profile, is_reset), [3000, 6000]);
        assert!(iterations(&recipe("default", &[("schedule.iterations", "3000")]), is_reset).is_empty());
        assert!((means_lr(&profile, 7000, 1.0) / 1.6e-6 - 1.0).abs() < 1e-12);
        let fixed = recipe(
            "default",
            &[
                ("schedule.iterations", "7000"),
                ("optimizer.lr.means_decay_steps", "30000"),
            ],
        );
        assert!((means_lr(&fixed, 7000, 1.0) / 5.463_278_2e-5 - 1.0).abs() < 1e-7);
    }

    #[test]
    fn means_rate_matches_known_values() {
        let profile = recipe("mip", &[]);
        for (iteration, expected) in [
            (0, 1.6e-4),
            (1000, 1.372_313_4e-4),
            (7000, 5.463_278_2e-5),
            (15_000, 1.6e-5),
            (30_000, 1.6e-6),
        ] {
            let lr = means_lr(&profile, iteration, 1.0);
            assert!((lr / expected - 1.0).abs() < 1e-7, "{iteration}: {lr}");
            assert!((means_lr(&profile, iteration, 2.5) / lr - 2.5).abs() < 1e-12);
        }
    }

    #[test]
    fn vertices_step_in_radii_over_the_root_of_their_number() {
        let binding = Binding {
            per_triangle: 6,
            vertices: 400,
            triangles: 796,
            inner_edges: 1194,
            normal_consistency: 0.1,
        };
        let bound = |sets: &[(&str, &str)]| {
            let profile = recipe("bound", sets);
            [rate_unit(&profile, 3.0, Some(&binding)), rate_unit(&profile, 3.0, None)]
        };
        assert_eq!(bound(&[]), [1.5, 3.0]);
        assert_eq!(bound(&[("bound.units", "{ radius: 8, vertices: 1600 }")]), [2.0, 3.0]);
        // The decay goes on over 30 000 steps, however few there are.
        let short = recipe("bound", &[("schedule.iterations", "2000")]);
        assert!((means_lr(&short, 15_000, 1.0) / 1.6e-5 - 1.0).abs() < 1e-7);
    }

    #[test]
    fn other_rates_stay_or_cool_down_in_the_last_part() {
        let shares = |sets: &[(&str, &str)]| {
            let profile = recipe("mip", sets);
            [0, 15_000, 24_000, 27_000, 30_000, 40_000].map(|iteration| others_share(&profile, iteration))
        };
        assert_eq!(shares(&[]), [1.0; 6]);
        let fifth = shares(&[("optimizer.lr.cooldown", "0.2")]);
        let whole = shares(&[("optimizer.lr.cooldown", "1")]);
        let [half, middle, late] = [0.5, 0.8, 0.9].map(|gone| 0.1_f64.powf(gone));
        for (found, wanted) in [
            (fifth, [1.0, 1.0, 1.0, half, 0.1, 0.1]),
            (whole, [1.0, half, middle, late, 0.1, 0.1]),
        ] {
            for (found, wanted) in found.into_iter().zip(wanted) {
                assert!((found - wanted).abs() < 1e-12, "{found}, not {wanted}");
            }
        }
    }

    #[test]
    fn strategies_have_windows_of_their_own() {
        let mcmc = recipe("mcmc", &[]);
        let events = iterations(&mcmc, is_densify);
        assert_eq!((events.len(), events[0], events.last()), (244, 600, Some(&24_900)));
        assert!(iterations(&mcmc, |p, i| is_reset(p, i) || events_at(p, i).statistics).is_empty());
        let quality = recipe("quality", &[]);
        let events = iterations(&quality, is_densify);
        assert_eq!((events[0], events.last()), (600, Some(&14_900)));
        assert_eq!(
            iterations(&quality, |p, i| events_at(p, i).statistics).last(),
            Some(&14_999)
        );
        let fast = recipe("fast", &[]);
        assert_eq!(fast.schedule.iterations, 10_000);
        assert_eq!(
            [1, 1000, 1001, 3000, 3001, 10_000].map(|i| resolution_scale_at(&fast, i)),
            [0.25, 0.25, 0.5, 0.5, 1.0, 1.0]
        );
    }

    #[test]
    fn surfaces_are_looked_at_from_their_iteration_on() {
        let profile = recipe("surface", &[]);
        let with = iterations(&profile, |p, i| terms_at(p, i) == Terms::Surface);
        assert_eq!((with.len(), with[0]), (23_001, 7000));
        for (name, sets) in [("mip", &[][..]), ("surface", &[("losses.2.weight", "0")])] {
            assert!(iterations(&recipe(name, sets), |p, i| terms_at(p, i) == Terms::Surface).is_empty());
        }
        let early = recipe("surface", &[("losses.2.from", "0")]);
        assert_eq!(terms_at(&early, 1), Terms::Surface);
    }

    #[test]
    fn neighbours_are_looked_at_from_their_iteration_on() {
        let none = recipe("surface", &[]);
        assert!(iterations(&none, pairs_at).is_empty());
        let losses = "[{ kind: l1 }, { kind: normals }, { kind: neighbour, from: 9000 }]";
        let with = iterations(&recipe("surface", &[("losses", losses)]), pairs_at);
        assert_eq!((with.len(), with[0]), (21_001, 9000));
        let off = "[{ kind: l1 }, { kind: neighbour, geometry: 0, photometric: 0 }]";
        assert!(iterations(&recipe("surface", &[("losses", off)]), pairs_at).is_empty());
    }

    #[test]
    fn sh_degree_rises_at_multiples() {
        let profile = recipe("mip", &[]);
        for (iteration, degree) in [(1, 0), (999, 0), (1000, 1), (2999, 2), (3000, 3), (30_000, 3)] {
            assert_eq!(sh_degree_at(&profile, iteration), degree, "{iteration}");
        }
        assert_eq!(sh_degree_at(&recipe("mip", &[("model.sh_degree", "1")]), 5000), 1);
        let going_on = recipe("default", &[("init", "{ kind: model, path: a.ply }")]);
        assert_eq!(sh_degree_at(&going_on, 1), 3);
        let bound = recipe("bound", &[("init", "{ kind: mesh, path: a.ply }")]);
        assert_eq!(
            [1, 999, 1000, 2000, 9000].map(|i| sh_degree_at(&bound, i)),
            [1, 1, 2, 3, 3]
        );
    }

    #[test]
    fn filter_follows_densification_then_every_hundred() {
        let profile = recipe("mip", &[]);
        let filter = iterations(&profile, is_filter);
        let late: Vec<u32> = filter.iter().copied().filter(|i| *i > 15_000).collect();
        assert_eq!(filter.len() - late.len(), 144);
        assert_eq!((late[0], late[late.len() - 1], late.len()), (15_100, 29_800, 148));
        assert!(iterations(&recipe("mip", &[("mip.filter_3d", "false")]), is_filter).is_empty());
    }

    #[test]
    fn optimiser_skips() {
        let profile = recipe("mip", &[]);
        for (iteration, mask) in [
            (599, 0),
            (600, group::ALL),
            (3000, group::ALL),
            (15_000, 0),
            (29_999, 0),
            (30_000, group::ALL),
        ] {
            assert_eq!(adam_skip_mask(&profile, iteration), mask, "{iteration}");
        }
        let odd = recipe(
            "mip",
            &[("strategy.reset.every", "3050"), ("strategy.densify.every", "100")],
        );
        assert_eq!(adam_skip_mask(&odd, 3050), group::OPACITY);
    }

    #[test]
    fn white_background_resets_when_densification_starts() {
        let profile = recipe("mip", &[("model.background", "white")]);
        assert_eq!(iterations(&profile, is_reset), [500, 3000, 6000, 9000, 12_000]);
    }

    #[test]
    fn fixed_strategy_and_demo() {
        let fixed = recipe("mip", &[("strategy.kind", "fixed")]);
        assert!(
            iterations(&fixed, |p, i| is_densify(p, i)
                || is_reset(p, i)
                || events_at(p, i).statistics)
            .is_empty()
        );
        let demo = recipe("demo", &[]);
        let densify = iterations(&demo, is_densify);
        assert_eq!((densify.len(), densify[0], densify.last()), (17, 150, Some(&950)));
        assert!(iterations(&demo, is_reset).is_empty());
        assert_eq!(
            [1, 500, 501, 1500].map(|i| resolution_scale_at(&demo, i)),
            [0.5, 0.5, 1.0, 1.0]
        );
        assert!((means_lr(&demo, 1500, 1.0) / 1.6e-6 - 1.0).abs() < 1e-12);
    }
}
