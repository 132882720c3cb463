//! Gradients by blended planes, held against differences of a loss.

use super::{Blended, Plane};
use kiln_scene::math::norm;

/// Holds `exact`, the gradient of `loss` by `values` (0 to 2 the normal, 3 the distance) of the pixels of `blended` that `counts`, against
/// differences over `step`; how many are not 0.
pub(crate) fn follow_differences(
    blended: &[Blended<f64>],
    exact: &[Plane<f64>],
    (step, values): (f64, &[usize]),
    counts: impl Fn(usize) -> bool,
    loss: impl Fn(&[Blended<f64>]) -> f64,
) -> usize {
    let mut moved = blended.to_vec();
    let largest = exact.iter().map(|p| norm(p.normal)).fold(0.0, f64::max);
    let mut pulled = 0;
    for i in (0..blended.len()).filter(|i| counts(*i)) {
        for &k in values {
            let mut at = |by: f64| {
                match k {
                    3 => moved[i].plane.distance += by,
                    _ => moved[i].plane.normal[k] += by,
                }
                let value = loss(&moved);
                moved[i] = blended[i];
                value
            };
            let numeric = (at(step) - at(-step)) / (2.0 * step);
            let exact = if k == 3 { exact[i].distance } else { exact[i].normal[k] };
            pulled += usize::from(exact != 0.0);
            let apart = (numeric - exact).abs();
            assert!(
                apart <= 1e-3 * exact.abs().max(1e-3 * largest),
                "{i} {k}: {numeric} {exact}"
            );
        }
    }
    pulled
}
