//! Where segments meet triangles, borders included, exactly.
//!
//! Signs of determinants are exact (Shewchuk 1997), so that of two triangles at an edge, or two segments at a point, at least
//! one is met by whatever passes between them.

use robust::{Coord, orient2d};

use crate::Mesh;
use crate::boxes::{Box, Boxes, Node};
use crate::delaunay::orient;
use crate::vector::V3;

/// Two places and all between them.
pub(crate) type Segment = [V3; 2];

/// Axes of the three views along an axis.
const VIEWS: [[usize; 2]; 3] = [[0, 1], [1, 2], [2, 0]];
/// By how much more than it is computed a share of a segment may be: some roundings, each of 2^-53.
const ROUNDING: f64 = 1e-14;

/// A sign of a, b, c in a view along an axis.
fn turn([i, j]: [usize; 2], a: V3, b: V3, c: V3) -> f64 {
    let flat = |p: V3| Coord { x: p[i], y: p[j] };
    orient2d(flat(a), flat(b), flat(c))
}

/// Whether signs are not on both sides of 0.
fn agree(signs: &[f64]) -> bool {
    signs.iter().all(|&sign| sign >= 0.0) || signs.iter().all(|&sign| sign <= 0.0)
}

/// The view along an axis in which a triangle has an area; none when it has none at all.
fn open_view([a, b, c]: [V3; 3]) -> Option<[usize; 2]> {
    VIEWS.into_iter().find(|&view| turn(view, a, b, c) != 0.0)
}

/// Whether a segment meets a triangle. One without an area is met by nothing.
pub(crate) fn meets([p, q]: Segment, [a, b, c]: [V3; 3]) -> bool {
    let [at_p, at_q] = [p, q].map(|end| orient(a, b, c, end));
    if (at_p > 0.0 && at_q > 0.0) || (at_p < 0.0 && at_q < 0.0) {
        return false;
    }
    if at_p == 0.0 && at_q == 0.0 {
        return meets_in_plane([p, q], [a, b, c]);
    }
    agree(&[(a, b), (b, c), (c, a)].map(|(from, to)| orient(p, q, from, to)))
}

/// The same in the plane of the triangle.
fn meets_in_plane([p, q]: Segment, triangle: [V3; 3]) -> bool {
    let Some(view) = open_view(triangle) else {
        return false;
    };
    let [a, b, c] = triangle;
    let sides = [(a, b), (b, c), (c, a)];
    let is_inside = |place: V3| agree(&sides.map(|(from, to)| turn(view, from, to, place)));
    let crosses = |(from, to): (V3, V3)| {
        let across = |[a, b]: Segment, [c, d]: Segment| {
            let [at_c, at_d] = [c, d].map(|end| turn(view, a, b, end));
            !((at_c > 0.0 && at_d > 0.0) || (at_c < 0.0 && at_d < 0.0))
        };
        across([p, q], [from, to]) && across([from, to], [p, q])
    };
    // With no end inside it crosses sides, and not along one: then both ends of that would be inside of it, or its own ends
    // inside of the triangle.
    is_inside(p) || is_inside(q) || (p != q && sides.into_iter().filter(|&side| crosses(side)).count() > 1)
}

/// The triangles of a mesh that have an area, to be searched for those that a segment meets.
pub(crate) struct Crossing<'a> {
    mesh: &'a Mesh,
    tree: Boxes,
}

impl<'a> Crossing<'a> {
    pub(crate) fn new(mesh: &'a Mesh) -> Self {
        let has_area = |&t: &u32| open_view(mesh.corners(mesh.triangles[t as usize])).is_some();
        let open = (0..mesh.triangles.len() as u32).filter(has_area).collect();
        Self {
            mesh,
            tree: Boxes::new(mesh, open),
        }
    }

    /// Calls `accept` with triangles that a segment of finite ends meets, in an order that depends on the mesh alone, until
    /// it says true; and whether it did.
    pub(crate) fn any(&self, segment: Segment, mut accept: impl FnMut(u32) -> bool) -> bool {
        self.search(&self.tree.root(), segment, &mut accept)
    }

    fn search(&self, node: &Node, segment: Segment, accept: &mut impl FnMut(u32) -> bool) -> bool {
        if !may_meet(segment, self.tree.around(node)) {
            return false;
        }
        match self.tree.halves(node) {
            Some(halves) => halves.iter().any(|half| self.search(half, segment, accept)),
            None => self
                .tree
                .triangles(node)
                .iter()
                .any(|&t| meets(segment, self.mesh.corners(self.mesh.triangles[t as usize])) && accept(t)),
        }
    }
}

