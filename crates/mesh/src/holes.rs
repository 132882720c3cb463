//! Small holes are closed.

use crate::Mesh;
use crate::edges::{Edge, Edges, ends};
use crate::polygon::ears;
use crate::vector::wide;

/// What [`fill`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filled {
    /// Holes closed.
    pub filled: usize,
    /// Triangles that they took.
    pub triangles: usize,
    /// Holes of too many edges.
    pub too_large: usize,
    /// Holes whose border crosses itself or has diagonals that are edges already.
    pub unfit: usize,
}

/// Closes holes of at most `most_edges` edges with triangles between the vertices there are (ears, the shortest diagonal
/// first).
///
/// A hole is a ring of open edges that all run the same way, so the mesh has to be consistently oriented; rings through
/// vertices with more than one hole are left. New triangles have texture coordinates 0.
#[must_use]
pub fn fill(mut mesh: Mesh, most_edges: usize) -> (Mesh, Filled) {
    let edges = Edges::new(&mesh);
    let mut all: Vec<(u32, u32)> = Vec::with_capacity(edges.len());
    // From each vertex on the border to the next, the other way round than the triangles run; none where that is unclear.
    const NONE: u32 = u32::MAX;
    const UNCLEAR: u32 = u32::MAX - 1;
    let mut next = vec![NONE; mesh.positions.len()];
    let mut owner = vec![NONE; mesh.positions.len()];
    for Edge { low, high, corners } in edges.iter(&mesh.triangles) {
        all.push((low, high));
        if let [corner] = *corners {
            let [to, from] = ends(&mesh.triangles, corner);
            owner[from as usize] = corner / 3;
            let next = &mut next[from as usize];
            *next = if *next == NONE { to } else { UNCLEAR };
        }
    }
    drop(edges);
    // Rings share no vertices, so diagonals of one ring can only repeat each other.
    let mut added: Vec<(u32, u32)> = Vec::new();
    let mut filled = Filled::default();
    let mut seen = vec![false; next.len()];
    for start in 0..next.len() as u32 {
        let Some(ring) = ring(&next, &mut seen, start) else {
            continue;
        };
        if ring.len() > most_edges {
            filled.too_large += 1;
            continue;
        }
        let corners: Vec<_> = ring.iter().map(|&v| wide(mesh.positions[v as usize])).collect();
        let diagonal = |a: usize, b: usize| (ring[a].min(ring[b]), ring[a].max(ring[b]));
        let is_new = |a, b| all.binary_search(&diagonal(a, b)).is_err() && !added.contains(&diagonal(a, b));
        // The other side of a lone triangle is no hole.
        let is_lone = ring.len() == 3 && ring.iter().all(|&v| owner[v as usize] == owner[ring[0] as usize]);
        let triangles = if is_lone { None } else { ears(&corners, is_new) };
        let Some(triangles) = triangles else {
            filled.unfit += 1;
            continue;
        };
        for triangle in triangles {
            let [a, b, c] = triangle;
            added.extend([diagonal(a, b), diagonal(b, c), diagonal(c, a)]);
            mesh.triangles.push(triangle.map(|i| ring[i]));
            filled.triangles += 1;
        }
        added.clear();
        filled.filled += 1;
    }
    if let Some(uvs) = &mut mesh.uvs {
        uvs.resize(mesh.triangles.len(), [[0.0; 2]; 3]);
    }
    (mesh, filled)
}

/// The closed ring of open edges from a vertex on; `None` where there is none, or it was seen.
fn ring(next: &[u32], seen: &mut [bool], start: u32) -> Option<Vec<u32>> {
    let mut ring = Vec::new();
    let mut at = start;
    while !*seen.get(at as usize)? {
        seen[at as usize] = true;
        ring.push(at);
        at = next[at as usize];
    }
    (at == start && ring.len() > 2).then_some(ring)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::shapes;
    use crate::topology::report;

    #[test]
    fn holes_of_a_sphere_are_closed() {
        let sphere = shapes::sphere(12, 1.0);
        // The fan of the first vertex, and a square elsewhere.
        let open = sphere
            .clone()
            .keep_triangles(|t| !sphere.triangles()[t].contains(&0) && t != 300 && t != 301);
        let (clean, _) = crate::clean::unreferenced(open);
        let before = report(&clean);
        assert!(before.open_edges > 24);
        let (half, filled) = fill(clean.clone(), 23);
        assert_eq!((filled.filled + filled.unfit > 0, filled.too_large), (true, 1));
        assert!(report(&half).open_edges >= 24);
        let (whole, filled) = fill(clean, 24);
        let after = report(&whole);
        assert_eq!(
            (after.open_edges, after.non_manifold_edges, after.flipped_edges),
            (0, 0, 0)
        );
        assert_eq!((after.genus(), filled.too_large, filled.unfit), (Some(0), 0, 0));
        assert!((whole.volume() / sphere.volume() - 1.0).abs() < 0.02);
    }

    #[test]
    fn what_cannot_be_closed_is_left() {
        let lone = Mesh::new(shapes::square(1).positions().to_vec(), vec![[0, 1, 2]]).unwrap();
        let (mesh, filled) = fill(lone.clone(), 9);
        assert_eq!((mesh, filled.unfit), (lone, 1));
        let (mesh, filled) = fill(shapes::square(3), 11);
        assert_eq!((mesh, filled.too_large), (shapes::square(3), 1));
        assert_eq!(fill(Mesh::default(), 9), (Mesh::default(), Filled::default()));
        for seed in 0..40 {
            let (soup, _) = crate::clean::faces(shapes::soup(14, 30, seed));
            let (soup, _) = crate::clean::crowded_edges(soup);
            let (filled, _) = fill(soup, 100);
            assert_eq!(report(&filled).non_manifold_edges, 0, "{seed}");
        }
    }
}
