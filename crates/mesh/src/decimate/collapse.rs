//! The mesh while edges collapse, in flat arrays.

use super::quadric::Quadric;
use super::queue::{Queue, class};
use crate::vector::{V3, add, dot, double_area, narrow, norm, scale, sub, wide};
use crate::{Mesh, clean};

/// Bytes per vertex beside its position: quadric, first corner, stamp, flags.
pub(super) const VERTEX_BYTES: u64 = size_of::<Quadric>() as u64 + 4 + 4 + 1;
/// Bytes per triangle beside its vertices: next corner and edge of each corner.
pub(super) const TRIANGLE_BYTES: u64 = 24;
/// Bytes per edge: its ends, its place in the queue, its state; of the class at hand another 4.
pub(super) const EDGE_BYTES: u64 = 8 + 4 + 1 + 4;

pub(super) const NONE: u32 = u32::MAX;
/// What a triangle that is gone has for vertices.
const GONE: [u32; 3] = [NONE; 3];

/// Least cosine between a triangle's normals before and after.
const LEAST_COSINE: f64 = 0.2;
/// Flags of a vertex: on an open edge; at an edge of more than two triangles; at a triangle of two parts.
pub(super) const BORDER: u8 = 1;
pub(super) const FIXED: u8 = 2;
pub(super) const LOCKED: u8 = 4;

/// What is known of an edge.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Edge {
    /// In the queue with its cost.
    Current,
    /// In the queue with a cost that may have grown.
    Stale,
    /// Not in the queue, until something near it changes.
    Refused,
    /// Collapsed, or one with another edge.
    Gone,
}

/// What became of the cheapest edge.
pub(super) enum Collapse {
    /// It collapsed, with this error in scene units.
    Done(f64),
    /// It did not.
    None,
    /// There is none, or none up to that class.
    End,
}

/// The coordinates in which quadrics are kept: a box of size 1.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) origin: V3,
    pub(super) scale: f64,
}

impl Frame {
    /// That of a mesh.
    pub(super) fn around(mesh: &Mesh) -> Self {
        let [low, high] = mesh.bounds().unwrap_or_default().map(wide);
        let size = sub(high, low).into_iter().fold(0.0, f64::max);
        Self {
            origin: low,
            scale: if size > 0.0 { 1.0 / size } else { 1.0 },
        }
    }
}

/// A mesh whose edges collapse.
pub(super) struct State {
    pub(super) mesh: Mesh,
    pub(super) frame: Frame,
    pub(super) quadrics: Vec<Quadric>,
    pub(super) flags: Vec<u8>,
    /// A corner at each vertex, and after each corner the next at its vertex.
    pub(super) first: Vec<u32>,
    pub(super) next: Vec<u32>,
    /// The edge that begins at each corner.
    pub(super) edge_of: Vec<u32>,
    pub(super) ends: Vec<[u32; 2]>,
    pub(super) edges: Vec<Edge>,
    pub(super) queue: Queue,
    /// When each vertex was last met.
    pub(super) met: Vec<u32>,
    pub(super) now: u32,
    pub(super) live_triangles: u64,
    pub(super) live_vertices: u64,
    /// Corners at the two vertices of an edge.
    pub(super) around: [Vec<u32>; 2],
}

impl State {
    /// Triangles left.
    pub(super) const fn triangles(&self) -> u64 {
        self.live_triangles
    }

    /// Vertices of triangles left.
    pub(super) const fn vertices(&self) -> u64 {
        self.live_vertices
    }

    /// The mesh that is left.
    pub(super) fn finish(mut self) -> Mesh {
        let mesh = std::mem::take(&mut self.mesh);
        // What follows takes memory, too.
        drop(self);
        let gone: Vec<bool> = mesh.triangles.iter().map(|&t| t == GONE).collect();
        clean::unreferenced(mesh.keep_triangles(|triangle| !gone[triangle])).0
    }

    /// A vertex in the box of size 1.
    pub(super) fn place(&self, vertex: u32) -> V3 {
        scale(
            sub(wide(self.mesh.positions[vertex as usize]), self.frame.origin),
            self.frame.scale,
        )
    }

    /// Cost of an edge's collapse, the place where it would lead, and the error there, all in the box of size 1.
    pub(super) fn collapsed(&self, edge: u32) -> (f64, V3, f64) {
        let [u, v] = self.ends[edge as usize];
        let quadric = self.quadrics[u as usize].plus(&self.quadrics[v as usize]);
        let fixed = |vertex: u32| self.flags[vertex as usize] & FIXED != 0;
        let place = match (fixed(u), fixed(v)) {
            (true, _) => self.place(u),
            (_, true) => self.place(v),
            _ => quadric
                .least()
                .unwrap_or_else(|| scale(add(self.place(u), self.place(v)), 0.5)),
        };
        let cost = quadric.at(place);
        (cost, place, quadric.distance(cost))
    }

