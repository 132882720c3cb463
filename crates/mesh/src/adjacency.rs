//! Adjacency: the triangles around each vertex, and across each edge.

use crate::Mesh;
use crate::edges::{Edges, ends};

/// Triangles around vertices and across edges, in flat arrays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adjacency {
    /// Where the corners of each vertex begin in `corners`, and the end: one more than there are vertices.
    pub first_corner: Vec<u32>,
    /// Corners by vertex, ascending: corner 3 t + k is vertex k of triangle t.
    pub corners: Vec<u32>,
    /// Across edge k of a triangle, from its vertex k to the next, the other triangle where exactly two meet: its number,
    /// with [`TURNED`] added where the two run along the edge in the same direction, so that their normals are on opposite
    /// sides; [`ALONE`] elsewhere.
    pub across: Vec<[u32; 3]>,
    /// Edges at which exactly two triangles meet.
    pub inner_edges: u32,
}

/// See [`Adjacency::across`].
pub const TURNED: u32 = 1 << 31;
/// See [`Adjacency::across`].
pub const ALONE: u32 = u32::MAX;

impl Adjacency {
    /// Of a mesh; a triangle with two equal vertices has nothing across its edges.
    #[must_use]
    pub fn new(mesh: &Mesh) -> Self {
        let triangles = mesh.triangles();
        let vertices = mesh.positions().len();
        let mut first_corner = vec![0_u32; vertices + 1];
        for &vertex in triangles.as_flattened() {
            first_corner[vertex as usize + 1] += 1;
        }
        for vertex in 0..vertices {
            first_corner[vertex + 1] += first_corner[vertex];
        }
        let mut next = first_corner.clone();
        let mut corners = vec![0; 3 * triangles.len()];
        for (&vertex, corner) in triangles.as_flattened().iter().zip(0..) {
            let at = &mut next[vertex as usize];
            corners[*at as usize] = corner;
            *at += 1;
        }
        let opposite = Edges::new(mesh).opposite(triangles.len());
        let other = |corner: u32| match opposite[corner as usize] {
            ALONE => ALONE,
            other => {
                let turned = ends(triangles, corner) == ends(triangles, other);
                other / 3 + if turned { TURNED } else { 0 }
            }
        };
        let across: Vec<[u32; 3]> = (0..triangles.len() as u32)
            .map(|triangle| [0, 1, 2].map(|k| other(3 * triangle + k)))
            .collect();
        let pairs = across.as_flattened().iter().filter(|&&other| other != ALONE).count();
        Self {
            first_corner,
            corners,
            across,
            inner_edges: (pairs / 2) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::shapes;

    #[test]
    fn every_corner_is_at_its_vertex_and_every_edge_has_two_sides() {
        let sphere = shapes::sphere(8, 1.0);
        let found = Adjacency::new(&sphere);
        let mut seen = 0;
        for vertex in 0..sphere.positions().len() {
            let range = found.first_corner[vertex] as usize..found.first_corner[vertex + 1] as usize;
            let corners = &found.corners[range];
            assert!(corners.is_sorted());
            for &corner in corners {
                assert_eq!(sphere.triangles().as_flattened()[corner as usize], vertex as u32);
                seen += 1;
            }
        }
        assert_eq!(seen, 3 * sphere.triangles().len());
        assert_eq!(found.inner_edges as usize, 3 * sphere.triangles().len() / 2);
        for (triangle, across) in (0..).zip(&found.across) {
            for other in across {
                assert!(found.across[*other as usize].contains(&triangle));
            }
        }
    }

    #[test]
    fn borders_crowds_and_turned_triangles_are_told() {
        let corners = vec![
            [0.0; 3],
            [1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0],
            [1.0, 1.0, 0.0],
            [0.5, 0.5, 1.0],
        ];
        let across = |triangles: Vec<[u32; 3]>| {
            let found = Adjacency::new(&Mesh::new(corners.clone(), triangles).unwrap());
            (found.across, found.inner_edges)
        };
        let (even, inner) = across(vec![[0, 1, 2], [2, 1, 3]]);
        assert_eq!((even, inner), (vec![[ALONE, 1, ALONE], [0, ALONE, ALONE]], 1));
        let (turned, inner) = across(vec![[0, 1, 2], [1, 2, 3]]);
        assert_eq!(
            (turned, inner),
            (vec![[ALONE, 1 + TURNED, ALONE], [TURNED, ALONE, ALONE]], 1)
        );
        let (crowded, inner) = across(vec![[0, 1, 2], [2, 1, 3], [2, 1, 4], [4, 4, 4]]);
        assert_eq!((crowded, inner), (vec![[ALONE; 3]; 4], 0));
        assert_eq!(Adjacency::new(&Mesh::default()).first_corner, [0]);
    }
}
