//! Counts of all Gaussians by opacity, scale, length of the quaternion and distance.

use super::gaussian::Gaussian;
use kiln_kernels::histogram::{BINS, Quantity};
use kiln_scene::math::{Real, sigmoid};

/// The values of one Gaussian that a quantity counts.
#[must_use]
pub fn values(gaussian: &Gaussian<f32>, quantity: Quantity) -> Vec<f32> {
    let length = |v: &[f32]| v.iter().map(|x| x * x).sum::<f32>().sqrt();
    match quantity {
        Quantity::Opacity => vec![sigmoid(gaussian.logit_opacity)],
        Quantity::Scale => gaussian.log_scale.map(Real::exp).to_vec(),
        Quantity::Rotation => vec![length(&gaussian.quat)],
        Quantity::Distance => vec![length(&gaussian.mean)],
    }
}

/// The bin of a value that is not negative; none for what is not a number.
#[must_use]
pub fn bin(quantity: Quantity, value: f32) -> Option<usize> {
    if value.is_nan() {
        return None;
    }
    let at = match quantity.leading_bits() {
        None => (value * BINS as f32) as usize,
        Some((shift, least)) => (value.to_bits() >> shift).saturating_sub(least) as usize,
    };
    Some(at.min(BINS - 1))
}

/// The counts of all quantities.
#[must_use]
pub fn histogram(gaussians: &[Gaussian<f32>]) -> [[u32; BINS]; 4] {
    let mut counts = [[0; BINS]; 4];
    for gaussian in gaussians {
        for (quantity, counts) in Quantity::ALL.into_iter().zip(&mut counts) {
            for at in values(gaussian, quantity).into_iter().filter_map(|v| bin(quantity, v)) {
                counts[at] += 1;
            }
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn values_fall_between_the_edges_of_their_bin() {
        for quantity in Quantity::ALL {
            let edges = quantity.edges();
            for at in 0..BINS {
                let (low, high) = (edges[at] as f32, edges[at + 1] as f32);
                for value in [low, 0.5 * (low + high), high.next_down()] {
                    assert_eq!(bin(quantity, value), Some(at), "{quantity:?} {value}");
                }
            }
            assert_eq!(bin(quantity, 0.0), Some(0));
            assert_eq!(bin(quantity, f32::INFINITY), Some(BINS - 1));
            assert_eq!(bin(quantity, f32::NAN), None);
        }
    }

    #[test]
    fn every_gaussian_is_counted_once_and_thrice_by_scale() {
        let mut gaussian = Gaussian::<f32>::ZERO;
        gaussian.quat = [1.0, 0.0, 0.0, 0.0];
        gaussian.mean = [3.0, 0.0, 4.0];
        gaussian.log_scale = [0.0, 0.0, f32::NAN];
        let counts = histogram(&[gaussian; 5]);
        assert_eq!(counts.map(|c| c.iter().sum::<u32>()), [5, 10, 5, 5]);
        let at = |q: Quantity, v: f64| q.edges().iter().position(|edge| *edge > v).unwrap() - 1;
        assert_eq!(counts[0][32], 5);
        assert_eq!(counts[1][at(Quantity::Scale, 1.0)], 10);
        assert_eq!(counts[2][at(Quantity::Rotation, 1.0)], 5);
        assert_eq!(counts[3][at(Quantity::Distance, 5.0)], 5);
    }
}
