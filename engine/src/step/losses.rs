//! The losses of a step: the photometric one that every run has, and those that a profile adds.
//!
//! What a profile does not ask for has no tensor and no pass here.

use serde::{Deserialize, Serialize};

use super::{Capacities, StepTensors};
use crate::kernels::views::Pixels;
use crate::kernels::{alpha_loss, loss};
use crate::memory::{Program, Tag, View};

/// Losses that need tensors of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExtraLosses {
    /// Coverage against the mask; photos then carry one.
    pub alpha: bool,
}

/// Their tensors.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExtraTensors {
    /// Sums of coverage differences per tile.
    pub alpha_sums: Option<View>,
}

impl ExtraTensors {
    /// Names them; `arena` adds so many elements of so many bytes.
    pub(super) fn new(arena: &mut impl FnMut(&str, Tag, u64, u64) -> View, c: &Capacities) -> Self {
        let tiles = alpha_loss::sums_bytes(c.max_tiles);
        Self {
            alpha_sums: c.losses.alpha.then(|| arena("alpha_sums", Tag::Pixels, 1, tiles)),
        }
    }
}

/// Appends all losses and the image gradient; `pixels` has the image and its ground truth.
pub(super) fn record(program: &mut Program, t: &StepTensors, pixels: &Pixels) {
    loss::record(program, &t.shared, pixels, t.loss_sums, t.ssim_maps, &t.variants);
    if let Some(sums) = t.extra.alpha_sums {
        alpha_loss::record(program, &t.shared, pixels, sums);
    }
}