    /// Takes the cheapest edge, of those up to a class.
    pub(super) fn next(&mut self, most_class: u32, most_error: f64) -> Collapse {
        let Some(edge) = self.queue.pop(most_class) else {
            return Collapse::End;
        };
        if self.edges[edge as usize] == Edge::Gone {
            return Collapse::None;
        }
        let (cost, place, error) = self.collapsed(edge);
        if self.edges[edge as usize] == Edge::Stale && class(cost) > self.queue.class() {
            self.edges[edge as usize] = Edge::Current;
            self.queue.push(edge, class(cost));
            return Collapse::None;
        }
        let error = error / self.frame.scale;
        if error > most_error || !self.may_collapse(edge, place) {
            self.edges[edge as usize] = Edge::Refused;
            return Collapse::None;
        }
        self.collapse(edge, place);
        Collapse::Done(error)
    }

    /// Collects the corners at a vertex, and forgets those that are gone.
    fn corners_at(&mut self, vertex: u32, which: usize) {
        let around = &mut self.around[which];
        around.clear();
        let mut at = self.first[vertex as usize];
        while at != NONE {
            if self.mesh.triangles[at as usize / 3] != GONE {
                around.push(at);
            }
            at = self.next[at as usize];
        }
        self.link_corners(vertex, which);
    }

    /// Makes the collected corners the list of a vertex.
    fn link_corners(&mut self, vertex: u32, which: usize) {
        let around = &self.around[which];
        self.first[vertex as usize] = around.first().copied().unwrap_or(NONE);
        for pair in around.windows(2) {
            self.next[pair[0] as usize] = pair[1];
        }
        if let Some(&last) = around.last() {
            self.next[last as usize] = NONE;
        }
    }

    /// Whether a manifold stays one and no triangle turns over when an edge collapses to a place. Leaves the corners at both
    /// ends in `around`.
    fn may_collapse(&mut self, edge: u32, place: V3) -> bool {
        let [u, v] = self.ends[edge as usize];
        self.corners_at(u, 0);
        self.corners_at(v, 1);
        let flags = [u, v].map(|vertex| self.flags[vertex as usize]);
        if flags[0] & flags[1] & FIXED != 0 {
            return false;
        }
        // Vertices beside u are met now, those beside u and v one later.
        if self.now >= NONE - 2 {
            self.met.fill(0);
            self.now = 0;
        }
        let (beside_u, beside_both) = (self.now + 1, self.now + 2);
        self.now += 2;
        let triangles = &self.mesh.triangles;
        for &corner in &self.around[0] {
            for vertex in triangles[corner as usize / 3] {
                self.met[vertex as usize] = beside_u;
            }
        }
        let (mut common, mut shared) = (0, 0);
        for &corner in &self.around[1] {
            let triangle = triangles[corner as usize / 3];
            shared += usize::from(triangle.contains(&u));
            for vertex in triangle.into_iter().filter(|&vertex| vertex != u && vertex != v) {
                let met = &mut self.met[vertex as usize];
                if *met == beside_u {
                    *met = beside_both;
                    common += 1;
                }
            }
        }
        if common != shared || shared == 0 || shared > 2 {
            return false;
        }
        // Two borders would touch.
        if shared == 2 && flags[0] & flags[1] & BORDER != 0 {
            return false;
        }
        // Two triangles would fall onto each other.
        let others = |corner: u32, one: u32| triangles[corner as usize / 3].into_iter().filter(move |&w| w != one);
        let joins_common = |corners: &[u32], one: u32| {
            corners
                .iter()
                .any(|&corner| others(corner, one).all(|w| w != u && w != v && self.met[w as usize] == beside_both))
        };
        let [around_u, around_v] = &self.around;
        if shared == 2 && joins_common(around_u, u) && joins_common(around_v, v) {
            return false;
        }
        if shared == 1 && self.leaves_one_alone(u, v) {
            return false;
        }
        let turns = |corners: &[u32], other: u32| {
            corners.iter().any(|&corner| {
                let triangle = triangles[corner as usize / 3];
                if triangle.contains(&other) {
                    return false;
                }
                let k = corner as usize % 3;
                let [a, b] = [triangle[(k + 1) % 3], triangle[(k + 2) % 3]].map(|vertex| self.place(vertex));
                let before = double_area(self.place(triangle[k]), a, b);
                let after = double_area(place, a, b);
                let lengths = norm(before) * norm(after);
                // A triangle without area has no normal to keep.
                norm(before) > 0.0 && dot(before, after) <= LEAST_COSINE * lengths
            })
        };
        !turns(around_u, v) && !turns(around_v, u)
    }

