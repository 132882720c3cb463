//! The two ends of LPIPS (Zhang et al. 2018): images to network input, and features to a distance.

/// Added to the length of a feature vector before it divides.
const EPSILON: f32 = 1e-10;

/// Planes `(clamp(v) gain + offset - shift) / scale` of RGB triples in [0, 1].
#[must_use]
pub fn input(pixels: &[[f32; 3]], shift: [f32; 3], scale: [f32; 3], [gain, offset]: [f32; 2]) -> Vec<f32> {
    let channel = |c: usize| {
        pixels
            .iter()
            .map(move |p| (p[c].clamp(0.0, 1.0) * gain + offset - shift[c]) / scale[c])
    };
    (0..3).flat_map(channel).collect()
}

/// Sum over pixels and channels of `w_c (a_c / (|a| + 1e-10) - b_c / (|b| + 1e-10))^2`, where `a` and `b` are planes of
/// `plane` pixels (eq. 1 of the paper, before the spatial mean).
#[must_use]
pub fn difference(a: &[f32], b: &[f32], plane: usize, linear: &[f32]) -> f64 {
    let mut total = 0.0;
    for pixel in 0..plane {
        let at = |f: &[f32], c: usize| f[c * plane + pixel];
        let length = |f: &[f32]| (0..linear.len()).map(|c| at(f, c).powi(2)).sum::<f32>().sqrt() + EPSILON;
        let (length_a, length_b) = (length(a), length(b));
        let sum: f32 = (linear.iter().enumerate())
            .map(|(c, w)| w * (at(a, c) / length_a - at(b, c) / length_b).powi(2))
            .sum();
        total += f64::from(sum);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_direction_of_a_feature_vector_counts() {
        let a = [3.0, 4.0];
        assert_eq!(difference(&a, &a, 1, &[1.0, 1.0]), 0.0);
        assert_eq!(difference(&a, &[6.0, 8.0], 1, &[1.0, 1.0]), 0.0);
        assert!((difference(&a, &[4.0, 3.0], 1, &[1.0, 2.0]) - 0.12).abs() < 1e-6);
        assert!(difference(&[0.0, 0.0], &[0.0, 0.0], 1, &[1.0, 1.0]).abs() < 1e-12);
    }

    #[test]
    fn input_clamps_and_scales() {
        let planes = input(&[[2.0, 0.5, -1.0]], [0.5; 3], [2.0; 3], [2.0, -1.0]);
        assert_eq!(planes, [0.25, -0.25, -0.75]);
    }
}
