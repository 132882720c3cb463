//! What kind of surface a mesh is.

use std::fmt;

use crate::edges::{Edge, Edges, ends, is_degenerate};
use crate::sets::Sets;
use crate::{Mesh, pieces};

/// Counts that say whether a mesh is closed, a manifold, and consistently oriented.
///
/// Vertices without a triangle and triangles with two equal vertices are not part of the surface and are not counted, but
/// for [`Self::degenerate`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// Vertices of triangles.
    pub vertices: u64,
    /// Edges between them.
    pub edges: u64,
    /// Triangles.
    pub triangles: u64,
    /// Triangles with two equal vertices.
    pub degenerate: u64,
    /// Edges with one triangle.
    pub open_edges: u64,
    /// Edges with more than two.
    pub non_manifold_edges: u64,
    /// Edges whose two triangles disagree about which side is out.
    pub flipped_edges: u64,
    /// Vertices whose triangles are not one fan, closed or open.
    pub non_manifold_vertices: u64,
    /// Triangles that hang together by vertices.
    pub pieces: u64,
    /// Vertices - edges + triangles.
    pub euler: i64,
}

impl Topology {
    /// Whether every edge has exactly two triangles.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.open_edges == 0 && self.non_manifold_edges == 0
    }

    /// Handles of all pieces together; `None` for what is no closed, oriented manifold.
    #[must_use]
    pub fn genus(&self) -> Option<u64> {
        let sound = self.is_closed() && self.non_manifold_vertices == 0 && self.flipped_edges == 0;
        let twice = 2 * self.pieces as i64 - self.euler;
        (sound && twice >= 0 && twice % 2 == 0).then_some(twice as u64 / 2)
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            vertices,
            triangles,
            pieces,
            open_edges,
            non_manifold_edges,
            euler,
            ..
        } = self;
        write!(
            f,
            "{vertices} vertices, {triangles} triangles, {pieces} pieces, {open_edges} open and {non_manifold_edges} \
             non-manifold edges, Euler characteristic {euler}"
        )
    }
}

/// Counts everything.
#[must_use]
pub fn report(mesh: &Mesh) -> Topology {
    let triangles = &mesh.triangles;
    let edges = Edges::new(mesh);
    let mut found = Topology {
        edges: edges.len() as u64,
        degenerate: triangles.iter().filter(|&&t| is_degenerate(t)).count() as u64,
        ..Topology::default()
    };
    found.triangles = triangles.len() as u64 - found.degenerate;
    for Edge { corners, .. } in edges.iter(triangles) {
        match *corners {
            [_] => found.open_edges += 1,
            [a, b] => found.flipped_edges += u64::from(ends(triangles, a)[0] == ends(triangles, b)[0]),
            _ => found.non_manifold_edges += 1,
        }
    }
    let fans = fans(mesh, &edges);
    found.vertices = fans.iter().filter(|&&fans| fans > 0).count() as u64;
    found.non_manifold_vertices = fans.iter().filter(|&&fans| fans > 1).count() as u64;
    found.pieces = match found.degenerate {
        0 => pieces::find(mesh),
        _ => pieces::find(&mesh.clone().keep_triangles(|t| !is_degenerate(triangles[t]))),
    }
    .sizes
    .len() as u64;
    found.euler = found.vertices as i64 - found.edges as i64 + found.triangles as i64;
    found
}

/// How many fans, of triangles that share edges, each vertex has; saturating at 255.
fn fans(mesh: &Mesh, edges: &Edges) -> Vec<u8> {
    // Corners of one vertex are joined across edges that end there: each set is a fan.
    let mut sets = Sets::new(3 * mesh.triangles.len() as u32);
    for Edge { low, high, corners } in edges.iter(&mesh.triangles) {
        for vertex in [low, high] {
            // The corner of a triangle at the vertex, from that at which the edge begins.
            let at = |corner: u32| match ends(&mesh.triangles, corner)[0] == vertex {
                true => corner,
                false => corner - corner % 3 + (corner + 1) % 3,
            };
            for pair in corners.windows(2) {
                sets.join(at(pair[0]), at(pair[1]));
            }
        }
    }
    let mut fans = vec![0_u8; mesh.positions.len()];
    for (t, &triangle) in mesh.triangles.iter().enumerate().filter(|&(_, &t)| !is_degenerate(t)) {
        for (k, vertex) in triangle.into_iter().enumerate() {
            let corner = (3 * t + k) as u32;
            if sets.root(corner) == corner {
                let fans = &mut fans[vertex as usize];
                *fans = fans.saturating_add(1);
            }
        }
    }
    fans
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::shapes;

    #[test]
    fn spheres_tori_and_squares_are_known() {
        let sphere = report(&shapes::sphere(8, 1.0));
        assert_eq!((sphere.euler, sphere.pieces, sphere.genus()), (2, 1, Some(0)));
        let torus = report(&shapes::torus(2.0, 0.5, 9, 7));
        assert_eq!((torus.euler, torus.genus(), torus.is_closed()), (0, Some(1), true));
        let square = report(&shapes::square(4));
        assert_eq!((square.open_edges, square.euler, square.genus()), (16, 1, None));
        let two = report(&shapes::both(&shapes::sphere(8, 1.0), &shapes::torus(9.0, 1.0, 9, 7)));
        assert_eq!((two.euler, two.pieces, two.genus()), (2, 2, Some(1)));
        assert_eq!(report(&Mesh::default()), Topology::default());
    }

    #[test]
    fn faults_are_counted() {
        let sphere = shapes::sphere(8, 1.0);
        let mut triangles = sphere.triangles().to_vec();
        triangles[40].swap(0, 1);
        triangles.push([5, 5, 9]);
        let flipped = report(&Mesh::new(sphere.positions().to_vec(), triangles).unwrap());
        assert_eq!(
            (flipped.flipped_edges, flipped.degenerate, flipped.genus()),
            (3, 1, None)
        );
        assert_eq!((flipped.euler, flipped.open_edges), (2, 0));
        // Two tetrahedra that share a vertex, and two that share an edge.
        let tetrahedron = |[a, b, c, d]: [u32; 4]| [[a, c, b], [a, b, d], [b, c, d], [c, a, d]];
        let positions: Vec<[f32; 3]> = (0..7).map(|i| [i as f32, (i * i) as f32, (i * i * i) as f32]).collect();
        let mesh = |tetrahedra: [[u32; 4]; 2]| {
            report(&Mesh::new(positions.clone(), tetrahedra.map(tetrahedron).concat()).unwrap())
        };
        let vertex = mesh([[0, 1, 2, 3], [3, 4, 5, 6]]);
        assert_eq!(
            (vertex.non_manifold_vertices, vertex.non_manifold_edges, vertex.genus()),
            (1, 0, None)
        );
        let edge = mesh([[0, 1, 2, 3], [2, 3, 4, 5]]);
        assert_eq!((edge.non_manifold_edges, edge.open_edges), (1, 0));
    }
}
