//! The loss `neighbour`, PGSR's.

use super::{Needs, Other, Term};
use crate::plugins::family::options;

options! {
    /// Options of `neighbour`.
    NeighbourOptions {
        /// Weight of the mean distance that points are off after going to the neighbour's depth and back, per pixel; 0 to 10.
        geometry: f32 = 0.03, in 0.0..=10.0;
        /// Weight of the mean of 1 - NCC over patches; 0 to 10.
        photometric: f32 = 0.15, in 0.0..=10.0;
        /// First iteration that has the term; 0 to 10 000 000. The steps before it cost what they cost without it.
        from: u32 = 7000, in 0..=10_000_000;
    }
}

impl Term for NeighbourOptions {
    fn weight(&self) -> f32 {
        self.geometry + self.photometric
    }

    fn first_mut(&mut self) -> Option<&mut u32> {
        Some(&mut self.from)
    }

    fn needs(&self) -> Needs {
        Needs {
            neighbour: true,
            ..Needs::PLANES
        }
    }

    fn refuses(&self) -> &'static [(Other, &'static str)] {
        &[
            (Other::RefinedPoses, "its gradient reaches planes, not cameras"),
            (Other::Density, "that one lays Gaussians on surfaces in its own way"),
        ]
    }
}
