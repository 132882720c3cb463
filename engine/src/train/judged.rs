//! How far training photos that are left out of training have judged the growth of a model.

use serde::{Deserialize, Serialize};

/// What the next judgement goes by; in checkpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judged {
    /// PSNR of the photos at the last judgement, dB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) psnr: Option<f64>,
    /// No judgement follows, and all photos are trained.
    #[serde(default)]
    pub(crate) over: bool,
    /// The first iteration whose densification adds no Gaussians.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) births_end: Option<u32>,
}

impl Judged {
    /// True where nothing has been judged.
    pub(super) fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// True when the densification after `iteration` must not add Gaussians.
    pub(crate) fn ends_births(&self, iteration: u32) -> bool {
        self.births_end.is_some_and(|end| end <= iteration)
    }
}
