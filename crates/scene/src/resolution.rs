//! The size images are trained at.
//!
//! The rule is that of the reference 3DGS trainers, to the pixel, so that figures can be compared: powers of two
//! divide and round half to even; "auto" and target widths take the floor of a double-precision quotient (which may
//! end one pixel short of the width asked for, there as here).

use super::SceneError;

/// Widest image "auto" leaves alone, pixels.
const AUTO_WIDTH_PX: f64 = 1600.0;
/// Largest side any image may have, pixels; also the largest a JPEG can have.
pub(crate) const MAX_SIDE_PX: u32 = 65_535;
/// Sides of a picture, in those of what it is a copy of, at most: models are made from photos of an eighth of the side.
pub(crate) const MOST_ENLARGED: u64 = 16;

/// Narrowest width that may be asked for, pixels: a number below it was meant as a divisor.
pub(super) const MIN_WIDTH_PX: i64 = 16;

/// How image sizes follow from the sizes of the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resolution {
    /// The file's size, or 1600 pixels wide when the file is wider.
    #[default]
    Auto,
    /// The file's size divided by this power of two.
    Divide(u32),
    /// Scaled to this width in pixels.
    Width(u32),
}

impl Resolution {
    /// Reads the conventional number: -1, a divisor among 1, 2, 4, 8, 16, 32, 64, or a width in pixels.
    ///
    /// # Errors
    /// [`SceneError::Resolution`] for 0, other negative numbers, and widths below 16 or beyond 65 535.
    pub fn from_number(number: i64) -> Result<Self, SceneError> {
        match u32::try_from(number) {
            Err(_) if number == -1 => Ok(Self::Auto),
            Ok(divisor @ (1 | 2 | 4 | 8 | 16 | 32 | 64)) => Ok(Self::Divide(divisor)),
            Ok(width) if number >= MIN_WIDTH_PX && width <= MAX_SIDE_PX => Ok(Self::Width(width)),
            _ => Err(SceneError::Resolution(number)),
        }
    }

    /// Training size in pixels of a file of `width` x `height`, further divided by `scale`; never below 1x1.
    #[must_use]
    pub fn apply(self, width: u32, height: u32, scale: f64) -> (u32, u32) {
        let (w, h) = (f64::from(width), f64::from(height));
        let (w, h) = match self {
            Self::Divide(divisor) => {
                let divisor = scale * f64::from(divisor);
                ((w / divisor).round_ties_even(), (h / divisor).round_ties_even())
            }
            Self::Width(target) => {
                let divisor = w / f64::from(target) * scale;
                ((w / divisor).floor(), (h / divisor).floor())
            }
            Self::Auto => {
                let divisor = if w > AUTO_WIDTH_PX { w / AUTO_WIDTH_PX } else { 1.0 } * scale;
                ((w / divisor).floor(), (h / divisor).floor())
            }
        };
        // max and min also take a quotient that is not a number to a valid size
        let side = |pixels: f64| pixels.max(1.0).min(f64::from(MAX_SIDE_PX)) as u32;
        (side(w), side(h))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn sizes_equal_the_reference_rule() {
        let size = |number| Resolution::from_number(number).unwrap().apply(5187, 3361, 1.0);
        assert_eq!(size(4), (1297, 840));
        assert_eq!(size(2), (2594, 1680));
        assert_eq!(size(8), (648, 420));
        assert_eq!(size(-1), (1600, 1036));
        assert_eq!(size(1), (5187, 3361));
    }

    #[test]
    fn halves_round_to_even_and_small_images_stay() {
        assert_eq!(Resolution::Divide(2).apply(5, 7, 1.0), (2, 4));
        assert_eq!(Resolution::Auto.apply(1600, 1200, 1.0), (1600, 1200));
        assert_eq!(Resolution::Auto.apply(800, 533, 2.0), (400, 266));
        assert_eq!(Resolution::Width(400).apply(800, 533, 1.0), (400, 266));
        assert_eq!(Resolution::Divide(64).apply(3, 3, 1.0), (1, 1));
        assert_eq!(Resolution::Auto.apply(64, 48, f64::NAN), (1, 1));
    }

    #[test]
    fn numbers_without_a_meaning_are_refused() {
        for number in [0, -2, 3, 15, i64::MIN, i64::MAX, 65_536] {
            assert!(matches!(Resolution::from_number(number), Err(SceneError::Resolution(n)) if n == number));
        }
        assert_eq!(Resolution::from_number(1000).unwrap(), Resolution::Width(1000));
        assert_eq!(Resolution::from_number(17).unwrap(), Resolution::Width(17));
        assert_eq!(
            SceneError::Resolution(3).to_string(),
            "resolution 3 is a width of 3 px; 1, 2, 4, 8, 16, 32 and 64 are divisors, any other number is a width in pixels, 16 \
             or more, and -1 is at most 1600 px wide"
        );
    }
}
