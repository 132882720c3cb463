//! Vertices at one place become one.

use crate::mesh::bounds;
use crate::vector::{dot, sub, wide};
use crate::{Error, Mesh};

/// No vertex.
const NONE: u32 = u32::MAX;

/// Merges vertices at bitwise equal positions, -0 being 0. Of attributes those of the first vertex stay.
///
/// Triangles that lose an edge stay as they are; [`crate::clean::faces`] drops them.
#[must_use]
pub fn equal(mesh: Mesh) -> Mesh {
    let (new_of, count) = numbered(mesh.positions());
    mesh.merge_vertices(&new_of, count)
}

/// Merges vertices with equal keys, as those have that two slabs of a grid both made. Attributes of the first stay.
///
/// # Errors
/// [`Error::Length`] unless each vertex has a key.
pub fn by_key(mesh: Mesh, keys: &[u64]) -> Result<Mesh, Error> {
    if keys.len() != mesh.positions().len() {
        return Err(Error::Length {
            what: "keys",
            found: keys.len(),
            wanted: mesh.positions().len(),
        });
    }
    let (new_of, count) = groups(keys.len(), |index| keys[index as usize]);
    Ok(mesh.merge_vertices(&new_of, count))
}

/// For each point the number of its place, in the order in which places first occur, and how many there are.
pub(crate) fn numbered(points: &[[f32; 3]]) -> (Vec<u32>, usize) {
    // -0 + 0 is 0.
    groups(points.len(), |index| {
        points[index as usize].map(|x| (x + 0.0).to_bits())
    })
}

/// For each of `count` things the number of its key, in the order in which keys first occur, and how many there are.
fn groups<K: Ord>(count: usize, key: impl Fn(u32) -> K) -> (Vec<u32>, usize) {
    let mut order: Vec<u32> = (0..count as u32).collect();
    order.sort_unstable_by(|&a, &b| key(a).cmp(&key(b)).then(a.cmp(&b)));
    let mut first_of = vec![0; count];
    for group in order.chunk_by(|&a, &b| key(a) == key(b)) {
        for &index in group {
            first_of[index as usize] = group[0];
        }
    }
    renumber(first_of)
}

/// Numbers representatives in their order; each is its own and comes before those it stands for.
fn renumber(mut first_of: Vec<u32>) -> (Vec<u32>, usize) {
    let mut count = 0;
    for index in 0..first_of.len() {
        let first = first_of[index] as usize;
        first_of[index] = match first == index {
            true => {
                count += 1;
                count - 1
            }
            false => first_of[first],
        };
    }
    (first_of, count as usize)
}

