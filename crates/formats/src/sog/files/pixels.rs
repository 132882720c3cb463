//! Values of a Gaussian as bytes of pixels; [`images`](crate::sog::images) reads them back.

use std::f64::consts::FRAC_1_SQRT_2;

use crate::sog::images::LARGEST_W;

/// A coordinate as it is spread: fine near the origin, coarse far out.
pub(crate) fn to_log(value: f64) -> f64 {
    value.signum() * libm::log1p(value.abs())
}

/// A share from 0 to 1 in steps.
pub(crate) fn step(share: f64, steps: f64) -> f64 {
    // what is no number becomes 0
    (share * steps).round().max(0.0).min(steps)
}

/// A unit quaternion (w, x, y, z): the three smallest components and which the largest is.
pub(crate) fn rotation(quat: [f32; 4]) -> [u8; 4] {
    let mut largest = 0;
    for place in 1..4 {
        if quat[place].abs() > quat[largest].abs() {
            largest = place;
        }
    }
    let sign = if quat[largest] < 0.0 { -1.0 } else { 1.0 };
    let mut pixel = [0, 0, 0, LARGEST_W + largest as u8];
    for (byte, place) in pixel.iter_mut().zip((0..4).filter(|&place| place != largest)) {
        let share = sign * f64::from(quat[place]) * FRAC_1_SQRT_2 + 0.5;
        *byte = step(share, 255.0) as u8;
    }
    pixel
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::sog::images::{from_log, quaternion};

    #[test]
    fn rotations_turn_up_again() {
        for quat in [
            [1.0, 0.0, 0.0, 0.0],
            [0.0, -1.0, 0.0, 0.0],
            [0.5, -0.5, 0.5, 0.5],
            [0.1, 0.7, -0.1, 0.7],
        ] {
            let back = quaternion(rotation(quat)).unwrap();
            let dot: f32 = quat.iter().zip(back).map(|(a, b)| a * b).sum();
            assert!(dot.abs() > 0.99995, "{quat:?} {back:?}");
        }
        assert_eq!(rotation([0.0, -1.0, 0.0, 0.0]), [128, 128, 128, 253]);
        assert_eq!(quaternion([0, 0, 0, 251]), None);
    }

    #[test]
    fn coordinates_spread_and_come_back() {
        for value in [-1e6, -2.0, 0.0, 1e-9, 0.25, 4e3] {
            assert!((from_log(to_log(value)) - value).abs() <= 1e-12 * f64::abs(value));
        }
        assert_eq!(
            [-1.0, f64::NAN, 0.5, 9.0].map(|share| step(share, 255.0)),
            [0.0, 0.0, 128.0, 255.0]
        );
    }
}