    /// Whether the third vertex of the only triangle at an edge, whose corners at v are in `around`, has no other one.
    fn leaves_one_alone(&self, u: u32, v: u32) -> bool {
        let triangle = |corner: u32| self.mesh.triangles[corner as usize / 3];
        let third = |corner: &u32| {
            let triangle = triangle(*corner);
            let third = triangle.into_iter().find(|&w| w != u && w != v);
            third.filter(|_| triangle.contains(&u))
        };
        let Some(third) = self.around[1].iter().find_map(third) else {
            return false;
        };
        let mut at = self.first[third as usize];
        while at != NONE {
            if triangle(at) != GONE && !triangle(at).contains(&u) {
                return false;
            }
            at = self.next[at as usize];
        }
        true
    }

    /// Moves u to a place and v onto it; the corners at both are in `around`.
    fn collapse(&mut self, edge: u32, place: V3) {
        let [u, v] = self.ends[edge as usize];
        if let Some(colors) = &mut self.mesh.colors {
            let [pu, pv] = [u, v].map(|v| {
                scale(
                    sub(wide(self.mesh.positions[v as usize]), self.frame.origin),
                    self.frame.scale,
                )
            });
            let along = sub(pv, pu);
            let t = (dot(sub(place, pu), along) / dot(along, along)).clamp(0.0, 1.0);
            // Both at one place.
            let t = if t.is_nan() { 0.5 } else { t } as f32;
            let [from, to] = [u, v].map(|vertex| colors[vertex as usize]);
            colors[u as usize] = std::array::from_fn(|i| from[i] + (to[i] - from[i]) * t);
        }
        self.mesh.positions[u as usize] = narrow(add(scale(place, 1.0 / self.frame.scale), self.frame.origin));
        self.quadrics[u as usize] = self.quadrics[u as usize].plus(&self.quadrics[v as usize]);
        self.flags[u as usize] |= self.flags[v as usize];
        self.edges[edge as usize] = Edge::Gone;
        self.live_vertices -= 1;

        // Triangles at the edge go, and of their other two edges the one at v becomes that at u.
        let [mut around_u, mut around_v] = std::mem::take(&mut self.around);
        let mut renamed = [[NONE; 2]; 2];
        let mut shared = 0;
        for &corner in &around_v {
            let (t, k) = (corner as usize / 3, corner as usize % 3);
            let triangle = self.mesh.triangles[t];
            if !triangle.contains(&u) {
                continue;
            }
            let around_t = [0, 1, 2].map(|j| self.edge_of[3 * t + (k + j) % 3]);
            // From v the triangle runs to u or comes from it.
            let (at_u, at_v) = match triangle[(k + 1) % 3] == u {
                true => (around_t[1], around_t[2]),
                false => (around_t[1], around_t[0]),
            };
            renamed[shared] = [at_v, at_u];
            shared += 1;
            self.edges[at_v as usize] = Edge::Gone;
            self.mesh.triangles[t] = GONE;
            self.live_triangles -= 1;
        }
        let is_left = |corner: &u32| self.mesh.triangles[*corner as usize / 3] != GONE;
        around_u.retain(is_left);
        around_v.retain(is_left);
        for &corner in &around_v {
            let (t, k) = (corner as usize / 3, corner as usize % 3);
            self.mesh.triangles[t][k] = u;
            for at in [corner as usize, 3 * t + (k + 2) % 3] {
                let edge = &mut self.edge_of[at];
                if let Some([_, other]) = renamed[..shared].iter().find(|pair| pair[0] == *edge) {
                    *edge = *other;
                }
                for end in &mut self.ends[*edge as usize] {
                    if *end == v {
                        *end = u;
                    }
                }
            }
        }
        around_u.extend_from_slice(&around_v);
        for &corner in &around_u {
            let (t, k) = (corner as usize / 3, corner as usize % 3);
            for at in [corner as usize, 3 * t + (k + 2) % 3] {
                self.touch(self.edge_of[at]);
            }
        }
        self.around = [around_u, around_v];
        self.link_corners(u, 0);
        self.first[v as usize] = NONE;
    }

    /// Notes that the quadric of an edge's end has grown.
    fn touch(&mut self, edge: u32) {
        let state = &mut self.edges[edge as usize];
        match *state {
            Edge::Current => *state = Edge::Stale,
            Edge::Refused => {
                *state = Edge::Current;
                let cost = self.collapsed(edge).0;
                self.queue.push(edge, class(cost));
            }
            Edge::Stale | Edge::Gone => {}
        }
    }
}
