//! What collapsing begins with: order, adjacency, quadrics, costs.

use std::thread;

use super::collapse::{BORDER, Edge, FIXED, Frame, LOCKED, NONE, State};
use super::quadric::Quadric;
use super::queue::{LAST, Queue, class};
use crate::Mesh;
use crate::curve::Curve;
use crate::edges::{Edges, ends};
use crate::parallel::threads;
use crate::vector::{cross, dot, double_area, norm, sub, unit};

/// Weight of a plane across an open border, per squared length, beside the area of triangles.
const BORDER_WEIGHT: f64 = 10.0;
/// Share of a triangle's area that holds its corners where they were. It keeps quadrics regular, and spreads vertices
/// evenly where planes leave them free; where the surface departs from its planes by more than a thousandth of an edge, it
/// counts for nothing.
const HOLD: f64 = 1e-6;
/// Threads are started only for more edges than this.
const PARALLEL_FROM: usize = 1 << 16;

/// What is known of vertices beside their places.
pub(super) struct Known {
    pub(super) quadrics: Vec<Quadric>,
    pub(super) flags: Vec<u8>,
}

impl State {
    /// A mesh without doubled and degenerate triangles, with at least one triangle.
    pub(super) fn new(mesh: Mesh) -> Self {
        let frame = Frame::around(&mesh);
        let (mesh, _) = in_order(mesh);
        Self::of_ordered(mesh, frame, None, threads())
    }

    /// The same for a mesh of which some is known: that whose collapses go on.
    pub(super) fn going_on(mesh: Mesh, frame: Frame, mut known: Known) -> Self {
        let (mesh, order) = in_order(mesh);
        known.quadrics = order.iter().map(|&vertex| known.quadrics[vertex as usize]).collect();
        known.flags = order.iter().map(|&vertex| known.flags[vertex as usize]).collect();
        Self::of_ordered(mesh, frame, Some(known), threads())
    }

    /// A mesh whose triangles are sorted, each from its lowest vertex on.
    pub(super) fn of_ordered(mesh: Mesh, frame: Frame, known: Option<Known>, threads: usize) -> Self {
        let (vertices, triangles) = (mesh.positions.len(), mesh.triangles.len());
        let (quadrics, flags) = match known {
            Some(known) => (known.quadrics, known.flags),
            None => (Vec::new(), vec![0; vertices]),
        };
        let mut state = Self {
            frame,
            quadrics,
            flags,
            first: vec![NONE; vertices],
            next: vec![NONE; 3 * triangles],
            edge_of: vec![0; 3 * triangles],
            ends: Vec::new(),
            edges: Vec::new(),
            queue: Queue::new(Vec::new()),
            met: Vec::new(),
            now: 0,
            live_triangles: triangles as u64,
            live_vertices: 0,
            around: [Vec::new(), Vec::new()],
            mesh,
        };
        state.link();
        if state.quadrics.is_empty() {
            state.quadrics = state.all_quadrics();
        }
        state.met = vec![0; vertices];
        state.queue = Queue::new(state.all_classes(threads));
        state.edges = (0..state.ends.len() as u32)
            .map(|edge| match state.is_locked(edge) {
                true => Edge::Gone,
                false => Edge::Current,
            })
            .collect();
        state
    }

    /// Whether an edge has an end that stays where it is while parts collapse.
    fn is_locked(&self, edge: u32) -> bool {
        let [u, v] = self.ends[edge as usize];
        (self.flags[u as usize] | self.flags[v as usize]) & LOCKED != 0
    }

    /// Lists corners by vertex, numbers edges, finds borders.
    fn link(&mut self) {
        let triangles = &self.mesh.triangles;
        for (corner, &vertex) in (0..).zip(triangles.as_flattened()) {
            self.next[corner as usize] = self.first[vertex as usize];
            self.first[vertex as usize] = corner;
        }
        self.live_vertices = self.first.iter().filter(|&&corner| corner != NONE).count() as u64;
        let edges = Edges::new(&self.mesh);
        self.ends = Vec::with_capacity(edges.len());
        for (edge, number) in edges.iter(triangles).zip(0..) {
            self.ends.push([edge.low, edge.high]);
            for &corner in edge.corners {
                self.edge_of[corner as usize] = number;
            }
            let flag = match edge.corners.len() {
                1 => BORDER,
                2 => 0,
                _ => FIXED,
            };
            self.flags[edge.low as usize] |= flag;
            self.flags[edge.high as usize] |= flag;
        }
    }

