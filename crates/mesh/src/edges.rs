//! Which triangles meet at which edge, in flat arrays.

use crate::Mesh;

/// The edges of a mesh with the corners at which they begin.
///
/// Corner 3 t + k begins the edge from vertex k to vertex (k + 1) mod 3 of triangle t. Edges are in the order of
/// (lower vertex, higher vertex), corners of an edge in ascending order. Triangles with two equal vertices have no edges.
/// 4 B per corner and 4 B per edge.
pub(crate) struct Edges {
    corners: Vec<u32>,
    /// Where the corners of each edge begin, and the end.
    starts: Vec<u32>,
}

/// An edge and the triangles at it.
#[derive(Clone, Copy)]
pub(crate) struct Edge<'a> {
    /// The lower of its vertices.
    pub(crate) low: u32,
    /// The higher one.
    pub(crate) high: u32,
    /// Corners at which it begins.
    pub(crate) corners: &'a [u32],
}

/// The vertices of the edge that a corner begins, in its triangle's direction.
pub(crate) fn ends(triangles: &[[u32; 3]], corner: u32) -> [u32; 2] {
    let triangle = triangles[corner as usize / 3];
    let k = corner as usize % 3;
    [triangle[k], triangle[(k + 1) % 3]]
}

/// The same edge without direction.
fn key(triangles: &[[u32; 3]], corner: u32) -> (u32, u32) {
    let [a, b] = ends(triangles, corner);
    (a.min(b), a.max(b))
}

/// Whether a triangle has two equal vertices.
pub(crate) fn is_degenerate([a, b, c]: [u32; 3]) -> bool {
    a == b || b == c || c == a
}

impl Edges {
    pub(crate) fn new(mesh: &Mesh) -> Self {
        let triangles = &mesh.triangles[..];
        let whole = |&corner: &u32| !is_degenerate(triangles[corner as usize / 3]);
        let all = || (0..3 * triangles.len() as u32).filter(whole);
        // A counting sort by the lower vertex, then short sorts by the higher.
        let mut first = vec![0_u32; mesh.positions.len() + 1];
        for corner in all() {
            first[key(triangles, corner).0 as usize + 1] += 1;
        }
        for vertex in 1..first.len() {
            first[vertex] += first[vertex - 1];
        }
        let mut corners = vec![0; first.last().map_or(0, |&end| end as usize)];
        let mut next = first.clone();
        for corner in all() {
            let next = &mut next[key(triangles, corner).0 as usize];
            corners[*next as usize] = corner;
            *next += 1;
        }
        let mut starts = Vec::with_capacity(corners.len() / 2 + 1);
        for range in first.windows(2) {
            let [begin, end] = [range[0] as usize, range[1] as usize];
            let group = &mut corners[begin..end];
            group.sort_unstable_by_key(|&corner| (key(triangles, corner).1, corner));
            let mut last = None;
            for (&corner, at) in group.iter().zip(range[0]..) {
                let high = key(triangles, corner).1;
                if last != Some(high) {
                    starts.push(at);
                    last = Some(high);
                }
            }
        }
        starts.push(corners.len() as u32);
        Self { corners, starts }
    }

    /// Number of edges.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// All edges of the mesh that they are of.
    pub(crate) fn iter<'a>(&'a self, triangles: &'a [[u32; 3]]) -> impl Iterator<Item = Edge<'a>> + 'a {
        self.starts.windows(2).map(move |range| {
            let corners = &self.corners[range[0] as usize..range[1] as usize];
            let (low, high) = key(triangles, corners[0]);
            Edge { low, high, corners }
        })
    }

    /// For each corner the corner of the other triangle that begins the same edge, where exactly two triangles meet;
    /// `u32::MAX` elsewhere.
    pub(crate) fn opposite(&self, triangles: usize) -> Vec<u32> {
        let mut opposite = vec![u32::MAX; 3 * triangles];
        for range in self.starts.windows(2) {
            if let [a, b] = self.corners[range[0] as usize..range[1] as usize] {
                opposite[a as usize] = b;
                opposite[b as usize] = a;
            }
        }
        opposite
    }
}
