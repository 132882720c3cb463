//! Curves: smoothing, thinning to the pixels there are, and the value at a place.

/// Exponential moving average with the start corrected, 0 (as it is) to 0.99.
pub(crate) fn smoothed(points: &[(f64, f64)], weight: f64) -> Vec<(f64, f64)> {
    if weight <= 0.0 {
        return points.to_vec();
    }
    let (mut sum, mut mass) = (0.0, 0.0);
    let average = |&(x, y): &(f64, f64)| {
        sum = weight * sum + (1.0 - weight) * y;
        mass = weight * mass + (1.0 - weight);
        (x, sum / mass)
    };
    points.iter().map(average).collect()
}

/// Points of a window of iterations, with one beyond each end so that lines reach the edge.
pub(crate) fn within(points: &[(f64, f64)], [low, high]: [f64; 2]) -> &[(f64, f64)] {
    let first = points.partition_point(|point| point.0 < low).saturating_sub(1);
    let end = (points.partition_point(|point| point.0 <= high) + 1).min(points.len());
    points.get(first..end).unwrap_or(&[])
}

/// At most four points a column of pixels: first, lowest, highest and last, so that no spike is lost.
pub(crate) fn thinned(points: &[(f64, f64)], columns: usize) -> Vec<(f64, f64)> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Vec::new();
    };
    if points.len() <= columns * 4 || last.0 <= first.0 {
        return points.to_vec();
    }
    let column = |x: f64| ((x - first.0) / (last.0 - first.0) * columns as f64) as usize;
    let mut out = Vec::new();
    for part in points.chunk_by(|a, b| column(a.0) == column(b.0)) {
        let by = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let ends = [
            part.first(),
            part.iter().min_by(by),
            part.iter().max_by(by),
            part.last(),
        ];
        let mut kept = crate::order::rising(ends.into_iter().flatten().copied().collect(), |point| point.0);
        kept.dedup();
        out.extend(kept);
    }
    out
}

/// The point nearest to an iteration.
pub(crate) fn nearest(points: &[(f64, f64)], x: f64) -> Option<(f64, f64)> {
    let after = points.partition_point(|point| point.0 < x);
    let around = points.get(after.saturating_sub(1)..(after + 1).min(points.len()))?;
    let distance = |point: &&(f64, f64)| (point.0 - x).abs();
    around
        .iter()
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smoothing_keeps_a_constant_and_calms_noise() {
        let flat: Vec<_> = (0..10).map(|i| (f64::from(i), 3.0)).collect();
        assert!(smoothed(&flat, 0.9).iter().all(|point| (point.1 - 3.0).abs() < 1e-12));
        let noisy: Vec<_> = (0..200).map(|i| (f64::from(i), f64::from(i % 2))).collect();
        let calm = smoothed(&noisy, 0.95);
        assert!((calm[199].1 - 0.5).abs() < 0.05);
        assert_eq!(smoothed(&noisy, 0.0), noisy);
    }

    #[test]
    fn thinning_keeps_the_spike() {
        let mut points: Vec<_> = (0..10_000).map(|i| (f64::from(i), 1.0)).collect();
        points[5_432].1 = 9.0;
        let thin = thinned(&points, 100);
        assert!(thin.len() <= 400 && thin.contains(&(5432.0, 9.0)));
        assert_eq!((thin[0].0, thin[thin.len() - 1].0), (0.0, 9999.0));
        assert_eq!(thinned(&points[..10], 100).len(), 10);
        assert!(thinned(&[], 5).is_empty());
    }

    #[test]
    fn windows_reach_one_point_further_and_the_nearest_point_is_found() {
        let points: Vec<_> = (0..10).map(|i| (f64::from(i) * 10.0, f64::from(i))).collect();
        assert_eq!(within(&points, [25.0, 45.0]), &points[2..6]);
        assert_eq!(within(&points, [-5.0, 200.0]).len(), 10);
        assert_eq!(within(&points, [500.0, 600.0]), &points[9..]);
        assert_eq!(within(&[], [0.0, 1.0]), []);
        assert_eq!(nearest(&points, 34.0), Some((30.0, 3.0)));
        assert_eq!(nearest(&points, 36.0), Some((40.0, 4.0)));
        assert_eq!(nearest(&points, 1e9), Some((90.0, 9.0)));
        assert_eq!(nearest(&[], 0.0), None);
    }
}
