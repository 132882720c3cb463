//! The loss `dssim`.

use super::Term;
use crate::kernels::fading::Progress;
use crate::kernels::uniforms::StepUniforms;
use crate::plugins::family::options;

options! {
    /// Options of `dssim`.
    DssimOptions {
        /// Weight in the sum; 0 to 10.
        weight: f32 = 0.2, in 0.0..=10.0;
    }
}

impl Term for DssimOptions {
    fn weight(&self) -> f32 {
        self.weight
    }

    fn set(&self, uniforms: &mut StepUniforms, _at: Progress) {
        uniforms.weights[1] = self.weight;
    }
}
