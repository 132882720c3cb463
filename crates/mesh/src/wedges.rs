//! Vertices of files that have texture coordinates per vertex.

use crate::Mesh;

/// A vertex with its texture coordinates, once for each pair.
pub(crate) struct Wedges {
    /// Wedge of each corner of each triangle.
    pub(crate) of_corner: Vec<[u32; 3]>,
    /// Vertex of each wedge.
    pub(crate) vertices: Vec<u32>,
    /// Texture coordinates of each wedge; empty for a mesh without.
    pub(crate) uvs: Vec<[f32; 2]>,
}

impl Wedges {
    /// Numbers wedges in the order of their vertices, and then of their coordinates.
    pub(crate) fn new(mesh: &Mesh) -> Self {
        let Some(uvs) = mesh.uvs() else {
            return Self {
                of_corner: mesh.triangles.clone(),
                vertices: (0..mesh.positions.len() as u32).collect(),
                uvs: Vec::new(),
            };
        };
        let corners = mesh.triangles.as_flattened();
        let of_corner = uvs.as_flattened();
        let key = |corner: u32| of_corner[corner as usize].map(|x| (x + 0.0).to_bits());
        // Corners by vertex: a counting sort, then a short sort each.
        let mut first = vec![0_u32; mesh.positions.len() + 1];
        for &vertex in corners {
            first[vertex as usize + 1] += 1;
        }
        for vertex in 1..first.len() {
            first[vertex] += first[vertex - 1];
        }
        let (mut order, mut next) = (vec![0; corners.len()], first.clone());
        for (corner, &vertex) in (0..).zip(corners) {
            order[next[vertex as usize] as usize] = corner;
            next[vertex as usize] += 1;
        }
        let mut wedges = Self {
            of_corner: vec![[0; 3]; mesh.triangles.len()],
            vertices: Vec::new(),
            uvs: Vec::new(),
        };
        for (vertex, range) in (0..).zip(first.windows(2)) {
            let group = &mut order[range[0] as usize..range[1] as usize];
            group.sort_unstable_by_key(|&corner| (key(corner), corner));
            for same in group.chunk_by(|&a, &b| key(a) == key(b)) {
                let wedge = wedges.vertices.len() as u32;
                wedges.vertices.push(vertex);
                wedges.uvs.push(of_corner[same[0] as usize]);
                for &corner in same {
                    wedges.of_corner[corner as usize / 3][corner as usize % 3] = wedge;
                }
            }
        }
        wedges
    }
}