    fn all_quadrics(&self) -> Vec<Quadric> {
        let mut quadrics = vec![Quadric::default(); self.mesh.positions.len()];
        let mut edge_triangles = vec![0_u8; self.ends.len()];
        for &edge in &self.edge_of {
            let count = &mut edge_triangles[edge as usize];
            *count = count.saturating_add(1);
        }
        for (t, &triangle) in self.mesh.triangles.iter().enumerate() {
            let [a, b, c] = triangle.map(|vertex| self.place(vertex));
            let double = double_area(a, b, c);
            let Some(normal) = unit(double) else { continue };
            let share = norm(double) / 6.0;
            let plane = Quadric::plane(normal, a, share).of_area(share);
            for vertex in triangle {
                let quadric = &mut quadrics[vertex as usize];
                *quadric = quadric
                    .plus(&plane)
                    .plus(&Quadric::point(self.place(vertex), HOLD * share));
            }
            for corner in 3 * t..3 * t + 3 {
                if edge_triangles[self.edge_of[corner] as usize] != 1 {
                    continue;
                }
                let [from, to] = ends(&self.mesh.triangles, corner as u32);
                let along = sub(self.place(to), self.place(from));
                let Some(across) = unit(cross(along, normal)) else {
                    continue;
                };
                let plane = Quadric::plane(across, self.place(from), BORDER_WEIGHT * dot(along, along));
                for vertex in [from, to] {
                    let quadric = &mut quadrics[vertex as usize];
                    *quadric = quadric.plus(&plane);
                }
            }
        }
        quadrics
    }

    /// The class of every edge, the last for those that wait.
    fn all_classes(&self, threads: usize) -> Vec<u32> {
        let count = self.ends.len();
        let share = match count {
            0..=PARALLEL_FROM => count,
            _ => count.div_ceil(threads),
        };
        let mut classes = vec![0; count];
        let class_of = |edge| match self.is_locked(edge) {
            true => LAST,
            false => class(self.collapsed(edge).0),
        };
        thread::scope(|scope| {
            let fill = |(part, classes): (usize, &mut [u32])| {
                for (of_edge, edge) in classes.iter_mut().zip((part * share) as u32..) {
                    *of_edge = class_of(edge);
                }
            };
            let mut parts = classes.chunks_mut(share.max(1)).enumerate();
            let own = parts.next();
            for part in parts {
                scope.spawn(move || fill(part));
            }
            own.into_iter().for_each(fill);
        });
        classes
    }
}

/// The same mesh with vertices along a curve through space and triangles by their lowest vertex, so that what is near each
/// other lies together; and which vertex each was.
fn in_order(mesh: Mesh) -> (Mesh, Vec<u32>) {
    let (mut mesh, order) = along_curve(mesh);
    sort(&mut mesh.triangles);
    (mesh, order)
}

/// The same mesh with vertices along a curve through space, and which vertex each was.
pub(super) fn along_curve(mut mesh: Mesh) -> (Mesh, Vec<u32>) {
    let Some(curve) = Curve::around(&mesh.positions) else {
        return (mesh, Vec::new());
    };
    let mut places = vec![(0, 0); mesh.positions.len()];
    let share = places.len().div_ceil(threads());
    thread::scope(|scope| {
        let parts = places
            .chunks_mut(share)
            .zip(mesh.positions.chunks(share))
            .zip((0..).step_by(share));
        for ((places, positions), first) in parts {
            let curve = &curve;
            scope.spawn(move || {
                for ((place, &p), vertex) in places.iter_mut().zip(positions).zip(first..) {
                    *place = (curve.place(p), vertex);
                }
            });
        }
    });
    places.sort_unstable();
    let order: Vec<u32> = places.into_iter().map(|(_, vertex)| vertex).collect();
    let mut new_of = vec![0; order.len()];
    for (&old, new) in order.iter().zip(0..) {
        new_of[old as usize] = new;
    }
    mesh.take_vertices(&order);
    for vertex in mesh.triangles.as_flattened_mut() {
        *vertex = new_of[*vertex as usize];
    }
    (mesh, order)
}

/// Sorts triangles by their lowest vertex, from which on each goes in its direction.
pub(super) fn sort(triangles: &mut [[u32; 3]]) {
    for triangle in triangles.iter_mut() {
        let lowest = (0..3).fold(0, |lowest, k| if triangle[k] < triangle[lowest] { k } else { lowest });
        triangle.rotate_left(lowest);
    }
    triangles.sort_unstable();
}
