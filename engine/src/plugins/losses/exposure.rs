//! `exposure`, each photo's own map of colours.

use super::{Needs, Term};
use crate::kernels::fading::Progress;
use crate::kernels::uniforms::StepUniforms;
use crate::plugins::family::options;

options! {
    /// Options of `exposure`.
    ExposureOptions {
        /// Adam's learning rate of the maps at the first iteration; above 0, at most 1.
        lr: f32 = 0.01;
        /// And at the last, log-linear between; above 0, at most 1.
        lr_end: f32 = 0.001;
        /// Weight of half a map's squared distance from doing nothing; 0 to 10. The mean of all maps is held there without it.
        hold: f32 = 2.0, in 0.0..=10.0;
    } also |own, c| {
        c.positive("lr", own.lr.into(), 1.0);
        c.positive("lr_end", own.lr_end.into(), 1.0);
    }
}

impl Term for ExposureOptions {
    fn weight(&self) -> f32 {
        0.0
    }

    fn is_on(&self) -> bool {
        true
    }

    fn needs(&self) -> Needs {
        Needs {
            own_colors: true,
            ..Needs::NOTHING
        }
    }

    fn set(&self, uniforms: &mut StepUniforms, at: Progress) {
        uniforms.camera_position[3] = at.falling([self.lr, self.lr_end]);
        uniforms.exposure_hold = self.hold;
    }
}
