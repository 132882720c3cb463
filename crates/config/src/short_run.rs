//! Runs that `--iterations` makes so short that the recipe's schedule would hardly begin: the schedule is scaled to them.
//!
//! A run of 300 steps under a recipe whose densification begins at 500 never gets more Gaussians than it began with, and its rates
//! hardly fall. Such a run is what `--steps-scaler` would make of the recipe. Keys that people set keep their values, and where one of
//! them holds step numbers nothing is scaled.

use super::layers::{Inputs, Override};
use super::profile::{ModelKind, Profile};
use super::rules::scale_steps;

/// The key that makes a run short, and the flag by which it does; `--set` takes it as it is.
const ITERATIONS: &str = "schedule.iterations";
const AS_IT_IS: &str = "--set";
/// Runs of fewer steps try the machinery: no densification would have time to show in their pictures.
const LEAST: u32 = 250;
/// A run is short that has less than this share of the recipe's densifications, one in so many.
const SHARE: u32 = 10;
/// Sections and keys with step numbers.
const WITH_STEPS: [&str; 10] = [
    "schedule.sh_every",
    "schedule.resolution",
    "strategy",
    "losses",
    "regularizers",
    "sugar",
    "mesh_splatting",
    "cull",
    "optimizer",
    "schedule",
];
/// Keys with step numbers of the run as it is asked for: they stand beside `--iterations`.
const OF_THE_RUN: [&str; 4] = [
    "schedule.test",
    "schedule.save",
    "schedule.checkpoint",
    "bound.iterations",
];

/// A run that is shorter than its recipe's schedule needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShortRun {
    /// Iterations of the run.
    pub iterations: u32,
    /// Those of its recipe.
    pub recipe: u32,
    /// The recipe's first densification.
    pub first: u32,
    /// The schedule is scaled to it.
    pub is_scaled: bool,
}

impl ShortRun {
    /// The run of `profile` with all its layers, whose recipe alone has so many iterations; none where it is long enough, or a file
    /// of settings says how it is to be.
    pub(super) fn of(profile: &Profile, recipe: u32, inputs: &Inputs) -> Option<Self> {
        let asked = inputs.overrides.iter().rfind(|set| set.key == ITERATIONS)?;
        let iterations = profile.schedule.iterations;
        if inputs.file.is_some() || inputs.steps_scaler.is_some() || iterations >= recipe {
            return None;
        }
        let [first, until, every] = events(profile)?;
        let number = |end: u32| end.min(until).saturating_sub(first) / every.max(1);
        if number(iterations).saturating_mul(SHARE) >= number(recipe) {
            return None;
        }
        let holds_steps = |set: &Override| {
            let is_below = |section: &&str| set.key == **section || set.key.starts_with(&format!("{section}."));
            WITH_STEPS.iter().any(is_below) && !of_the_run(&set.key)
        };
        let by_hand = asked.flag == AS_IT_IS || inputs.overrides.iter().any(holds_steps);
        Some(Self {
            iterations,
            recipe,
            first,
            is_scaled: iterations >= LEAST && !by_hand,
        })
    }

    /// The factor of `--steps-scaler` that makes the recipe as long as the run.
    fn factor(&self) -> f64 {
        f64::from(self.iterations) / f64::from(self.recipe.max(1))
    }

    /// Scales what is the recipe's own.
    pub(super) fn scale(&self, profile: &mut Profile, inputs: &Inputs) {
        let before = profile.clone();
        scale_steps(profile, self.factor());
        profile.schedule.iterations = self.iterations;
        let is_set = |key: &str| inputs.overrides.iter().any(|set| set.key == key);
        let (schedule, old) = (&mut profile.schedule, before.schedule);
        for (key, list, old) in [
            ("schedule.test", &mut schedule.test, old.test),
            ("schedule.save", &mut schedule.save, old.save),
            ("schedule.checkpoint", &mut schedule.checkpoint, old.checkpoint),
        ] {
            if is_set(key) {
                *list = old;
            }
        }
        if let (Some(bound), Some(old), true) = (&mut profile.bound, before.bound, is_set("bound.iterations")) {
            bound.iterations = old.iterations;
        }
    }
}

/// True for what is said of the run, not of the recipe's schedule.
fn of_the_run(key: &str) -> bool {
    let others = [
        ITERATIONS,
        "schedule.checkpoint_minutes",
        "schedule.live_seconds",
        "sugar.from",
        "sugar.stages",
        "cull.kind",
        "mesh_splatting.scene",
    ];
    OF_THE_RUN.iter().chain(&others).any(|known| *known == key)
        || key.starts_with("optimizer.lr.") && !key.ends_with("_steps")
}

/// First and last iteration at which models grow, and how far apart.
fn events(profile: &Profile) -> Option<[u32; 3]> {
    if profile.model.kind == ModelKind::Triangles {
        return Some(profile.mesh_splatting().events());
    }
    profile.strategy.clone().window_mut().map(|window| window.map(|at| *at))
}

