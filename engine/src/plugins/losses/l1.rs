//! The loss `l1`.

use super::Term;
use crate::kernels::fading::Progress;
use crate::kernels::uniforms::StepUniforms;
use crate::plugins::family::options;

options! {
    /// Options of `l1`.
    L1Options {
        /// Weight in the sum; 0 to 10.
        weight: f32 = 0.8, in 0.0..=10.0;
    }
}

impl Term for L1Options {
    fn weight(&self) -> f32 {
        self.weight
    }

    fn set(&self, uniforms: &mut StepUniforms, _at: Progress) {
        uniforms.weights[0] = self.weight;
    }
}
