//! The speed of a device that no table knows, CPU drivers among them: one made-up view is timed on it.
//!
//! What the step's two halves take there, over what the model of [`super::rate`] says that they take on the card it was made from, is
//! how much slower the device is. That it is slower in everything alike is an assumption: figures are good to a factor of two.

use std::sync::Arc;
use std::time::Instant;

use super::cards::Card;
use super::rate::view_milliseconds;
use super::sample_view::{Sample, SampleView};
use super::{PlanError, PlanError::Memory};
use kiln_gpu::vk::Device;
use kiln_kernels::views::Variants;

/// Runs timed; the best counts. One more before them makes the driver compile its code.
const RUNS: u32 = 2;

impl Card {
    /// The device, as fast as it was in one view; none where that does not fit. Takes a second or two on a CPU driver, milliseconds
    /// on a card.
    ///
    /// # Errors
    /// [`PlanError`] when the device is lost.
    pub fn measured(device: &Arc<Device>, variants: &Variants) -> Result<Option<Self>, PlanError> {
        let mut view = match SampleView::new(device, Sample::MEDIUM, variants) {
            Ok(view) => view,
            Err(Memory(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let program = view.compile(variants, false)?;
        let mut best = f64::INFINITY;
        for run in 0..=RUNS {
            let since = Instant::now();
            if view.run(&program)? == 0 {
                return Ok(None);
            }
            if run > 0 {
                best = best.min(1e3 * since.elapsed().as_secs_f64());
            }
        }
        let [gaussians, visible, intersections, pixels] = view.load()?;
        let reference = Self::REFERENCE;
        let modelled = view_milliseconds(&reference, gaussians, visible, intersections, pixels);
        Ok(Some(reference.slower(best / modelled)))
    }

    /// The same, so many times as slow.
    fn slower(self, times: f64) -> Self {
        let times = times.max(1e-3);
        Self {
            name: "this device, by a timed view",
            gb_per_s: self.gb_per_s / times,
            tflops: self.tflops / times,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_takes_as_long_as_it_took_where_it_was_timed() {
        let view = |card: &Card| view_milliseconds(card, 1e4, 8e3, 6e4, 8e4);
        let reference = Card::REFERENCE;
        let slow = reference.slower(700.0);
        assert!((view(&slow) / (700.0 * view(&reference)) - 1.0).abs() < 1e-9);
        assert_eq!(Card::named("NVIDIA H200"), Some(reference));
    }
}