/// Merges vertices within `distance` (scene units) of an earlier vertex that stays into the first such vertex, whose
/// position and attributes stay.
///
/// # Errors
/// [`Error::Setting`] when the distance is not positive, or so small beside the mesh that cells of its size cannot be
/// counted (below 2^-30 of the mesh's size).
pub fn within(mesh: Mesh, distance: f32) -> Result<Mesh, Error> {
    let Some([low, high]) = bounds(mesh.positions()) else {
        return Ok(mesh);
    };
    let size = (0..3)
        .map(|i| f64::from(high[i]) - f64::from(low[i]))
        .fold(0.0, f64::max);
    let reach = f64::from(distance);
    if !(reach > 0.0 && reach.is_finite() && size / reach < 2.0_f64.powi(30)) {
        return Err(Error::setting(
            "weld distance",
            distance,
            "above 0 and at least 1e-9 of the size of the mesh",
        ));
    }
    let cell = |p: [f32; 3]| [0, 1, 2].map(|i| ((f64::from(p[i]) - f64::from(low[i])) / reach) as i64);
    let points = mesh.positions();
    let mut cells: Vec<[i64; 3]> = points.iter().map(|&p| cell(p)).collect();
    cells.sort_unstable();
    cells.dedup();
    // Of each cell the last vertex that stays, and before each of these another one. They are apart, so a cell has few,
    // however many vertices are in it.
    let mut last = vec![NONE; cells.len()];
    let mut before = vec![NONE; points.len()];
    let mut first_of: Vec<u32> = (0..points.len() as u32).collect();
    for index in 0..points.len() {
        let (place, [x, y, z]) = (wide(points[index]), cell(points[index]));
        let mut found = index as u32;
        for (dx, dy) in (-1..=1).flat_map(|dx| (-1..=1).map(move |dy| (dx, dy))) {
            let low = [x + dx, y + dy, z - 1];
            let from = cells.partition_point(|&key| key < low);
            let row = cells[from..].iter().take_while(|&&key| key <= [low[0], low[1], z + 1]);
            for (&end, _) in last[from..].iter().zip(row) {
                let mut other = end;
                while other != NONE {
                    let d = sub(wide(points[other as usize]), place);
                    if other < found && dot(d, d) <= reach * reach {
                        found = other;
                    }
                    other = before[other as usize];
                }
            }
        }
        first_of[index] = found;
        if found == index as u32
            && let Ok(own) = cells.binary_search(&[x, y, z])
        {
            before[index] = std::mem::replace(&mut last[own], index as u32);
        }
    }
    let (new_of, count) = renumber(first_of);
    Ok(mesh.merge_vertices(&new_of, count))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::shapes;

    #[test]
    fn loose_triangles_become_a_sphere() {
        let sphere = shapes::sphere(12, 1.0);
        let loose: Vec<[f32; 3]> = sphere
            .triangles()
            .iter()
            .flatten()
            .map(|&v| sphere.positions()[v as usize])
            .collect();
        let triangles = (0..loose.len() as u32 / 3)
            .map(|t| [3 * t, 3 * t + 1, 3 * t + 2])
            .collect();
        let loose = Mesh::new(loose, triangles).unwrap();
        let welded = equal(loose.clone());
        assert_eq!(welded.positions().len(), sphere.positions().len());
        let report = crate::topology::report(&welded);
        assert_eq!((report.open_edges, report.euler), (0, 2));
        // The same with noise far below the edges' length.
        let noisy = shapes::jittered(&loose, 1e-4, 3);
        assert_eq!(equal(noisy.clone()).positions().len(), noisy.positions().len());
        let welded = within(noisy, 1e-3).unwrap();
        assert_eq!(welded.positions().len(), sphere.positions().len());
        assert_eq!(crate::topology::report(&welded).open_edges, 0);
    }

    #[test]
    fn within_equals_the_definition() {
        for seed in 0..20 {
            let random = crate::random::Random::new(seed);
            let points: Vec<[f32; 3]> = (0..200)
                .map(|i| [0, 1, 2].map(|axis| random.unit(3 * i + axis) as f32 - 0.5))
                .collect();
            let mut kept: Vec<[f32; 3]> = Vec::new();
            for &p in &points {
                let near = |q: &[f32; 3]| {
                    let d = sub(wide(p), wide(*q));
                    dot(d, d) <= f64::from(0.1_f32).powi(2)
                };
                if !kept.iter().any(near) {
                    kept.push(p);
                }
            }
            let welded = within(Mesh::new(points, vec![]).unwrap(), 0.1).unwrap();
            assert_eq!(welded.positions(), kept);
        }
    }

    #[test]
    fn halves_are_joined_by_keys() {
        let sphere = shapes::sphere(8, 1.0);
        let half = |upper: bool| {
            let side = sphere.clone().keep_triangles(|t| (t % 2 == 0) == upper);
            let (side, _) = crate::clean::unreferenced(side);
            // A key that vertices of both halves know.
            let keys = side.positions().iter().map(|p| {
                let at = sphere.positions().iter().position(|q| q == p);
                9000 - at.unwrap() as u64
            });
            (keys.collect::<Vec<u64>>(), side)
        };
        let ((mut keys, a), (more, b)) = (half(true), half(false));
        keys.extend(more);
        let both = shapes::both(&a, &b);
        let joined = by_key(both.clone(), &keys).unwrap();
        assert_eq!(joined.positions().len(), sphere.positions().len());
        assert_eq!(crate::topology::report(&joined).genus(), Some(0));
        assert!(by_key(both, &keys[1..]).is_err());
    }

    #[test]
    fn crowds_are_quick() {
        let random = crate::random::Random::new(1);
        let points = (0..200_000).map(|i| [0, 1, 2].map(|axis| random.unit(3 * i + axis) as f32));
        let crowd = Mesh::new(points.collect(), vec![]).unwrap();
        let few = within(crowd.clone(), 0.5).unwrap().positions().len();
        assert!((8..60).contains(&few), "{few}");
        assert_eq!(within(crowd, 2.0).unwrap().positions().len(), 1);
    }

    #[test]
    fn zero_has_one_sign_and_distances_a_range() {
        let mesh = Mesh::new(vec![[0.0; 3], [-0.0, 0.0, -0.0], [1.0; 3]], vec![[0, 1, 2]]).unwrap();
        assert_eq!(equal(mesh.clone()).triangles(), [[0, 0, 1]]);
        for distance in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e-20] {
            assert!(within(mesh.clone(), distance).is_err(), "{distance}");
        }
        assert_eq!(within(Mesh::default(), 1.0).unwrap(), Mesh::default());
    }
}
