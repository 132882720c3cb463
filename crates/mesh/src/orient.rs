//! Which side of a surface is out.

use std::collections::VecDeque;

use crate::Mesh;
use crate::edges::{Edges, ends};

/// What [`consistent`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Oriented {
    /// Patch of each triangle: triangles that hang together by edges with exactly two triangles.
    pub patch_of: Vec<u32>,
    /// Number of patches.
    pub patches: u32,
    /// Triangles turned over.
    pub flipped: u64,
    /// Edges whose two triangles cannot agree, as on a Moebius strip.
    pub conflicts: u64,
}

/// Turns triangles over, breadth first from the first of each patch, until those at an edge agree.
#[must_use]
pub fn consistent(mut mesh: Mesh) -> (Mesh, Oriented) {
    let opposite = Edges::new(&mesh).opposite(mesh.triangles.len());
    let runs_along = |a: u32, b: u32, triangles: &[[u32; 3]]| ends(triangles, a)[0] == ends(triangles, b)[0];
    let none = u32::MAX;
    let mut found = Oriented {
        patch_of: vec![none; mesh.triangles.len()],
        ..Oriented::default()
    };
    let mut turned = vec![false; mesh.triangles.len()];
    let mut queue = VecDeque::new();
    for first in 0..mesh.triangles.len() {
        if found.patch_of[first] != none {
            continue;
        }
        found.patch_of[first] = found.patches;
        queue.push_back(first);
        while let Some(triangle) = queue.pop_front() {
            for corner in 3 * triangle as u32..3 * triangle as u32 + 3 {
                let other = opposite[corner as usize];
                if other == none {
                    continue;
                }
                let next = other as usize / 3;
                let agrees = runs_along(corner, other, &mesh.triangles) == (turned[triangle] != turned[next]);
                if found.patch_of[next] == none {
                    found.patch_of[next] = found.patches;
                    // Not yet turned itself.
                    turned[next] ^= !agrees;
                    queue.push_back(next);
                } else if !agrees {
                    found.conflicts += 1;
                }
            }
        }
        found.patches += 1;
    }
    // Each conflict was met from both sides.
    found.conflicts /= 2;
    found.flipped = turned.iter().filter(|&&turned| turned).count() as u64;
    flip(&mut mesh, |triangle| turned[triangle]);
    (mesh, found)
}

/// Turns over the patches of [`consistent`] that `inside_out` names, and says how many.
#[must_use]
pub fn turn_patches(mut mesh: Mesh, patches: &Oriented, mut inside_out: impl FnMut(u32) -> bool) -> (Mesh, u32) {
    let turn: Vec<bool> = (0..patches.patches).map(&mut inside_out).collect();
    flip(&mut mesh, |triangle| turn[patches.patch_of[triangle] as usize]);
    (mesh, turn.iter().filter(|&&turned| turned).count() as u32)
}

/// Makes the triangles of each patch agree, and turns over the patches of negative volume, which for closed ones are those
/// with the inside out. Where views know better, [`turn_patches`] takes their word.
#[must_use]
pub fn outward(mesh: Mesh) -> (Mesh, Oriented) {
    let (mesh, oriented) = consistent(mesh);
    let mut volumes = vec![0.0; oriented.patches as usize];
    // About a point of its own, so that patches far from the origin lose no digits.
    let mut origins = vec![None; oriented.patches as usize];
    for (&corners, &patch) in mesh.triangles.iter().zip(&oriented.patch_of) {
        let corners = mesh.corners(corners);
        let origin = *origins[patch as usize].get_or_insert(corners[0]);
        let [a, b, c] = corners.map(|p| crate::vector::sub(p, origin));
        volumes[patch as usize] += crate::vector::dot(a, crate::vector::cross(b, c));
    }
    let (mesh, _) = turn_patches(mesh, &oriented, |patch| volumes[patch as usize] < 0.0);
    (mesh, oriented)
}

/// Turns triangles over.
fn flip(mesh: &mut Mesh, mut turned: impl FnMut(usize) -> bool) {
    for triangle in 0..mesh.triangles.len() {
        if turned(triangle) {
            mesh.triangles[triangle].swap(1, 2);
            if let Some(uvs) = &mut mesh.uvs {
                uvs[triangle].swap(1, 2);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::random::Random;
    use crate::shapes;
    use crate::topology::report;

    /// The same with about half of its triangles turned over.
    fn shuffled(mesh: &Mesh, seed: u64) -> Mesh {
        let random = Random::new(seed);
        let mut triangles = mesh.triangles().to_vec();
        for (t, triangle) in triangles.iter_mut().enumerate() {
            if random.bits(t as u64) & 1 == 1 {
                triangle.swap(0, 2);
            }
        }
        Mesh::new(mesh.positions().to_vec(), triangles).unwrap()
    }

    #[test]
    fn shuffled_solids_come_out_outside_out() {
        let solids = shapes::both(
            &shapes::sphere(9, 1.0),
            &shapes::moved(&shapes::torus(2.0, 0.4, 20, 9), [40.0, 0.0, 0.0]),
        );
        for seed in 0..10 {
            let (mesh, oriented) = outward(shuffled(&solids, seed));
            assert_eq!(
                (report(&mesh).flipped_edges, oriented.conflicts, oriented.patches),
                (0, 0, 2)
            );
            assert!((mesh.volume() - solids.volume()).abs() < 1e-4);
        }
    }

    #[test]
    fn a_moebius_strip_cannot_agree() {
        let positions = (0..20).map(|i| [i as f32, (i % 7) as f32, (i % 3) as f32]).collect();
        let at = |i: u32, side: u32| if i == 10 { 1 - side } else { 2 * i + side };
        let strip = (0..10).flat_map(|i| {
            [
                [at(i, 0), at(i + 1, 0), at(i, 1)],
                [at(i, 1), at(i + 1, 0), at(i + 1, 1)],
            ]
        });
        let (_, oriented) = consistent(Mesh::new(positions, strip.collect()).unwrap());
        assert_eq!((oriented.patches, oriented.conflicts), (1, 1));
    }

    #[test]
    fn nothing_is_oriented_too() {
        assert_eq!(consistent(Mesh::default()), (Mesh::default(), Oriented::default()));
        let (soup, oriented) = consistent(shapes::soup(10, 50, 1));
        assert_eq!(oriented.patch_of.len(), soup.triangles().len());
    }
}