impl std::fmt::Display for ShortRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            iterations,
            recipe,
            first,
            is_scaled,
        } = self;
        // Few digits that still round to the iterations asked for.
        let digits = (3..9).find(|digits| {
            let rounded: f64 = format!("{:.digits$}", self.factor()).parse().unwrap_or_default();
            (rounded * f64::from(*recipe)).round() == f64::from(*iterations)
        });
        let factor = format!("{:.*}", digits.unwrap_or(9), self.factor());
        let factor = factor.trim_end_matches('0');
        if *is_scaled {
            return write!(
                f,
                "schedule scaled from {recipe} to {iterations} iterations, as `--steps-scaler {factor}` does: unscaled it would hardly begin (first \
                 densification {first}); `--set schedule.iterations={iterations}` cuts it off instead"
            );
        }
        write!(
            f,
            "{iterations} iterations are short of a schedule made for {recipe}, whose first densification is at {first}: the model hardly \
             grows; `--steps-scaler {factor}` in the place of the number of iterations scales the schedule"
        )
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::super::{Facts, resolve, short_run};
    use super::*;

    fn inputs(recipe: &str, flags: &[(&str, &str, &str)]) -> Inputs {
        let overrides = flags.iter().map(|(flag, key, value)| Override {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
            flag: (*flag).to_owned(),
        });
        Inputs {
            recipe: Some(recipe.to_owned()),
            overrides: overrides.collect(),
            ..Inputs::default()
        }
    }

    fn short(recipe: &str, iterations: &str) -> Inputs {
        inputs(recipe, &[("--iterations", ITERATIONS, iterations)])
    }

    #[test]
    fn a_short_run_is_what_the_scaler_makes() {
        for (recipe, iterations, factor) in [
            ("default", "300", 0.01),
            ("mip", "1500", 0.05),
            ("sugar", "300", 0.02),
            ("meshsplatting", "600", 0.02),
            ("mcmc", "500", 500.0 / 30_000.0),
        ] {
            let scaled = Inputs {
                steps_scaler: Some(factor),
                ..inputs(recipe, &[])
            };
            assert_eq!(
                resolve(&short(recipe, iterations)).unwrap(),
                resolve(&scaled).unwrap(),
                "{recipe}"
            );
        }
    }

    #[test]
    fn what_is_asked_for_by_number_stays() {
        let asked = inputs(
            "default",
            &[
                ("--iterations", ITERATIONS, "300"),
                ("--test-iterations", "schedule.test", "[100]"),
                ("--seed", "train.seed", "3"),
            ],
        );
        let profile = resolve(&asked).unwrap();
        assert_eq!(profile.schedule.test, [100, 300]);
        assert_eq!(profile.schedule.save, [70, 300]);
        assert_eq!(events(&profile), Some([5, 150, 10]));
    }

    #[test]
    fn long_runs_trials_and_explicit_schedules_are_left_alone() {
        let untouched = |asked: &Inputs| events(&resolve(asked).unwrap()) == Some([500, 15_000, 100]);
        for iterations in ["7000", "2000", "30000", "40000", "249", "2"] {
            assert!(untouched(&short("default", iterations)), "{iterations}");
        }
        assert!(!untouched(&short("default", "1900")) && !untouched(&short("default", "250")));
        let by_set = inputs("default", &[("--set", ITERATIONS, "300")]);
        let other = |key, value| inputs("default", &[("--iterations", ITERATIONS, "300"), ("--set", key, value)]);
        let sh = other("schedule.sh_every", "50");
        let strategy = other("strategy.prune.opacity", "0.01");
        for asked in [by_set, sh, strategy] {
            assert!(untouched(&asked));
            let reported = short_run(&asked, &Facts::default()).unwrap().unwrap();
            assert!(
                !reported.is_scaled && reported.to_string().contains("`--steps-scaler 0.01`"),
                "{reported}"
            );
        }
        let mut of_file = short("default", "300");
        of_file.file = Some("run/config.resolved.yaml".into());
        let profile = resolve(&short("default", "7000")).unwrap();
        assert_eq!(ShortRun::of(&profile, 30_000, &of_file), None);
    }

    #[test]
    fn one_line_says_so() {
        let reported = |iterations| {
            let few = Facts {
                photos: 46,
                points: 100,
                iterations: 500,
                ..Facts::default()
            };
            short_run(&short("default", iterations), &few)
                .unwrap()
                .map(|reported| reported.to_string())
        };
        assert_eq!(
            reported("500").unwrap(),
            "schedule scaled from 30000 to 500 iterations, as `--steps-scaler 0.01667` does: unscaled it would hardly begin (first \
             densification 500); `--set schedule.iterations=500` cuts it off instead"
        );
        assert!(
            reported("50")
                .unwrap()
                .ends_with("`--steps-scaler 0.00167` in the place of the number of iterations scales the schedule")
        );
        assert_eq!(reported("7000"), None);
    }
}
