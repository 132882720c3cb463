//! Weights of losses that fade during a run.

use serde::{Deserialize, Serialize};

/// Weight of a loss: `start * exp(decay * iteration)`, and 0 before `from`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FadingWeight {
    /// At iteration 0.
    pub start: f32,
    /// Logarithm of the factor of a step.
    pub decay: f32,
    /// First step with a weight: steps before it may look at surfaces for another loss.
    #[serde(default)]
    pub from: u32,
}

/// Weights come from checked settings: none is NaN.
impl Eq for FadingWeight {}
