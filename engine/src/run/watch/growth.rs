//! Growth where there should be none: after the last densification the number of Gaussians may not rise.

use super::{Context, Watch};
use crate::run::RunError;
use crate::train::StepStatus;
use kiln_config::Profile;

/// Watches the number of Gaussians from step to step.
#[derive(Clone, Debug)]
pub(super) struct Growth {
    /// Iteration of the last densification; from the step after it the number stands.
    last_densify: u32,
    /// The number as of the first step after it, and then the smallest one.
    settled: Option<u32>,
}

impl Growth {
    pub(crate) fn new(profile: &Profile) -> Self {
        let window = profile.strategy.window();
        let last = window.and_then(|window| window.last(profile.schedule.iterations));
        // Connecting the surface is what changes triangles last.
        let last = profile.triangle_schedule().map_or(last, |s| Some(s.connected_after()));
        Self {
            last_densify: last.unwrap_or(0),
            settled: None,
        }
    }

    /// Takes the number of Gaussians in the status word of a step.
    ///
    /// # Errors
    /// [`RunError::Grew`] when there are more than there were: a defect of the engine that would otherwise fill the
    /// memory.
    fn check(&mut self, iteration: u32, gaussians: u32) -> Result<(), RunError> {
        if iteration <= self.last_densify {
            return Ok(());
        }
        match self.settled {
            Some(settled) if gaussians > settled => Err(RunError::Grew {
                iteration,
                last_densify: self.last_densify,
                before: settled,
                after: gaussians,
            }),
            _ => {
                self.settled = Some(gaussians);
                Ok(())
            }
        }
    }
}

impl Watch for Growth {
    fn step(&mut self, step: &StepStatus, _: &mut Context<'_>) -> Result<(), RunError> {
        self.check(step.iteration, step.counters.gaussians)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_config::{Inputs, Override, resolve};

    fn profile(sets: &[(&str, &str)]) -> Profile {
        let overrides = sets.iter().map(|(key, value)| Override {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
            flag: "--set".to_owned(),
        });
        resolve(&Inputs {
            overrides: overrides.collect(),
            ..Inputs::default()
        })
        .unwrap()
    }

    #[test]
    fn growth_after_the_last_densification_is_an_error() {
        let profile = profile(&[(
            "strategy.densify",
            "{ from: 500, until: 15000, every: 100, grad_threshold: 0.0002 }",
        )]);
        let mut growth = Growth::new(&profile);
        // The word of step 14 900 was written before its densification; the one of 14 901 shows the result.
        for (iteration, gaussians) in [(14_800, 5), (14_900, 9), (14_901, 20), (14_902, 20), (29_000, 19)] {
            growth.check(iteration, gaussians).unwrap();
        }
        let error = growth.check(29_001, 20).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the model grew from 19 to 20 Gaussians at iteration 29001, after its last densification at 14900; this is a \
             defect of kiln, please report it"
        );
    }

    #[test]
    fn a_strategy_that_never_densifies_never_grows() {
        let mut growth = Growth::new(&profile(&[("strategy.kind", "fixed")]));
        growth.check(1, 7).unwrap();
        assert!(growth.check(2, 8).is_err());
    }

    #[test]
    fn a_short_run_may_grow_to_its_end() {
        let mut growth = Growth::new(&profile(&[("schedule.iterations", "1000")]));
        for iteration in 1..=1000 {
            // Densified after 600, 700, 800 and 900.
            growth
                .check(iteration, 10 + (iteration.saturating_sub(1)) / 100)
                .unwrap();
        }
    }
}
