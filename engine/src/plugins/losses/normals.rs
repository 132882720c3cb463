//! The loss `normals`.

use super::{Needs, Term};
use crate::kernels::fading::Progress;
use crate::kernels::uniforms::StepUniforms;
use crate::plugins::family::options;

options! {
    /// Options of `normals`.
    NormalsOptions {
        /// Weight in the sum; 0 to 10.
        weight: f32 = 0.05, in 0.0..=10.0;
        /// First iteration that has the term; 0 to 10 000 000. The steps before it cost what they cost without it.
        from: u32 = 7000, in 0..=10_000_000;
    }
}

impl Term for NormalsOptions {
    fn weight(&self) -> f32 {
        self.weight
    }

    fn first_mut(&mut self) -> Option<&mut u32> {
        Some(&mut self.from)
    }

    fn needs(&self) -> Needs {
        Needs::PLANES
    }

    fn compares_normals(&self) -> bool {
        true
    }

    fn set(&self, uniforms: &mut StepUniforms, at: Progress) {
        if at.iteration >= self.from {
            uniforms.normals_weight = self.weight;
        }
    }
}
