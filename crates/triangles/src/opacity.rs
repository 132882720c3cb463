//! Opacities of vertices, and the floor below which they may not fall.
//!
//! In f64, because floors end at 0.9999: what is left between floor and 1 has few digits in f32.

/// Nearest that an opacity comes to the floor and to 1, and its share of what lies between: logits stay finite.
const MARGIN: f64 = 1e-6;

/// Opacity of a weight: `floor + (1 - floor) sigmoid(weight)`.
#[must_use]
pub fn of(weight: f32, floor: f32) -> f64 {
    let floor = f64::from(floor);
    floor + (1.0 - floor) / (1.0 + (-f64::from(weight)).exp())
}

/// The weight of an opacity, which is brought within 1e-6 of the range from the floor to 1 first.
#[must_use]
pub fn weight(opacity: f64, floor: f32) -> f32 {
    let floor = f64::from(floor);
    let opacity = opacity.max(floor + MARGIN).min(1.0 - MARGIN);
    let share = ((opacity - floor) / (1.0 - floor)).clamp(MARGIN, 1.0 - MARGIN);
    (share / (1.0 - share)).ln() as f32
}

/// Moves the floor: opacities stay where they are not below it.
pub fn raise(weights: &mut [f32], [from, to]: [f32; 2]) {
    for w in weights {
        *w = weight(of(*w, from), to);
    }
}

/// Appends the weight of each new vertex: its opacity is the mean of those of its two ends.
pub fn append_means(weights: &mut Vec<f32>, ends: &[[u32; 2]], floor: f32) {
    weights.reserve_exact(ends.len());
    for ends in ends {
        let [a, b] = ends.map(|end| of(weights[end as usize], floor));
        weights.push(weight(0.5 * (a + b), floor));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floors_lift_what_is_below_and_leave_the_rest() {
        let opacities = [0.12, 0.2, 0.28, 0.5, 0.9, 0.999];
        let mut weights = opacities.map(|opacity| weight(opacity, 0.0));
        let mut floor = 0.0;
        for to in [0.1, 0.25, 0.4, 0.9, 0.9999] {
            raise(&mut weights, [floor, to]);
            floor = to;
            for (&w, opacity) in weights.iter().zip(opacities) {
                let wanted = f64::max(opacity, f64::from(to));
                assert!(
                    w.is_finite() && (of(w, floor) - wanted).abs() < 2e-6,
                    "{w} at {to}: {wanted}"
                );
            }
        }
        // A step that does not move leaves what is not at an end.
        let before = weights;
        raise(&mut weights, [floor, floor]);
        assert!(weights.iter().zip(before).all(|(a, b)| (a - b).abs() < 1e-3));
    }

    #[test]
    fn ends_of_the_range_have_weights() {
        for floor in [0.0, 0.3, 0.9999] {
            for opacity in [0.0, f64::from(floor), 1.0, 2.0] {
                assert!(weight(opacity, floor).is_finite());
            }
        }
        assert_eq!(of(0.0, 0.5), 0.75);
        assert!((of(weight(0.28, 0.0), 0.0) - 0.28).abs() < 1e-7);
    }

    #[test]
    fn midpoints_have_mean_opacity_not_mean_weight() {
        let floor = 0.1;
        let mut weights = vec![weight(0.2, floor), weight(0.9, floor)];
        append_means(&mut weights, &[[0, 1], [1, 1]], floor);
        assert!((of(weights[2], floor) - 0.55).abs() < 1e-6);
        assert!((of(weights[3], floor) - 0.9).abs() < 1e-6);
    }
}
