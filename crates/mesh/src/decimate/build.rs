//! What collapsing begins with: order, adjacency, quadrics, costs.

use std::thread;

use super::collapse::{BORDER, Edge, FIXED, NONE, State};
use super::quadric::Quadric;
use super::queue::{Queue, class};
use crate::Mesh;
use crate::curve::Curve;
use crate::edges::{Edges, ends};
use crate::vector::{cross, dot, double_area, norm, sub, unit, wide};

/// Weight of a plane across an open border, per squared length, beside the area of triangles.
const BORDER_WEIGHT: f64 = 10.0;
/// Share of a triangle's area that holds its corners where they were. It keeps quadrics regular, and spreads vertices
/// evenly where planes leave them free; where the surface departs from its planes by more than a thousandth of an edge, it
/// counts for nothing.
const HOLD: f64 = 1e-6;
/// Threads are started only for more edges than this.
const PARALLEL_FROM: usize = 1 << 16;

impl State {
    /// A mesh without doubled and degenerate triangles, with at least one triangle.
    pub(super) fn new(mesh: Mesh) -> Self {
        let mesh = in_order(mesh);
        let (vertices, triangles) = (mesh.positions.len(), mesh.triangles.len());
        let [low, high] = mesh.bounds().unwrap_or_default().map(wide);
        let size = sub(high, low).into_iter().fold(0.0, f64::max);
        let mut state = Self {
            origin: low,
            scale: if size > 0.0 { 1.0 / size } else { 1.0 },
            quadrics: Vec::new(),
            flags: vec![0; vertices],
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
        state.quadrics = state.all_quadrics();
        state.met = vec![0; vertices];
        state.queue = Queue::new(state.all_classes());
        state.edges = vec![Edge::Current; state.ends.len()];
        state
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

    /// The class of every edge.
    fn all_classes(&self) -> Vec<u32> {
        let count = self.ends.len();
        let threads = match count {
            0..=PARALLEL_FROM => 1,
            _ => thread::available_parallelism().map_or(1, usize::from).min(16),
        };
        let share = count.div_ceil(threads).max(1);
        let mut classes = vec![0; count];
        thread::scope(|scope| {
            for (part, classes) in classes.chunks_mut(share).enumerate() {
                scope.spawn(move || {
                    for (of_edge, edge) in classes.iter_mut().zip((part * share) as u32..) {
                        *of_edge = class(self.collapsed(edge).0);
                    }
                });
            }
        });
        classes
    }
}

/// The same mesh with vertices along a curve through space and triangles by their lowest vertex, so that what is near each
/// other lies together.
fn in_order(mut mesh: Mesh) -> Mesh {
    let Some(curve) = Curve::around(&mesh.positions) else {
        return mesh;
    };
    let mut order: Vec<(u64, u32)> = mesh.positions.iter().map(|&p| curve.place(p)).zip(0..).collect();
    order.sort_unstable();
    let order: Vec<u32> = order.into_iter().map(|(_, vertex)| vertex).collect();
    let mut new_of = vec![0; order.len()];
    for (&old, new) in order.iter().zip(0..) {
        new_of[old as usize] = new;
    }
    mesh.take_vertices(&order);
    for vertex in mesh.triangles.as_flattened_mut() {
        *vertex = new_of[*vertex as usize];
    }
    // Each keeps its direction and begins at its lowest vertex.
    for triangle in &mut mesh.triangles {
        let lowest = (0..3).fold(0, |lowest, k| if triangle[k] < triangle[lowest] { k } else { lowest });
        triangle.rotate_left(lowest);
    }
    mesh.triangles.sort_unstable();
    mesh
}
