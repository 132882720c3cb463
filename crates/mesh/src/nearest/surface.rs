//! The nearest place on a mesh, by a tree of boxes.

use super::{Hit, is_better};
use crate::boxes::{Boxes, Node};
use crate::vector::{V3, add, dot, double_area, scale, sub, wide};
use crate::{Error, Mesh};

/// The triangles of a mesh in a tree of boxes: at most 20 B a triangle.
#[derive(Clone, Debug)]
pub struct Surface<'a> {
    mesh: &'a Mesh,
    tree: Boxes,
}

impl<'a> Surface<'a> {
    /// A tree of a mesh.
    ///
    /// # Errors
    /// [`Error::Empty`] without triangles.
    pub fn new(mesh: &'a Mesh) -> Result<Self, Error> {
        if mesh.triangles.is_empty() {
            return Err(Error::Empty {
                job: "the nearest place on a mesh",
                needs: "triangles",
            });
        }
        let all = (0..mesh.triangles.len() as u32).collect();
        Ok(Self {
            mesh,
            tree: Boxes::new(mesh, all),
        })
    }

    /// The nearest place to a finite place.
    #[must_use]
    pub fn nearest(&self, place: [f32; 3]) -> Hit {
        let place = wide(place);
        let mut best = Hit {
            index: u32::MAX,
            distance: f64::INFINITY,
            point: place,
        };
        let mut squared = f64::INFINITY;
        self.search(&self.tree.root(), place, &mut squared, &mut best);
        Hit {
            distance: squared.sqrt(),
            ..best
        }
    }

    fn search(&self, node: &Node, place: V3, squared: &mut f64, best: &mut Hit) {
        let Some(halves) = self.tree.halves(node) else {
            for &index in self.tree.triangles(node) {
                let point = on_triangle(place, self.mesh.corners(self.mesh.triangles[index as usize]));
                let d = sub(point, place);
                if is_better((dot(d, d), index), (*squared, best.index)) {
                    *squared = dot(d, d);
                    *best = Hit { index, point, ..*best };
                }
            }
            return;
        };
        let mut halves = halves.map(|half| (to_box(place, self.tree.around(&half)), half));
        if halves[1].0 < halves[0].0 {
            halves.swap(0, 1);
        }
        for (away, half) in &halves {
            // Rounding may put a place on a box just beyond it.
            if away * (1.0 - 1e-12) <= *squared {
                self.search(half, place, squared, best);
            }
        }
    }
}

/// Squared distance from a box.
fn to_box(place: V3, [low, high]: [[f32; 3]; 2]) -> f64 {
    let beyond = |i: usize| {
        (f64::from(low[i]) - place[i])
            .max(place[i] - f64::from(high[i]))
            .max(0.0)
    };
    (0..3).map(|i| beyond(i).powi(2)).sum()
}

/// The nearest place of a segment.
fn on_segment(place: V3, a: V3, b: V3) -> V3 {
    let along = sub(b, a);
    let t = dot(sub(place, a), along) / dot(along, along);
    // A segment that is a point divides by 0.
    let t = if t.is_nan() { 0.0 } else { t.clamp(0.0, 1.0) };
    add(a, scale(along, t))
}

/// The nearest place of a triangle: below the place if that is inside, else on a side.
pub(crate) fn on_triangle(place: V3, [a, b, c]: [V3; 3]) -> V3 {
    let normal = double_area(a, b, c);
    let squared = dot(normal, normal);
    let inside = |from: V3, to: V3| dot(double_area(from, to, place), normal) >= 0.0;
    if squared > 0.0 && inside(a, b) && inside(b, c) && inside(c, a) {
        let away = dot(sub(place, a), normal) / squared;
        return sub(place, scale(normal, away));
    }
    let sides = [(a, b), (b, c), (c, a)].map(|(from, to)| on_segment(place, from, to));
    let squared = |p: V3| dot(sub(p, place), sub(p, place));
    sides[1..]
        .iter()
        .fold(sides[0], |best, &p| if squared(p) < squared(best) { p } else { best })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::random::Random;
    use crate::{shapes, vector::norm};

    fn queries(count: u64, seed: u64, size: f32) -> Vec<[f32; 3]> {
        let random = Random::new(seed);
        let x = |i: u64| (random.unit(i) as f32 - 0.5) * size;
        (0..count).map(|i| [x(3 * i), x(3 * i + 1), x(3 * i + 2)]).collect()
    }

    #[test]
    fn equals_the_search_by_hand() {
        for seed in 0..6 {
            let soup = shapes::soup(50, 200, seed);
            let tree = Surface::new(&soup).unwrap();
            for query in queries(200, seed + 100, 20.0) {
                let away = |t: usize| {
                    let p = on_triangle(wide(query), soup.corners(soup.triangles()[t]));
                    norm(sub(p, wide(query)))
                };
                let wanted = (0..soup.triangles().len())
                    .min_by(|&a, &b| away(a).total_cmp(&away(b)))
                    .unwrap();
                let hit = tree.nearest(query);
                assert_eq!(hit.distance, away(wanted));
                assert_eq!(norm(sub(hit.point, wide(query))), hit.distance);
            }
        }
    }

    #[test]
    fn a_triangle_has_seven_regions() {
        let triangle = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 2.0, 0.0]];
        for (place, wanted) in [
            ([0.5, 0.5, 3.0], [0.5, 0.5, 0.0]),
            ([1.0, -1.0, 1.0], [1.0, 0.0, 0.0]),
            ([-1.0, 1.0, 1.0], [0.0, 1.0, 0.0]),
            ([2.0, 2.0, 0.0], [1.0, 1.0, 0.0]),
            ([-1.0, -1.0, 0.0], [0.0, 0.0, 0.0]),
            ([5.0, -1.0, 0.0], [2.0, 0.0, 0.0]),
            ([-1.0, 9.0, 2.0], [0.0, 2.0, 0.0]),
        ] {
            assert!(norm(sub(on_triangle(place, triangle), wanted)) < 1e-12, "{place:?}");
        }
        let point = [[1.0; 3]; 3];
        assert_eq!(on_triangle([4.0; 3], point), [1.0; 3]);
        let line = [[0.0; 3], [1.0, 0.0, 0.0], [3.0, 0.0, 0.0]];
        assert!(norm(sub(on_triangle([2.0, 1.0, 0.0], line), [2.0, 0.0, 0.0])) < 1e-12);
    }

    #[test]
    fn a_sphere_is_as_far_as_its_radius_says() {
        let sphere = shapes::sphere(100, 1.0);
        let tree = Surface::new(&sphere).unwrap();
        for query in queries(500, 3, 4.0) {
            let wanted = (norm(wide(query)) - 1.0).abs();
            assert!((tree.nearest(query).distance - wanted).abs() < 1e-3);
        }
        assert!(Surface::new(&Mesh::default()).is_err());
    }
}
