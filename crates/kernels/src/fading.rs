//! Weights of losses that fade during a run.

use kiln_scene::math::Real;

/// Weight of a loss: `start * exp(decay * iteration)`, and 0 before `from`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FadingWeight {
    /// At iteration 0.
    pub start: f32,
    /// Logarithm of the factor of a step.
    pub decay: f32,
    /// First step with a weight: steps before it may look at surfaces for another loss.
    pub from: u32,
}

/// Weights come from checked settings: none is NaN.
impl Eq for FadingWeight {}

impl FadingWeight {
    /// One that falls from the first of `ends` to the second over the run, and is 0 before `from`.
    #[must_use]
    pub fn over(iterations: u32, [start, end]: [f32; 2], from: u32) -> Self {
        Self {
            start,
            decay: Real::ln(end / start) / iterations.max(1) as f32,
            from,
        }
    }
}

/// Where a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Iteration of the step.
    pub iteration: u32,
    /// Iterations of the run.
    pub iterations: u32,
}

impl Progress {
    /// Log-linear from one value to another over the run.
    #[must_use]
    pub fn falling(self, [from, to]: [f32; 2]) -> f32 {
        let share = f64::from(self.iteration) / f64::from(self.iterations.max(1));
        let value = f64::from(from).powf(1.0 - share.min(1.0)) * f64::from(to).powf(share.min(1.0));
        #[expect(clippy::cast_possible_truncation, reason = "between two f32")]
        let value = value as f32;
        value
    }
}
