//! What densification remembers of each Gaussian between two events.

use super::project::Visible;
use super::project_backward::mean_ndc_norm;
use super::rasterize_backward::Gradient2d;
use kiln_scene::math::Real;

/// Sums since the last event.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics<R> {
    /// Lengths of the centre's gradient in normalised device coordinates.
    pub gradient_sum: R,
    /// The same without cancellation between pixels, see [`Gradient2d::abs_ndc`].
    pub abs_sum: R,
    /// Steps in which the Gaussian had a radius on screen, visible or not.
    pub count: u32,
}

impl<R: Real> Statistics<R> {
    /// Mean gradient length and mean abs statistic; 0 for a Gaussian never seen.
    #[must_use]
    pub fn means(&self) -> (R, R) {
        if self.count == 0 {
            return (R::ZERO, R::ZERO);
        }
        let n = R::of(f64::from(self.count));
        (self.gradient_sum / n, self.abs_sum / n)
    }
}

/// Adds one step: `shown` says which Gaussians of the model have a radius on screen
/// ([`shown_radius`](super::project::shown_radius)), `gradients` has one record per visible Gaussian, `statistics` one entry per
/// Gaussian of the model.
pub fn accumulate<R: Real>(
    size_px: [u32; 2],
    shown: &[bool],
    visible: &[Visible<R>],
    gradients: &[Gradient2d<R>],
    statistics: &mut [Statistics<R>],
) {
    for (entry, &is_shown) in statistics.iter_mut().zip(shown) {
        entry.count += u32::from(is_shown);
    }
    for (record, gradient) in visible.iter().zip(gradients) {
        let entry = &mut statistics[record.id as usize];
        entry.gradient_sum += mean_ndc_norm(size_px, gradient);
        entry.abs_sum += gradient.abs_ndc;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::TileRect;

    #[test]
    fn sums_are_in_device_coordinates_and_only_for_the_visible() {
        let record = Visible {
            id: 1,
            mean_px: [0.0; 2],
            depth: 1.0,
            conic: [1.0, 0.0, 1.0],
            opacity: 0.5,
            rgb: [0.0; 3],
            clamped: [false; 3],
            radius_px: 6.0,
            rect: TileRect::default(),
            n_tiles: 1,
        };
        let gradient = Gradient2d {
            mean_px: [0.03_f64, 0.08],
            abs_ndc: 9.0,
            ..Gradient2d::ZERO
        };
        let mut statistics = [Statistics::default(); 3];
        for _ in 0..2 {
            let shown = [false, true, true];
            accumulate([200, 100], &shown, &[record], &[gradient], &mut statistics);
        }
        // (0.03 * 100, 0.08 * 50) = (3, 4).
        let wanted = Statistics {
            gradient_sum: 10.0,
            abs_sum: 18.0,
            count: 2,
        };
        // The third was on screen, too faint for any pixel: its means are over these steps too.
        let faint = Statistics {
            count: 2,
            ..Statistics::default()
        };
        assert_eq!(statistics, [Statistics::default(), wanted, faint]);
        assert_eq!(statistics[1].means(), (5.0, 9.0));
        assert_eq!(statistics[0].means(), (0.0, 0.0));
    }
}
