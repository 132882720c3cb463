//! The loss `normal_map`, of maps beside the photos.

use super::{Maps, Needs, Term};
use crate::kernels::fading::FadingWeight;
use crate::plugins::family::options;

options! {
    /// Options of `normal_map`.
    NormalMapOptions {
        /// Weight in the sum at the first iteration; 0 to 10.
        weight: f32 = 0.5, in 0.0..=10.0;
        /// And at the last, log-linear between; 0.000001 to 10.
        weight_end: f32 = 0.05, in 1e-6..=10.0;
        /// First iteration that has the term; 0 to 10 000 000. The steps before it cost what they cost without it.
        from: u32 = 500, in 0..=10_000_000;
    }
}

impl Term for NormalMapOptions {
    fn weight(&self) -> f32 {
        self.weight
    }

    fn first_mut(&mut self) -> Option<&mut u32> {
        Some(&mut self.from)
    }

    fn needs(&self) -> Needs {
        Needs {
            maps: Some(Maps::Normals),
            ..Needs::PLANES
        }
    }
}

impl NormalMapOptions {
    /// Its weight over a run.
    #[must_use]
    pub fn fading(&self, iterations: u32) -> FadingWeight {
        FadingWeight::over(iterations, [self.weight, self.weight_end], self.from)
    }
}
