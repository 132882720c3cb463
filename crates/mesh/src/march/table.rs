//! Triangles of the 256 kinds of cells, made by rule.
//!
//! On a face with two opposite corners inside there are two ways to draw the border; here faces always join the *outside*
//! corners, so each inside corner is cut off by itself. The rule looks at the face alone, hence neighbouring cells agree
//! and no crack can appear. Borders of the six faces make rings; rings are cut into triangles so that no diagonal lies in
//! a face, where the neighbour could have the same one and four triangles would meet.

use std::sync::LazyLock;

/// Corners of a cell; corner c is the one at x = c & 1, y = c >> 1 & 1, z = c >> 2.
pub(super) const CORNERS: usize = 8;

/// Edges of a cell: the lower corner and the axis along which the edge runs.
pub(super) const EDGES: [(u8, u8); 12] = {
    let mut edges = [(0, 0); 12];
    let (mut n, mut axis) = (0, 0);
    while axis < 3 {
        let mut corner = 0;
        while corner < 8 {
            if corner >> axis & 1 == 0 {
                edges[n] = (corner, axis);
                n += 1;
            }
            corner += 1;
        }
        axis += 1;
    }
    edges
};

/// Most triangles of a cell.
const MAX_TRIANGLES: usize = 5;

/// What one kind of cell gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Case {
    triangles: [[u8; 3]; MAX_TRIANGLES],
    count: u8,
}

impl Case {
    /// Edges of the cell on which the triangles have their corners, counter-clockwise seen from outside.
    pub(super) fn triangles(&self) -> &[[u8; 3]] {
        &self.triangles[..usize::from(self.count)]
    }

    fn push(&mut self, triangle: [u8; 3]) {
        self.triangles[usize::from(self.count)] = triangle;
        self.count += 1;
    }
}

/// By the set of corners inside, bit c for corner c.
pub(super) static CASES: LazyLock<[Case; 256]> = LazyLock::new(|| {
    std::array::from_fn(|inside| {
        let mut case = Case::default();
        for ring in rings(inside as u8) {
            cut(&ring, &mut case);
        }
        case
    })
});

/// Corners of the faces of a cell, counter-clockwise seen from outside.
fn faces() -> impl Iterator<Item = [u8; 4]> {
    (0..6_u8).map(|face| {
        let (axis, side) = (face / 2, face % 2);
        let (u, v) = (1 << ((axis + 1) % 3), 1 << ((axis + 2) % 3));
        let base = side << axis;
        let mut corners = [base, base | u, base | u | v, base | v];
        if side == 0 {
            corners.reverse();
        }
        corners
    })
}

/// The edge between two neighbouring corners.
fn edge_between(a: u8, b: u8) -> u8 {
    let (lower, axis) = (a & b, (a ^ b).trailing_zeros() as u8);
    EDGES.iter().position(|&edge| edge == (lower, axis)).unwrap_or_default() as u8
}

/// Rings of edges around the inside corners, in the direction of the triangles.
pub(super) fn rings(inside: u8) -> Vec<Vec<u8>> {
    let is_inside = |corner: u8| inside >> corner & 1 == 1;
    // On each face the border goes from the edge at which a run of inside corners begins to that at which it ends.
    let mut next = [None; 12];
    for face in faces() {
        for i in 0..4 {
            let (before, first) = (face[(i + 3) % 4], face[i]);
            if is_inside(before) || !is_inside(first) {
                continue;
            }
            let mut last = i;
            while is_inside(face[(last + 1) % 4]) {
                last += 1;
            }
            let end = edge_between(face[last % 4], face[(last + 1) % 4]);
            next[usize::from(edge_between(before, first))] = Some(end);
        }
    }
    let mut rings = Vec::new();
    for start in 0..12 {
        let mut ring = Vec::new();
        let mut at = start;
        while let Some(after) = next[usize::from(at)].take() {
            ring.push(at);
            at = after;
        }
        if !ring.is_empty() {
            rings.push(ring);
        }
    }
    rings
}

/// Whether two edges are edges of one face.
fn share_face(a: u8, b: u8) -> bool {
    let on = |edge: u8, axis: u8, side: u8| {
        let (corner, along) = EDGES[usize::from(edge)];
        along != axis && corner >> axis & 1 == side
    };
    (0..3).any(|axis| (0..2).any(|side| on(a, axis, side) && on(b, axis, side)))
}

/// Cuts a ring into triangles without a diagonal in a face; false when there is no such way, which is the case of no ring.
fn cut(ring: &[u8], case: &mut Case) -> bool {
    let last = ring.len() - 1;
    if last < 2 {
        return true;
    }
    for apex in 1..last {
        let in_face =
            (apex > 1 && share_face(ring[0], ring[apex])) || (apex + 1 < last && share_face(ring[apex], ring[last]));
        if in_face {
            continue;
        }
        let mut tried = *case;
        tried.push([ring[0], ring[apex], ring[last]]);
        if cut(&ring[..=apex], &mut tried) && cut(&ring[apex..], &mut tried) {
            *case = tried;
            return true;
        }
    }
    false
}
