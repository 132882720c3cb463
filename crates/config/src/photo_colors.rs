//! `train.photo_colors`: whether photos have colours of their own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::profile::Profile;
use crate::plugins::Checker;
use kiln_kernels::fading::Progress;
use kiln_kernels::uniforms::StepUniforms;

/// Whether each training photo has colours of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PhotoColors {
    /// Where the photos' colours at shared points differ; a run keeps what its start decided.
    #[default]
    Auto,
    /// Learnt.
    On,
    /// As they are.
    Off,
}

impl PhotoColors {
    /// Adam's learning rates of the maps at the first iteration and at the last, log-linear between.
    pub const RATES: [f32; 2] = [0.01, 0.001];
    /// Weight of half a map's squared distance from doing nothing. Measured: docs/notebook/quality.md.
    pub const HOLD: f32 = 2.0;
}

/// What photo colours do not go together with.
pub(super) fn check_together(profile: &Profile, c: &mut Checker) {
    let is_on = profile.train.photo_colors == PhotoColors::On;
    c.within("train", |c| {
        c.require("photo_colors", !(is_on && profile.is_triangles()), "on", || {
            "auto or off, because `model.kind` is triangles".to_owned()
        });
    });
}

impl Profile {
    /// True when photos have colours of their own: evaluations then also measure views after a fit of their colours, because plain figures
    /// alone say little.
    #[must_use]
    pub fn learns_photo_colors(&self) -> bool {
        self.train.photo_colors == PhotoColors::On
    }

    /// True when the photos say whether they have colours of their own. Triangles, Gaussians on a mesh and the stages of SuGaR go without
    /// them unless they are set.
    #[must_use]
    pub fn photo_colors_are_open(&self) -> bool {
        let open = self.train.photo_colors == PhotoColors::Auto;
        open && !(self.is_triangles() || self.is_bound() || self.sugar.is_some())
    }

    /// Sets what is of photo colours in the uniforms of a step.
    pub fn set_photo_colors(&self, uniforms: &mut StepUniforms, at: Progress) {
        if self.learns_photo_colors() {
            uniforms.camera_position[3] = at.falling(PhotoColors::RATES);
            uniforms.exposure_hold = PhotoColors::HOLD;
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::{Inputs, Override, resolve};

    fn with(settings: &[(&str, &str)]) -> Result<Profile, crate::ConfigError> {
        let set = |(key, value): &(&str, &str)| Override::new(key, (*value).to_owned(), "--set");
        resolve(&Inputs {
            overrides: settings.iter().map(set).collect(),
            ..Inputs::default()
        })
    }

    #[test]
    fn photos_decide_unless_it_is_set() {
        let default = with(&[]).unwrap();
        assert!(default.photo_colors_are_open() && !default.learns_photo_colors());
        let on = with(&[("train.photo_colors", "on")]).unwrap();
        assert!(!on.photo_colors_are_open() && on.learns_photo_colors());
        let off = with(&[("train.photo_colors", "off")]).unwrap();
        assert!(!off.photo_colors_are_open() && !off.learns_photo_colors());
        let bound = resolve(&Inputs {
            recipe: Some("bound".to_owned()),
            overrides: vec![Override::new("init", "{ kind: mesh, path: a.ply }".to_owned(), "--set")],
            ..Inputs::default()
        });
        assert!(!bound.unwrap().photo_colors_are_open());
    }

    #[test]
    fn the_loss_of_old_names_the_key() {
        let error = with(&[("losses", "[{ kind: l1 }, { kind: exposure }]")]).unwrap_err();
        assert!(error.to_string().contains("exposure"), "{error}");
        let hint = format!("{error} {:?}", error.hint());
        assert!(hint.contains("train.photo_colors"), "{hint}");
    }

    #[test]
    fn triangles_go_without() {
        let triangles = |settings: &[(&str, &str)]| {
            let set = |(key, value): &(&str, &str)| Override::new(key, (*value).to_owned(), "--set");
            resolve(&Inputs {
                recipe: Some("meshsplatting".to_owned()),
                overrides: settings.iter().map(set).collect(),
                ..Inputs::default()
            })
        };
        assert!(!triangles(&[]).unwrap().photo_colors_are_open());
        let refused = triangles(&[("train.photo_colors", "on")]).unwrap_err().to_string();
        assert!(refused.contains("train.photo_colors"), "{refused}");
    }

    #[test]
    fn rates_fall() {
        let profile = with(&[("train.photo_colors", "on")]).unwrap();
        let mut u = StepUniforms::default();
        let iterations = 100;
        for (iteration, rate) in [(0, 0.01), (100, 0.001)] {
            profile.set_photo_colors(&mut u, Progress { iteration, iterations });
            assert!((u.camera_position[3] - rate).abs() < 1e-6 && u.exposure_hold >= 2.0);
        }
    }
}
