//! `train.photo_colors`: whether photos have colours of their own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
