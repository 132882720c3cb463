//! Numbers in few bits, and what centres span.

use kiln_formats::sog::Splats;

/// Smallest and largest coordinates of the centres.
pub(super) fn bounds(splats: &dyn Splats) -> [[f32; 3]; 2] {
    let mut bounds = [[f32::INFINITY; 3], [f32::NEG_INFINITY; 3]];
    for index in 0..splats.len() {
        for (axis, value) in splats.mean(index).into_iter().enumerate() {
            bounds[0][axis] = bounds[0][axis].min(value);
            bounds[1][axis] = bounds[1][axis].max(value);
        }
    }
    bounds
}

/// `share` (0 to 1) of the largest number of `bits` bits, rounded; what lies outside becomes an end, NaN becomes 0.
pub(super) fn unorm(share: f64, bits: u32) -> u32 {
    let most = f64::from((1_u32 << bits) - 1);
    (share.clamp(0.0, 1.0) * most).round() as u32
}

/// `value` rounded to a byte; what lies outside becomes an end, NaN becomes 0.
pub(super) fn byte(value: f64) -> u8 {
    value.round().clamp(0.0, 255.0) as u8
}

/// A unit quaternion as the place of its largest component and the three others in order, with the sign that makes the
/// largest positive. The others lie between -1/sqrt 2 and 1/sqrt 2.
pub(super) fn smallest_three(quat: [f32; 4]) -> (u32, [f64; 3]) {
    let mut largest = 0;
    for place in 1..4 {
        if quat[place].abs() > quat[largest].abs() {
            largest = place;
        }
    }
    let sign = if quat[largest] < 0.0 { -1.0 } else { 1.0 };
    let mut others = [0.0; 3];
    let rest = (0..4).filter(|&place| place != largest);
    for (other, place) in others.iter_mut().zip(rest) {
        *other = sign * f64::from(quat[place]);
    }
    (largest as u32, others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_and_middles() {
        assert_eq!(
            [0.0, 1.0, -3.0, 9.0, f64::NAN].map(|v| unorm(v, 10)),
            [0, 1023, 0, 1023, 0]
        );
        assert_eq!(unorm(0.5, 11), 1024);
        assert_eq!([0.49, 0.5, -7.0, 254.6, 1e9].map(byte), [0, 1, 0, 255, 255]);
    }

    #[test]
    fn the_largest_component_is_left_out_and_positive() {
        assert_eq!(
            smallest_three([0.1, -0.9, 0.3, 0.2]),
            (1, [0.1, 0.3, 0.2].map(|v: f32| -f64::from(v)))
        );
        assert_eq!(smallest_three([0.5; 4]), (0, [0.5; 3]));
    }
}
