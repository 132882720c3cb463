//! Tetrahedra that fill space, one corner of the outer ones at infinity.

use robust::{Coord3D, insphere, orient3d};

use super::Tetrahedra;
use crate::vector::{V3, wide};

/// No tetrahedron; as a point, the one at infinity.
pub(super) const NONE: u32 = u32::MAX;
/// Points of a place in the list that is free.
const FREE: [u32; 4] = [NONE; 4];
/// Bytes per tetrahedron: points, neighbours, place in the cavity.
pub(super) const TETRAHEDRON_BYTES: u64 = 16 + 16 + 4;

fn coord([x, y, z]: V3) -> Coord3D<f64> {
    Coord3D { x, y, z }
}

/// A number of the sign of (b - a) x (c - a) . (d - a), exactly.
pub(crate) fn orient(a: V3, b: V3, c: V3, d: V3) -> f64 {
    // Shewchuk's is positive for d below a, b, c counter-clockwise.
    orient3d(coord(b), coord(a), coord(c), coord(d))
}

/// Positive inside the sphere of a positive tetrahedron, negative outside, 0 on it, exactly.
pub(super) fn in_sphere([a, b, c, d]: [V3; 4], e: V3) -> f64 {
    insphere(coord(b), coord(a), coord(c), coord(d), coord(e))
}

/// A face of the cavity of a point: the tetrahedron inside and its corner opposite, and the same of the one outside.
#[derive(Clone, Copy)]
struct Face {
    inside: u32,
    corner: usize,
    outside: u32,
    back: usize,
}

/// Space cut into tetrahedra, all positive; where a corner is at infinity, any point beyond the face in its stead.
pub(super) struct Space<'a> {
    points: &'a [[f32; 3]],
    tetrahedra: Vec<[u32; 4]>,
    neighbors: Vec<[u32; 4]>,
    free: Vec<u32>,
    /// One near the last point.
    last: u32,
    /// Tetrahedra in the way of a point; where in this list each is, if it is; and the faces beyond their corners.
    cavity: Vec<u32>,
    place: Vec<u32>,
    face_of: Vec<[u32; 4]>,
    faces: Vec<Face>,
    /// New tetrahedra before they have a place: neighbours by number of face.
    linked: Vec<[u32; 4]>,
    ids: Vec<u32>,
}

impl<'a> Space<'a> {
    /// One positive tetrahedron, and four around it.
    pub(super) fn new(points: &'a [[f32; 3]], first: [u32; 4]) -> Self {
        let room = (super::PER_POINT as usize * points.len()).max(64);
        let mut space = Self {
            points,
            tetrahedra: Vec::with_capacity(room),
            neighbors: Vec::with_capacity(room),
            free: Vec::new(),
            last: 0,
            cavity: Vec::new(),
            place: Vec::with_capacity(room),
            face_of: Vec::new(),
            faces: Vec::new(),
            linked: Vec::new(),
            ids: Vec::new(),
        };
        space.tetrahedra.push(first);
        space.neighbors.push([1, 2, 3, 4]);
        space.place.resize(5, 0);
        for corner in 0..4 {
            // Beyond the face lies the other side: two corners change places.
            let mut outer = first;
            outer[corner] = NONE;
            let (a, b) = ((corner + 1) % 4, (corner + 2) % 4);
            outer.swap(a, b);
            let mut neighbors = [1, 2, 3, 4];
            neighbors[corner] = 0;
            neighbors.swap(a, b);
            space.tetrahedra.push(outer);
            space.neighbors.push(neighbors);
        }
        space
    }

    fn at(&self, point: u32) -> V3 {
        wide(self.points[point as usize])
    }

