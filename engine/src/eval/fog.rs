//! Fog: light that stands between a camera and everything that is known to be there.

/// Share of a picture's blended light that comes from near splats, 0 to 1.
///
/// `image` is a rendering over black in which near splats are white and all others black, with the transmittance as fourth
/// value (`StepUniforms` flag `NEAR`): its first channel holds the sum of the near splats' blending weights, one minus the
/// transmittance that of all. `None` when nothing is drawn, or a value is not finite.
#[must_use]
pub fn fog_share(image: &[[f32; 4]]) -> Option<f64> {
    let near: f64 = image.iter().map(|[near, ..]| f64::from(*near)).sum();
    let all: f64 = image.iter().map(|[.., left]| 1.0 - f64::from(*left)).sum();
    // Sums in f32 on the device may differ in the last digits.
    (near.is_finite() && all.is_finite() && all > 0.0).then(|| (near / all).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_of_near_splats_are_set_against_all() {
        // Half near, all near, none near, nothing there.
        let image = [
            [0.4, 0.4, 0.4, 0.2],
            [0.2, 0.2, 0.2, 0.8],
            [0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ];
        assert!(fog_share(&image).is_some_and(|share| (share - 0.3).abs() < 1e-7));
        assert_eq!(fog_share(&image[3..]), None);
        assert_eq!(fog_share(&[]), None);
        assert_eq!(fog_share(&[[f32::NAN, 0.0, 0.0, 0.5]]), None);
        assert_eq!(fog_share(&[[0.5 + 1e-6, 0.0, 0.0, 0.5]]), Some(1.0));
    }
}
