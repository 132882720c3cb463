//! Loss of coverage and its gradient with respect to the final transmittance.

use kiln_scene::math::Real;

/// `weight * mean |(1 - T) - mask|`, and its derivative by each `T`; where both agree exactly it is 0.
#[must_use]
pub fn alpha_loss<R: Real>(transmittance: &[R], mask: &[R], weight: R) -> (R, Vec<R>) {
    let share = weight / R::of(transmittance.len() as f64);
    let mut sum = R::ZERO;
    let gradient = transmittance
        .iter()
        .zip(mask)
        .map(|(&t, &m)| {
            let difference = (R::ONE - t) - m;
            sum += difference.abs();
            if difference > R::ZERO {
                -share
            } else if difference < R::ZERO {
                share
            } else {
                R::ZERO
            }
        })
        .collect();
    (share * sum, gradient)
}

#[cfg(test)]
mod tests {
    use super::super::rasterize::{TileLists, rasterize};
    use super::super::rasterize_backward::{ImageGradients, rasterize_backward_of};
    use super::*;
    use crate::project::{TileRect, Visible};

    #[test]
    fn the_gradient_matches_differences_and_points_towards_the_mask() {
        let mask = [1.0, 0.0, 1.0, 0.0];
        let mut t = [0.9_f64, 0.3, 0.0, 1.0];
        let (loss, exact) = alpha_loss(&t, &mask, 0.5);
        assert!((loss - 0.5 * (0.9 + 0.7) / 4.0).abs() < 1e-12);
        assert!(exact[0] > 0.0 && exact[1] < 0.0, "less goes through where something is");
        assert_eq!(exact[2..], [0.0, 0.0]);
        for i in 0..2 {
            let kept = t[i];
            let mut at = |value| {
                t[i] = value;
                alpha_loss(&t, &mask, 0.5).0
            };
            let numeric = (at(kept + 1e-6) - at(kept - 1e-6)) / 2e-6;
            at(kept);
            assert!((numeric - exact[i]).abs() < 1e-9, "{i}");
        }
    }

    /// One pixel behind two splats, over a background; the derivative of `a T + g . rgb` by the opacities.
    #[test]
    fn coverage_reaches_the_opacities() {
        let splats = |opacities: [f64; 2]| -> Vec<Visible<f64>> {
            let splat = |(id, opacity): (u32, f64)| Visible {
                id,
                mean_px: [0.3, 0.1],
                depth: 1.0,
                conic: [0.1, 0.02, 0.2],
                opacity,
                rgb: [0.2 + f64::from(id), 0.5, 0.1],
                clamped: [false; 3],
                radius_px: 10.0,
                rect: TileRect {
                    min: [0, 0],
                    max: [1, 1],
                },
                n_tiles: 1,
            };
            (0..).zip(opacities).map(splat).collect()
        };
        let lists = TileLists {
            ranges: vec![[0, 2]],
            visible: vec![0, 1],
        };
        let (background, g, a) = ([0.3, 0.6, 0.9], [0.7, -0.2, 0.4], -1.3);
        let value = |opacities| {
            let raster = rasterize([1, 1], &splats(opacities), &lists, background);
            a * raster.transmittance[0] + (0..3).map(|c| g[c] * raster.rgb[0][c]).sum::<f64>()
        };
        let opacities = [0.6, 0.4];
        let raster = rasterize([1, 1], &splats(opacities), &lists, background);
        let gradients = ImageGradients {
            rgb: &[g],
            transmittance: Some(&[a]),
            surface: None,
        };
        let found = rasterize_backward_of([1, 1], &splats(opacities), &lists, background, &raster, &gradients);
        for i in 0..2 {
            let moved = |by: f64| {
                let mut moved = opacities;
                moved[i] += by;
                value(moved)
            };
            let numeric = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            assert!(
                (numeric - found[i].opacity).abs() < 1e-8,
                "{i}: {numeric} {}",
                found[i].opacity
            );
        }
    }
}
