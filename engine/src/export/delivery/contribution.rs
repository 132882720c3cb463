//! Which Gaussians of a model matter most, judged from the model alone.
//!
//! The rule: opacity, times the area of the one-sigma ellipsoid's shadow averaged over all directions, divided by the
//! squared distance it is usually seen from. The mean shadow of a convex body is a quarter of its surface (Cauchy); the
//! surface of an ellipsoid is Thomsen's approximation (exponent 1.6075, at most 1.1 % off). The distance is that from the
//! median of all centres, and at least the median of those distances: cameras stand somewhere around the middle, so that
//! what lies outside is seen from about there, and what lies inside from about as far as anything else.

use super::Chosen;

/// Thomsen's exponent.
const EXPONENT: f64 = 1.6075;

/// Keeps the `most` strongest, in the order they were in; of equals the first.
pub(super) fn strongest(chosen: &mut Chosen<'_>, most: usize) {
    if most >= chosen.len() {
        return;
    }
    let scores = scores(chosen);
    let mut places: Vec<u32> = (0..scores.len())
        .map(|place| u32::try_from(place).unwrap_or(u32::MAX))
        .collect();
    places.select_nth_unstable_by(most, |&a, &b| {
        let score = |place: u32| scores[place as usize];
        score(b).total_cmp(&score(a)).then(a.cmp(&b))
    });
    places.truncate(most);
    places.sort_unstable();
    let numbers = chosen.numbers_mut();
    *numbers = places.into_iter().map(|place| numbers[place as usize]).collect();
}

/// Logarithm of every contribution, up to a constant.
fn scores(chosen: &Chosen<'_>) -> Vec<f32> {
    let middle: [f32; 3] = std::array::from_fn(|axis| {
        let mut values: Vec<f32> = (0..chosen.len()).map(|index| chosen.mean(index)[axis]).collect();
        median(&mut values)
    });
    let distance = |index: usize| {
        let from = chosen.mean(index);
        let square = (0..3).map(|axis| (f64::from(from[axis]) - f64::from(middle[axis])).powi(2));
        square.sum::<f64>().sqrt() as f32
    };
    let mut distances: Vec<f32> = (0..chosen.len()).map(distance).collect();
    // The smallest positive number keeps the logarithm finite where all centres are one.
    let usual = median(&mut distances).max(f32::MIN_POSITIVE);
    drop(distances);
    (0..chosen.len())
        .map(|index| {
            let fused = chosen.fused(index);
            let log_distance = f64::from(distance(index).max(usual)).ln();
            (log_opacity(fused.logit_opacity) + log_area(fused.log_scales) - 2.0 * log_distance) as f32
        })
        .collect()
}

fn median(values: &mut [f32]) -> f32 {
    let middle = values.len() / 2;
    if values.is_empty() {
        return 0.0;
    }
    *values.select_nth_unstable_by(middle, f32::total_cmp).1
}

/// `ln sigmoid(x)` without underflow.
fn log_opacity(logit: f32) -> f64 {
    let x = f64::from(logit);
    x.min(0.0) - (-x.abs()).exp().ln_1p()
}

/// Logarithm of the mean shadow over pi, of an ellipsoid with these logarithms of the half axes.
fn log_area([a, b, c]: [f32; 3]) -> f64 {
    let sides = [(a, b), (a, c), (b, c)].map(|(p, q)| EXPONENT * (f64::from(p) + f64::from(q)));
    let greatest = sides.iter().fold(f64::NEG_INFINITY, |x, &y| x.max(y));
    let sum: f64 = sides.iter().map(|side| (side - greatest).exp()).sum();
    (greatest + (sum / 3.0).ln()) / EXPONENT
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_config::plugins::Subset;
    use kiln_gaussians::Gaussians;

    fn model(means: &[[f32; 3]]) -> Gaussians {
        let n = means.len();
        Gaussians {
            means: means.to_vec(),
            quats: vec![[1.0, 0.0, 0.0, 0.0]; n],
            log_scales: vec![[-3.0; 3]; n],
            logit_opacities: vec![1.0; n],
            sh0: vec![[0.0; 3]; n],
            filter_3d: vec![0.0; n],
            ..Gaussians::default()
        }
    }

    fn kept(model: &Gaussians, most: u32) -> Vec<u32> {
        let subset = Subset {
            max_splats: Some(most),
            ..Subset::default()
        };
        Chosen::new(model, &subset).unwrap().numbers().to_vec()
    }

    #[test]
    fn areas_of_balls_needles_and_discs() {
        assert!((log_area([0.5; 3]) - 1.0).abs() < 1e-12);
        // a disc: two faces, averaged over directions half of one
        let disc = log_area([0.0, 0.0, -40.0]).exp();
        assert!((disc / 0.5 - 1.0).abs() < 0.012, "{disc}");
        assert!(log_area([-200.0, 90.0, 90.0]).is_finite());
        assert!((log_opacity(0.0) - 0.5_f64.ln()).abs() < 1e-12 && log_opacity(-1e30) < -1e29);
    }

    #[test]
    fn faint_small_and_far_ones_go_first_and_equals_from_the_back() {
        let ring: Vec<[f32; 3]> = (0..16)
            .map(|i| {
                let angle = i as f32 * std::f32::consts::TAU / 16.0;
                [angle.cos(), angle.sin(), 0.0]
            })
            .collect();
        let mut model = model(&ring);
        model.logit_opacities[3] = -4.0;
        model.log_scales[5] = [-4.0; 3];
        model.means[7] = [30.0, 0.0, 0.0];
        let left_out = |most| {
            (0..16)
                .filter(|i| !kept(&model, most).contains(i))
                .collect::<Vec<u32>>()
        };
        assert_eq!(left_out(13), [3, 5, 7]);
        assert_eq!(kept(&model, 16).len(), 16);
        // a far one stays when it is large enough to cover as much
        model.log_scales[7] = [-3.0 + 30.0_f32.ln() + 0.1; 3];
        assert!(kept(&model, 4).contains(&7));
        // on one spot nothing sets them apart
        let spot = self::model(&[[2.0; 3]; 6]);
        assert_eq!(kept(&spot, 4), [0, 1, 2, 3]);
        assert_eq!(kept(&spot, 1), [0]);
    }

    #[test]
    fn the_filter_counts() {
        let mut model = model(&[[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
        // widened and dimmed alike, its largest faces gain by the opacity that is lost: it covers less in sum
        model.filter_3d[1] = 10.0;
        assert_eq!(kept(&model, 2), [0, 2]);
    }
}
