//! Triangles and vertices that say nothing, or too much, go.

use crate::edges::{Edges, is_degenerate};
use crate::{Mesh, orient, weld};

/// Triangles dropped by [`faces`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DroppedFaces {
    /// Those with two equal vertices.
    pub degenerate: usize,
    /// Those with the vertices of an earlier one, in any direction.
    pub duplicate: usize,
}

/// Drops triangles with two equal vertices, and those with the same three vertices as an earlier one.
///
/// A triangle between three vertices on a line stays: it has no area, and without it the surface would be open along it.
/// [`crate::weld`] makes those that are points or lines within a tolerance degenerate.
#[must_use]
pub fn faces(mesh: Mesh) -> (Mesh, DroppedFaces) {
    let count = mesh.triangles.len();
    let sorted = |triangle: usize| {
        let mut key = mesh.triangles[triangle];
        key.sort_unstable();
        key
    };
    // Triangles by their lowest vertex; then short sorts.
    let mut first = vec![0_u32; mesh.positions.len() + 1];
    for triangle in 0..count {
        first[sorted(triangle)[0] as usize + 1] += 1;
    }
    for vertex in 1..first.len() {
        first[vertex] += first[vertex - 1];
    }
    let mut next = first.clone();
    let mut order = vec![([0_u32; 2], 0_u32); count];
    for triangle in 0..count {
        let [low, middle, high] = sorted(triangle);
        let next = &mut next[low as usize];
        order[*next as usize] = ([middle, high], triangle as u32);
        *next += 1;
    }
    let mut keep = vec![false; count];
    let mut dropped = DroppedFaces::default();
    for (range, low) in first.windows(2).zip(0..) {
        let here = &mut order[range[0] as usize..range[1] as usize];
        here.sort_unstable();
        for group in here.chunk_by(|a, b| a.0 == b.0) {
            let ([middle, high], triangle) = group[0];
            match is_degenerate([low, middle, high]) {
                true => dropped.degenerate += group.len(),
                false => {
                    keep[triangle as usize] = true;
                    dropped.duplicate += group.len() - 1;
                }
            }
        }
    }
    (mesh.keep_triangles(|triangle| keep[triangle]), dropped)
}

/// Drops triangles until no edge has more than two, and says how many: of those at such edges the largest stay, the
/// earlier of equal ones.
#[must_use]
pub fn crowded_edges(mesh: Mesh) -> (Mesh, usize) {
    let edges = Edges::new(&mesh);
    let none = u32::MAX;
    // Of each corner the crowded edge that it begins.
    let mut crowded_of = vec![none; 3 * mesh.triangles.len()];
    let mut crowded = 0;
    for edge in edges.iter(&mesh.triangles).filter(|edge| edge.corners.len() > 2) {
        for &corner in edge.corners {
            crowded_of[corner as usize] = crowded;
        }
        crowded += 1;
    }
    drop(edges);
    let at_crowded = |t: &u32| crowded_of[3 * *t as usize..][..3].iter().any(|&edge| edge != none);
    let mut order: Vec<u32> = (0..mesh.triangles.len() as u32).filter(at_crowded).collect();
    let area = |t: u32| mesh.triangle_area(mesh.triangles[t as usize]);
    order.sort_by(|&a, &b| area(b).total_cmp(&area(a)).then(a.cmp(&b)));
    let mut taken = vec![0_u8; crowded as usize];
    let mut drop = vec![false; mesh.triangles.len()];
    let mut dropped = 0;
    for triangle in order {
        let at = crowded_of[3 * triangle as usize..][..3]
            .iter()
            .filter(|&&edge| edge != none);
        if at.clone().any(|&edge| taken[edge as usize] == 2) {
            drop[triangle as usize] = true;
            dropped += 1;
        } else {
            at.for_each(|&edge| taken[edge as usize] += 1);
        }
    }
    (mesh.keep_triangles(|triangle| !drop[triangle]), dropped)
}

/// Merges vertices at equal places, as moved vertices may be, then drops faces of [`faces`], those of [`crowded_edges`] and vertices
/// of none, and makes windings agree; gives the number of triangles dropped.
///
/// Each patch keeps the side that most of its triangles had. A patch with one side, as a Moebius strip has, keeps edges whose
/// triangles disagree: [`crate::topology::report`] counts them.
#[must_use]
pub fn manifold(mesh: Mesh) -> (Mesh, usize) {
    let before = mesh.triangles.len();
    let (mesh, _) = crowded_edges(faces(weld::equal(mesh)).0);
    let was = mesh.triangles.clone();
    let (mesh, oriented) = orient::consistent(mesh);
    // Triangles turned over less those that were not, by patch.
    let mut votes = vec![0_i64; oriented.patches as usize];
    for ((old, new), &patch) in was.iter().zip(&mesh.triangles).zip(&oriented.patch_of) {
        votes[patch as usize] += if old == new { -1 } else { 1 };
    }
    let (mesh, _) = orient::turn_patches(mesh, &oriented, |patch| votes[patch as usize] > 0);
    let (mesh, _) = unreferenced(mesh);
    let dropped = before - mesh.triangles.len();
    (mesh, dropped)
}