/// Whether a segment may meet a box; certainly where it does.
fn may_meet([p, q]: Segment, [low, high]: Box) -> bool {
    let (mut from, mut to) = (0.0_f64, 1.0_f64);
    for axis in 0..3 {
        let [low, high] = [low[axis], high[axis]].map(f64::from);
        let along = q[axis] - p[axis];
        if along == 0.0 {
            if p[axis] < low || p[axis] > high {
                return false;
            }
            continue;
        }
        let [a, b] = [low, high].map(|end| (end - p[axis]) / along);
        from = from.max(a.min(b));
        to = to.min(a.max(b));
    }
    from * (1.0 - ROUNDING) <= to * (1.0 + ROUNDING)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::shapes;

    fn cross(a: [i64; 3], b: [i64; 3]) -> [i64; 3] {
        let at = |i: usize, j: usize| a[i] * b[j] - a[j] * b[i];
        [at(1, 2), at(2, 0), at(0, 1)]
    }

    /// The same by looking for an axis along which the two are apart, in whole numbers.
    fn no_axis_parts(segment: [[i64; 3]; 2], triangle: [[i64; 3]; 3]) -> bool {
        let sub = |a: [i64; 3], b: [i64; 3]| [0, 1, 2].map(|i| a[i] - b[i]);
        let [a, b, c] = triangle;
        let (along, edges) = (sub(segment[1], segment[0]), [sub(b, a), sub(c, b), sub(a, c)]);
        let normal = cross(edges[0], edges[1]);
        let mut axes = vec![normal, along, cross(normal, along)];
        for edge in edges {
            axes.extend([edge, cross(edge, along), cross(normal, edge)]);
        }
        let reach = |places: &[[i64; 3]], axis: [i64; 3]| {
            let at = places.iter().map(|p| (0..3).map(|i| p[i] * axis[i]).sum::<i64>());
            (at.clone().min().unwrap_or(0), at.max().unwrap_or(0))
        };
        axes.into_iter().all(|axis| {
            let (s, t) = (reach(&segment, axis), reach(&triangle, axis));
            s.1 >= t.0 && t.1 >= s.0
        })
    }

    #[test]
    fn touching_counts_and_equals_whole_numbers() {
        let random = Random::new(5);
        let mut met = 0;
        for case in 0..40_000 {
            // Few coordinates: ends on planes, sides, and corners, segments that are points, and all in one plane.
            let side = 3 + case % 3;
            let place = |k: u64| [0, 1, 2].map(|i| (random.bits(case * 15 + 3 * k + i) % side) as i64);
            let (segment, triangle) = ([place(0), place(1)], [place(2), place(3), place(4)]);
            let wide = |p: [i64; 3]| p.map(|x| x as f64);
            let flat = cross(
                [0, 1, 2].map(|i| triangle[1][i] - triangle[0][i]),
                [0, 1, 2].map(|i| triangle[2][i] - triangle[0][i]),
            ) == [0; 3];
            let wanted = !flat && no_axis_parts(segment, triangle);
            met += u32::from(wanted);
            assert_eq!(
                meets(segment.map(wide), triangle.map(wide)),
                wanted,
                "{segment:?} {triangle:?}"
            );
        }
        assert!((5000..20_000).contains(&met), "{met}");
    }

    #[test]
    fn the_tree_finds_what_each_triangle_says() {
        for seed in 0..4 {
            let soup = shapes::soup(60, 300, seed);
            let crossing = Crossing::new(&soup);
            let random = Random::new(seed + 10);
            for case in 0..300 {
                let far = if case % 5 == 0 { 1e15 } else { 8.0 };
                let x = |i: u64| ((random.unit(case * 6 + i) - 0.5) * far).round() * 0.5 + 3.0;
                let segment = [
                    [x(0), x(1), x(2)],
                    [x(3), x(4), if case % 3 == 0 { x(2) } else { x(5) }],
                ];
                let mut found = Vec::new();
                let stopped = crossing.any(segment, |t| {
                    found.push(t);
                    false
                });
                found.sort_unstable();
                let wanted: Vec<u32> = (0..soup.triangles().len() as u32)
                    .filter(|&t| meets(segment, soup.corners(soup.triangles()[t as usize])))
                    .collect();
                assert_eq!((stopped, &found), (false, &wanted));
                assert_eq!(crossing.any(segment, |_| true), !wanted.is_empty());
            }
        }
    }

    #[test]
    fn nothing_is_met_among_nothing() {
        let none = Mesh::default();
        assert!(!Crossing::new(&none).any([[0.0; 3], [1.0; 3]], |_| true));
    }
}
