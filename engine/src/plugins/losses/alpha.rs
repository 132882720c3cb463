//! The loss `alpha`.

use super::{Needs, Term};
use crate::kernels::fading::Progress;
use crate::kernels::uniforms::{StepUniforms, flags};
use crate::plugins::family::options;

options! {
    /// Options of `alpha`.
    AlphaOptions {
        /// Weight in the sum; 0 to 10.
        weight: f32 = 0.1, in 0.0..=10.0;
    }
}

impl Term for AlphaOptions {
    fn weight(&self) -> f32 {
        self.weight
    }

    fn needs(&self) -> Needs {
        Needs {
            masks: true,
            fourth_channel: true,
            ..Needs::NOTHING
        }
    }

    fn set(&self, uniforms: &mut StepUniforms, _at: Progress) {
        uniforms.weights[3] = self.weight;
        if self.is_on() {
            uniforms.flags |= flags::ALPHA_GRADIENT;
        }
    }
}
