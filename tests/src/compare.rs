//! Differences between two lists of numbers.

/// Mean of `|a - b|`.
///
/// # Panics
/// When the lengths differ or a value is not finite.
#[must_use]
pub fn mean_abs(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len(), "lengths differ");
    assert!(a.iter().chain(b).all(|v| v.is_finite()), "not finite");
    let sum: f64 = a
        .iter()
        .zip(b)
        .map(|(a, b)| (f64::from(*a) - f64::from(*b)).abs())
        .sum();
    sum / a.len().max(1) as f64
}

/// Mean of `|a - b|` over mean of `|b|`.
#[must_use]
pub fn relative(a: &[f32], b: &[f32]) -> f64 {
    let scale: f64 = b.iter().map(|v| f64::from(v.abs())).sum::<f64>() / b.len().max(1) as f64;
    let difference = mean_abs(a, b);
    if difference == 0.0 {
        0.0
    } else {
        difference / scale.max(1e-30)
    }
}

/// Stops when [`mean_abs`] is `limit` or more, or [`relative`] is `relative_limit` or more.
///
/// # Panics
/// With `what` and the worst element.
pub fn close(what: &str, found: &[f32], wanted: &[f32], limit: f64, relative_limit: f64) {
    let (absolute, relative) = (mean_abs(found, wanted), relative(found, wanted));
    let worst = found
        .iter()
        .zip(wanted)
        .enumerate()
        .max_by(|(_, a), (_, b)| (a.0 - a.1).abs().total_cmp(&(b.0 - b.1).abs()));
    assert!(
        absolute < limit && relative < relative_limit,
        "{what}: mean difference {absolute:e} (limit {limit:e}), relative {relative:e} (limit {relative_limit:e}), \
         worst (index, (found, wanted)): {worst:?} of {}",
        found.len()
    );
}
