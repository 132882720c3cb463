//! The nearest place on a mesh, by a tree of boxes.

use std::ops::Range;

use super::{Hit, is_better};
use crate::mesh::centre;
use crate::vector::{V3, add, dot, double_area, scale, sub, wide};
use crate::{Error, Mesh};

/// Ranges this short are leaves.
const LEAF: usize = 6;
/// No box, and no place.
const NO_BOX: [[f32; 3]; 2] = [[f32::INFINITY; 3], [f32::NEG_INFINITY; 3]];

/// The triangles of a mesh, halved again and again along the axis in which their middles are widest; the box of every
/// half. At most 4 B a triangle and 16 B a triangle's share of boxes.
#[derive(Clone, Debug)]
pub struct Surface<'a> {
    mesh: &'a Mesh,
    order: Vec<u32>,
    /// Node 0 is unused, node 1 the root, nodes 2 i and 2 i + 1 the halves of node i.
    boxes: Vec<[[f32; 3]; 2]>,
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
        let mut tree = Self {
            mesh,
            order: (0..mesh.triangles.len() as u32).collect(),
            boxes: vec![NO_BOX; 2],
        };
        let centres: Vec<[f32; 3]> = mesh
            .triangles
            .iter()
            .map(|&t| centre(mesh.corners(t)).map(|x| x as f32))
            .collect();
        tree.split(&centres);
        Ok(tree)
    }

    fn split(&mut self, centres: &[[f32; 3]]) {
        let mut pending = vec![(1, 0..self.order.len())];
        while let Some((node, range)) = pending.pop() {
            if self.boxes.len() <= node {
                self.boxes.resize(node + 1, NO_BOX);
            }
            let corners = self.order[range.clone()]
                .iter()
                .flat_map(|&t| self.mesh.triangles[t as usize]);
            self.boxes[node] = around(corners.map(|vertex| self.mesh.positions[vertex as usize]));
            if range.len() <= LEAF {
                continue;
            }
            let part = &mut self.order[range.clone()];
            let [low, high] = around(part.iter().map(|&t| centres[t as usize]));
            let width = |axis: usize| high[axis] - low[axis];
            let axis = (1..3).fold(
                0,
                |widest, axis| if width(axis) > width(widest) { axis } else { widest },
            );
            let half = part.len() / 2;
            part.select_nth_unstable_by(half, |&a, &b| {
                centres[a as usize][axis]
                    .total_cmp(&centres[b as usize][axis])
                    .then(a.cmp(&b))
            });
            let middle = range.start + half;
            pending.extend([(2 * node, range.start..middle), (2 * node + 1, middle..range.end)]);
        }
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
        self.search(1, 0..self.order.len(), place, &mut squared, &mut best);
        Hit {
            distance: squared.sqrt(),
            ..best
        }
    }

    fn search(&self, node: usize, range: Range<usize>, place: V3, squared: &mut f64, best: &mut Hit) {
        if range.len() <= LEAF {
            for &index in &self.order[range] {
                let point = on_triangle(place, self.mesh.corners(self.mesh.triangles[index as usize]));
                let d = sub(point, place);
                if is_better((dot(d, d), index), (*squared, best.index)) {
                    *squared = dot(d, d);
                    *best = Hit { index, point, ..*best };
                }
            }
            return;
        }
        let middle = range.start + range.len() / 2;
        let halves = [(2 * node, range.start..middle), (2 * node + 1, middle..range.end)];
        let away = |node: usize| to_box(place, self.boxes[node]);
        let mut halves = halves.map(|(node, range)| (away(node), node, range));
        if halves[1].0 < halves[0].0 {
            halves.swap(0, 1);
        }
        for (away, node, range) in halves {
            // Rounding may put a place on a box just beyond it.
            if away * (1.0 - 1e-12) <= *squared {
                self.search(node, range, place, squared, best);
            }
        }
    }
}

/// The box around places.
fn around(places: impl Iterator<Item = [f32; 3]>) -> [[f32; 3]; 2] {
    places.fold(NO_BOX, |[low, high], p| {
        [
            std::array::from_fn(|i| low[i].min(p[i])),
            std::array::from_fn(|i| high[i].max(p[i])),
        ]
    })
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