    /// Sign of a tetrahedron after a corner has moved to a place; no other corner may be at infinity.
    fn side(&self, tetrahedron: [u32; 4], corner: usize, to: V3) -> f64 {
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| if i == corner { to } else { self.at(tetrahedron[i]) });
        orient(a, b, c, d)
    }

    /// Whether a tetrahedron is in the way of a point.
    fn is_in_the_way(&self, t: u32, place: V3) -> bool {
        let tetrahedron = self.tetrahedra[t as usize];
        let Some(infinite) = tetrahedron.iter().position(|&point| point == NONE) else {
            return in_sphere(tetrahedron.map(|point| self.at(point)), place) > 0.0;
        };
        let side = self.side(tetrahedron, infinite, place);
        if side != 0.0 {
            return side > 0.0;
        }
        // In the plane of the face the sphere of the tetrahedron behind it cuts the circle.
        let behind = self.tetrahedra[self.neighbors[t as usize][infinite] as usize];
        in_sphere(behind.map(|point| self.at(point)), place) > 0.0
    }

    /// A tetrahedron in the way of a place that no point is at: walks towards it, which ends among Delaunay tetrahedra
    /// (Devillers, Pion and Teillaud 2002).
    fn locate(&self, place: V3) -> u32 {
        let mut at = self.last;
        let mut from = NONE;
        'walk: loop {
            let tetrahedron = self.tetrahedra[at as usize];
            if let Some(infinite) = tetrahedron.iter().position(|&point| point == NONE) {
                // Reached through its face from inside, or the start.
                if self.side(tetrahedron, infinite, place) > 0.0 {
                    return at;
                }
                (from, at) = (at, self.neighbors[at as usize][infinite]);
                continue;
            }
            for corner in 0..4 {
                let next = self.neighbors[at as usize][corner];
                if next != from && self.side(tetrahedron, corner, place) < 0.0 {
                    (from, at) = (at, next);
                    continue 'walk;
                }
            }
            return at;
        }
    }

    /// Whether a tetrahedron is in the cavity.
    fn is_in_cavity(&self, t: u32) -> bool {
        self.cavity.get(self.place[t as usize] as usize) == Some(&t)
    }

    /// Puts in a point at a place of its own.
    pub(super) fn insert(&mut self, point: u32) {
        let place = self.at(point);
        self.dig(place);
        self.link();
        self.fill(point);
    }

    /// Collects the tetrahedra in the way, and the faces around them.
    fn dig(&mut self, place: V3) {
        self.cavity.clear();
        self.faces.clear();
        let first = self.locate(place);
        self.place[first as usize] = 0;
        self.cavity.push(first);
        let mut done = 0;
        while let Some(&t) = self.cavity.get(done) {
            done += 1;
            for next in self.neighbors[t as usize] {
                if !self.is_in_cavity(next) && self.is_in_the_way(next, place) {
                    self.place[next as usize] = self.cavity.len() as u32;
                    self.cavity.push(next);
                }
            }
        }
        self.face_of.clear();
        for &inside in &self.cavity {
            let mut faces = [NONE; 4];
            for (corner, number) in faces.iter_mut().enumerate() {
                let outside = self.neighbors[inside as usize][corner];
                if self.is_in_cavity(outside) {
                    continue;
                }
                *number = self.faces.len() as u32;
                let back = self.corner_across(outside, inside);
                self.faces.push(Face {
                    inside,
                    corner,
                    outside,
                    back,
                });
            }
            self.face_of.push(faces);
        }
    }

    /// The corner of a tetrahedron across from which a neighbour lies.
    fn corner_across(&self, t: u32, neighbor: u32) -> usize {
        let across = self.neighbors[t as usize].iter().position(|&n| n == neighbor);
        across.unwrap_or_default()
    }

    /// Finds for each face the faces next to it, by going around their common edges through the cavity.
    fn link(&mut self) {
        self.linked.clear();
        for &Face { inside, corner, .. } in &self.faces {
            let tetrahedron = self.tetrahedra[inside as usize];
            let mut links = [NONE; 4];
            for other in (0..4).filter(|&other| other != corner) {
                // Of the two faces at the edge one is the cavity's; through the other one goes on.
                let (mut t, mut exit, mut pivot) = (inside, other, tetrahedron[corner]);
                while self.face_of[self.place[t as usize] as usize][exit] == NONE {
                    let next = self.neighbors[t as usize][exit];
                    let entered = self.corner_across(next, t);
                    let corners = self.tetrahedra[next as usize];
                    // The next exit is opposite to the corner that both have beside the edge.
                    exit = corners.iter().position(|&c| c == pivot).unwrap_or_default();
                    pivot = corners[entered];
                    t = next;
                }
                links[other] = self.face_of[self.place[t as usize] as usize][exit];
            }
            self.linked.push(links);
        }
    }

    /// Joins every face with the point.
    fn fill(&mut self, point: u32) {
        self.ids.clear();
        self.free.extend_from_slice(&self.cavity);
        for _ in 0..self.faces.len() {
            let id = self.free.pop().unwrap_or_else(|| {
                self.tetrahedra.push(FREE);
                self.neighbors.push([NONE; 4]);
                self.place.push(0);
                self.tetrahedra.len() as u32 - 1
            });
            self.ids.push(id);
        }
        // Points are read before any place is written.
        for (face, links) in self.faces.iter().zip(&mut self.linked) {
            for link in links.iter_mut().filter(|link| **link != NONE) {
                *link = self.ids[*link as usize];
            }
            links[face.corner] = face.outside;
        }
        let corners: Vec<[u32; 4]> = self
            .faces
            .iter()
            .map(|face| {
                let mut corners = self.tetrahedra[face.inside as usize];
                corners[face.corner] = point;
                corners
            })
            .collect();
        for &t in &self.free {
            self.tetrahedra[t as usize] = FREE;
        }
        for (i, (&id, face)) in self.ids.iter().zip(&self.faces).enumerate() {
            self.tetrahedra[id as usize] = corners[i];
            self.neighbors[id as usize] = self.linked[i];
            self.neighbors[face.outside as usize][face.back] = id;
            self.last = id;
        }
    }

    /// The finite ones, in order.
    pub(super) fn finish(self) -> Tetrahedra {
        let Self {
            tetrahedra: mut points,
            mut neighbors,
            place: mut new_of,
            ..
        } = self;
        let mut count = 0;
        for (new, tetrahedron) in new_of.iter_mut().zip(&points) {
            // Free places have all corners there.
            let is_finite = !tetrahedron.contains(&NONE);
            *new = if is_finite { count } else { NONE };
            count += u32::from(is_finite);
        }
        // New numbers are not above old ones, so nothing is overwritten that is still to be read.
        for t in 0..new_of.len() {
            if new_of[t] != NONE {
                let new = new_of[t] as usize;
                points[new] = points[t];
                neighbors[new] = neighbors[t].map(|neighbor| new_of[neighbor as usize]);
            }
        }
        points.truncate(count as usize);
        neighbors.truncate(count as usize);
        Tetrahedra { points, neighbors }
    }
}