/// Drops vertices that no triangle has, and says how many; the others keep their order.
#[must_use]
pub fn unreferenced(mut mesh: Mesh) -> (Mesh, usize) {
    let before = mesh.positions.len();
    let mut new_of = vec![u32::MAX; before];
    for &vertex in mesh.triangles.as_flattened() {
        new_of[vertex as usize] = 0;
    }
    let mut used = Vec::new();
    for (new, old) in new_of.iter_mut().zip(0..) {
        if *new == 0 {
            *new = used.len() as u32;
            used.push(old);
        }
    }
    for vertex in mesh.triangles.as_flattened_mut() {
        *vertex = new_of[*vertex as usize];
    }
    mesh.take_vertices(&used);
    (mesh, before - used.len())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::shapes;
    use crate::topology::report;

    #[test]
    fn repeats_and_slivers_go() {
        let sphere = shapes::sphere(6, 1.0);
        let mut triangles = sphere.triangles().to_vec();
        let good = triangles.len();
        let [a, b, c] = triangles[3];
        triangles.extend([[b, c, a], [a, c, b], [a, a, b], [c, c, c]]);
        let uvs = (0..triangles.len()).map(|t| [[t as f32, 0.0]; 3]).collect();
        let mesh = Mesh::new(sphere.positions().to_vec(), triangles).unwrap();
        let (mesh, dropped) = faces(mesh.with_uvs(uvs).unwrap());
        assert_eq!(mesh.triangles(), sphere.triangles());
        assert_eq!(mesh.uvs().unwrap()[good - 1][0][0], good as f32 - 1.0);
        let wanted = DroppedFaces {
            degenerate: 2,
            duplicate: 2,
        };
        assert_eq!(dropped, wanted);
    }

    #[test]
    fn the_largest_stay_at_crowded_edges() {
        let positions = vec![
            [0.0; 3],
            [1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0],
            [0.0, 0.0, 3.0],
            [0.0, -2.0, 0.0],
            [9.0; 3],
        ];
        let fan = Mesh::new(positions, vec![[0, 1, 2], [0, 1, 3], [1, 0, 4], [2, 1, 5]]).unwrap();
        let (mesh, dropped) = crowded_edges(fan);
        assert_eq!((mesh.triangles(), dropped), (&[[0, 1, 3], [1, 0, 4], [2, 1, 5]][..], 1));
        for seed in 0..30 {
            let (soup, _) = faces(shapes::soup(12, 60, seed));
            let (clean, dropped) = crowded_edges(soup.clone());
            assert_eq!(clean.triangles().len() + dropped, soup.triangles().len());
            assert_eq!(report(&clean).non_manifold_edges, 0);
            assert_eq!(crowded_edges(clean.clone()), (clean, 0));
        }
    }

    #[test]
    fn moved_vertices_leave_a_manifold() {
        let mut spoiled = 0;
        for seed in 0..30 {
            // Places on a coarse grid: many vertices meet, as those do that share their nearest point.
            let moved = shapes::jittered(&shapes::sphere(16, 1.0), 0.2, seed);
            let places = moved.positions().iter().map(|p| p.map(|x| (x * 5.0).round() / 5.0));
            let moved = Mesh::new(places.collect(), moved.triangles().to_vec()).unwrap();
            let before = report(&faces(weld::equal(moved.clone())).0);
            spoiled += before.non_manifold_edges + before.flipped_edges;
            let (mesh, dropped) = manifold(moved.clone());
            let found = report(&mesh);
            assert_eq!((found.non_manifold_edges, found.degenerate), (0, 0), "seed {seed}");
            // Where a patch has one side, how many edges disagree depends on where one starts; whether any does, does not.
            let one_sided = orient::consistent(mesh.clone()).1.conflicts > 0;
            assert_eq!(found.flipped_edges > 0, one_sided, "seed {seed}");
            assert_eq!(mesh.triangles().len() + dropped, moved.triangles().len());
        }
        assert!(spoiled > 0);
    }

    #[test]
    fn sound_meshes_keep_their_windings() {
        let sphere = shapes::sphere(8, 1.0);
        assert_eq!(manifold(sphere.clone()), (sphere.clone(), 0));
        // The first triangle is the wrong one.
        let mut triangles = sphere.triangles().to_vec();
        triangles[0].swap(1, 2);
        let turned = Mesh::new(sphere.positions().to_vec(), triangles).unwrap();
        assert_eq!(manifold(turned), (sphere, 0));
    }

    #[test]
    fn vertices_without_triangles_go() {
        let colors: Vec<[f32; 3]> = (0..5).map(|i| [i as f32 / 5.0; 3]).collect();
        let positions = (0..5).map(|i| [i as f32, (i * i) as f32, 0.0]).collect();
        let mesh = Mesh::new(positions, vec![[4, 1, 3]])
            .unwrap()
            .with_colors(colors)
            .unwrap();
        let (mesh, dropped) = unreferenced(mesh.with_own_normals());
        assert_eq!((mesh.triangles(), dropped), (&[[2, 0, 1]][..], 2));
        assert_eq!(mesh.positions()[2], [4.0, 16.0, 0.0]);
        assert_eq!(mesh.colors().unwrap()[1], [0.6; 3]);
        assert_eq!(mesh.normals().unwrap().len(), 3);
        let (nothing, dropped) = unreferenced(Mesh::new(vec![[0.0; 3]; 4], vec![]).unwrap());
        assert_eq!((nothing, dropped), (Mesh::default(), 4));
    }
}
