//! Triangles of a polygon.

use crate::vector::{V3, add, cross, dot, frame, sub, unit};

/// Polygons of at most this many corners are searched for the best ear; larger polygons take the first one.
const BEST_UP_TO: usize = 128;
/// Polygons of files have at most so many corners when they are cut by ears, in up to n^3 steps.
const EARS_UP_TO: usize = 256;

/// Cuts a polygon into triangles of its corners' numbers, in its direction; `None` when it crosses itself in projection
/// along its normal. `may_cut` refuses diagonals.
///
/// Ears are cut off one by one (Meisters 1975), the one with the shortest diagonal first.
pub(crate) fn ears(corners: &[V3], mut may_cut: impl FnMut(usize, usize) -> bool) -> Option<Vec<[usize; 3]>> {
    let flat = project(corners)?;
    let mut left: Vec<usize> = (0..corners.len()).collect();
    let mut triangles = Vec::with_capacity(corners.len().saturating_sub(2));
    while left.len() > 3 {
        let n = left.len();
        let mut best: Option<(f64, usize)> = None;
        for i in 0..n {
            let [a, b, c] = [left[(i + n - 1) % n], left[i], left[(i + 1) % n]];
            let length = squared(flat[a], flat[c]);
            if best.is_some_and(|(shortest, _)| length >= shortest)
                || !is_ear(&flat, &left, [a, b, c])
                || !may_cut(a, c)
            {
                continue;
            }
            best = Some((length, i));
            if n > BEST_UP_TO {
                break;
            }
        }
        let (_, i) = best?;
        triangles.push([left[(i + n - 1) % n], left[i], left[(i + 1) % n]]);
        left.remove(i);
    }
    let [a, b, c] = left[..] else { return None };
    (turn(flat[a], flat[b], flat[c]) > 0.0).then(|| {
        triangles.push([a, b, c]);
        triangles
    })
}

/// A polygon from a file in triangles: by ears, and as a fan where that cannot be or would take long.
pub(crate) fn triangulate(corners: &[V3]) -> Vec<[usize; 3]> {
    if (4..=EARS_UP_TO).contains(&corners.len())
        && let Some(triangles) = ears(corners, |_, _| true)
    {
        return triangles;
    }
    (2..corners.len()).map(|i| [0, i - 1, i]).collect()
}

/// Coordinates in the plane of the polygon's mean normal (Newell), counter-clockwise.
fn project(corners: &[V3]) -> Option<Vec<[f64; 2]>> {
    let &origin = corners.first()?;
    let next = corners.iter().cycle().skip(1);
    let normal = corners.iter().zip(next).fold([0.0; 3], |sum, (&a, &b)| {
        add(sum, cross(sub(a, origin), sub(b, origin)))
    });
    let (u, v) = frame(unit(normal)?);
    let flat = |&p: &V3| [dot(sub(p, origin), u), dot(sub(p, origin), v)];
    Some(corners.iter().map(flat).collect())
}

fn squared(a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2)
}

/// Twice the area of a triangle, positive counter-clockwise.
fn turn(a: [f64; 2], b: [f64; 2], c: [f64; 2]) -> f64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

/// Whether a corner turns left and no other corner lies in or on its triangle.
fn is_ear(flat: &[[f64; 2]], left: &[usize], [a, b, c]: [usize; 3]) -> bool {
    let [pa, pb, pc] = [flat[a], flat[b], flat[c]];
    if turn(pa, pb, pc) <= 0.0 {
        return false;
    }
    let inside = |p: [f64; 2]| turn(pa, pb, p) >= 0.0 && turn(pb, pc, p) >= 0.0 && turn(pc, pa, p) >= 0.0;
    !left.iter().any(|&i| ![a, b, c].contains(&i) && inside(flat[i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(polygon: &[V3], triangles: &[[usize; 3]]) -> f64 {
        triangles
            .iter()
            .map(|t| {
                let [a, b, c] = t.map(|i| [polygon[i][0], polygon[i][1]]);
                assert!(turn(a, b, c) > 0.0, "{t:?} is turned over");
                turn(a, b, c) / 2.0
            })
            .sum()
    }

    #[test]
    fn a_comb_keeps_its_area() {
        // Teeth of a comb: a fan from any corner would leave it.
        let mut comb = vec![[0.0, 0.0, 0.0], [20.0, 0.0, 0.0]];
        for tooth in (0..10).rev() {
            let x = 2.0 * f64::from(tooth);
            comb.extend([[x + 2.0, 5.0, 0.0], [x + 1.0, 1.0, 0.0]]);
        }
        comb.push([0.0, 5.0, 0.0]);
        let triangles = ears(&comb, |_, _| true).unwrap_or_default();
        assert_eq!(triangles.len(), comb.len() - 2);
        let exact = 20.0 * 1.0 + 10.0 * 4.0;
        assert!((area(&comb, &triangles) - exact).abs() < 1e-9);
    }

    #[test]
    fn crossed_and_flat_polygons_are_refused() {
        let bow = [[0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 3.0, 0.0]];
        assert_eq!(ears(&bow, |_, _| true), None);
        assert_eq!(ears(&[[0.0; 3]; 5], |_, _| true), None);
        assert_eq!(ears(&[], |_, _| true), None);
        assert_eq!(triangulate(&[[0.0; 3]; 5]), [[0, 1, 2], [0, 2, 3], [0, 3, 4]]);
        let square = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
        let other = ears(&square, |a, _| a % 2 == 1).unwrap_or_default();
        assert_eq!(other.len(), 2);
        assert_eq!(ears(&square, |_, _| false), None);
    }
}
