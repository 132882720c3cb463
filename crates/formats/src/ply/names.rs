//! Property names of a Gaussian in PLY files.
//!
//! Owns the names, their order when written, and the order of higher SH coefficients: files are channel-major (all
//! red coefficients, then green, then blue) where the engine is coefficient-major.

use crate::rest_count;

/// Centre.
pub const POSITION: [&str; 3] = ["x", "y", "z"];
/// Always written as 0: some readers count on them.
pub const NORMAL: [&str; 3] = ["nx", "ny", "nz"];
/// Degree-0 colour.
pub const SH0: [&str; 3] = ["f_dc_0", "f_dc_1", "f_dc_2"];
/// Higher coefficients are this and a number.
pub const SH_REST_PREFIX: &str = "f_rest_";
/// Opacity before the sigmoid.
pub const OPACITY: &str = "opacity";
/// Logarithms of the standard deviations.
pub const SCALE: [&str; 3] = ["scale_0", "scale_1", "scale_2"];
/// Rotation (w, x, y, z).
pub const ROTATION: [&str; 4] = ["rot_0", "rot_1", "rot_2", "rot_3"];
/// Standard deviation of the 3D smoothing filter.
pub const FILTER_3D: &str = "filter_3D";

/// Names in the order they are written.
#[must_use]
pub fn written(sh_degree: u32, filter: bool) -> Vec<String> {
    let rest = rest_values(sh_degree);
    let fixed = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let mut names = fixed(&[POSITION, NORMAL, SH0].concat());
    names.extend((0..rest).map(|index| format!("{SH_REST_PREFIX}{index}")));
    names.push(OPACITY.to_owned());
    names.extend(fixed(&SCALE));
    names.extend(fixed(&ROTATION));
    names.extend(filter.then(|| FILTER_3D.to_owned()));
    names
}

/// `f_rest` values a Gaussian has at a degree: 0, 9, 24 or 45.
#[must_use]
pub const fn rest_values(sh_degree: u32) -> usize {
    3 * rest_count(sh_degree)
}

/// The degree of a number of `f_rest` values, `None` when it belongs to none of 0..=3.
#[must_use]
pub fn degree_of_rest_values(values: usize) -> Option<u32> {
    (0..=3).find(|&degree| rest_values(degree) == values)
}

/// Where file value `index` of `f_rest` lives among the engine's values of one Gaussian.
#[must_use]
pub const fn rest_slot(index: usize, rest_coefficients: usize) -> usize {
    let (channel, coefficient) = (index / rest_coefficients, index % rest_coefficients);
    3 * coefficient + channel
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fill_the_usual_bytes() {
        assert_eq!(written(3, false).len() * 4, 248);
        assert_eq!(written(3, true).len() * 4, 252);
        assert_eq!(written(0, true).last().map(String::as_str), Some("filter_3D"));
        assert_eq!(written(1, false)[9..11], ["f_rest_0", "f_rest_1"]);
        assert_eq!(
            [0, 9, 24, 45].map(degree_of_rest_values),
            [Some(0), Some(1), Some(2), Some(3)]
        );
        assert_eq!(degree_of_rest_values(72), None);
    }

    #[test]
    fn file_order_is_channel_major() {
        let slots: Vec<usize> = (0..9).map(|index| rest_slot(index, 3)).collect();
        assert_eq!(slots, [0, 3, 6, 1, 4, 7, 2, 5, 8]);
    }
}
