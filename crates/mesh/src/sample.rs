//! Points on a mesh, even by area.

use crate::random::Random;
use crate::vector::{add, double_area, narrow, norm, scale, unit};
use crate::{Error, Mesh};

/// Points on triangles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// Places, scene units.
    pub positions: Vec<[f32; 3]>,
    /// Unit normals of their triangles.
    pub normals: Vec<[f32; 3]>,
    /// Their triangles.
    pub triangles: Vec<u32>,
}

/// `count` points on a mesh: one at random in each of `count` equal shares of its area, triangles in their order. A point is
/// a function of the mesh, the seed and its number.
///
/// # Errors
/// [`Error::Empty`] for a mesh without area; [`Error::TooMany`] beyond 2^32 points.
pub fn by_area(mesh: &Mesh, count: u64, seed: u64) -> Result<Samples, Error> {
    let most = u64::from(u32::MAX);
    if count > most {
        return Err(Error::TooMany {
            what: "samples",
            found: count,
            most,
            hint: "sample fewer points",
        });
    }
    let total = mesh.area();
    if total <= 0.0 {
        return Err(Error::Empty {
            job: "sampling",
            needs: "area",
        });
    }
    let random = Random::new(seed);
    let mut samples = Samples::default();
    let (mut triangle, mut before) = (0, 0.0);
    let mut area = area_of(mesh, 0);
    for i in 0..count {
        let wanted = (i as f64 + random.unit(3 * i)) / count as f64 * total;
        // Sums of areas are rounded: the last triangle with an area takes what is left.
        while before + area <= wanted && triangle + 1 < mesh.triangles.len() {
            before += area;
            triangle += 1;
            area = area_of(mesh, triangle);
        }
        let mut on = triangle;
        while area_of(mesh, on) <= 0.0 && on > 0 {
            on -= 1;
        }
        let [a, b, c] = mesh.corners(mesh.triangles[on]);
        // Even by area over a triangle (Turk 1990).
        let (r, s) = (random.unit(3 * i + 1).sqrt(), random.unit(3 * i + 2));
        let place = add(scale(a, 1.0 - r), add(scale(b, r * (1.0 - s)), scale(c, r * s)));
        samples.positions.push(narrow(place));
        samples
            .normals
            .push(narrow(unit(double_area(a, b, c)).unwrap_or_default()));
        samples.triangles.push(on as u32);
    }
    Ok(samples)
}

fn area_of(mesh: &Mesh, triangle: usize) -> f64 {
    let [a, b, c] = mesh.corners(mesh.triangles[triangle]);
    0.5 * norm(double_area(a, b, c))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::{shapes, vector};

    #[test]
    fn shares_are_areas_and_points_lie_on_their_triangles() {
        let sphere = shapes::sphere(10, 2.0);
        let (count, area) = (20_000, sphere.area());
        let samples = by_area(&sphere, count, 7).unwrap();
        let mut hits = vec![0_u32; sphere.triangles().len()];
        for i in 0..count as usize {
            let t = samples.triangles[i] as usize;
            hits[t] += 1;
            let [a, ..] = sphere.corners(sphere.triangles()[t]);
            let (p, n) = (vector::wide(samples.positions[i]), vector::wide(samples.normals[i]));
            assert!(vector::dot(vector::sub(p, a), n).abs() < 1e-6);
            assert!(vector::dot(p, n) > 0.0 && (norm(n) - 1.0).abs() < 1e-6);
            assert!(norm(p) <= 2.0 + 1e-6);
        }
        for (t, &hits) in hits.iter().enumerate() {
            let wanted = area_of(&sphere, t) / area * count as f64;
            assert!((f64::from(hits) - wanted).abs() < 2.0, "{t}: {hits} of {wanted}");
        }
        assert_eq!(by_area(&sphere, count, 7).unwrap(), samples);
        assert_ne!(by_area(&sphere, count, 8).unwrap(), samples);
    }

    #[test]
    fn what_has_no_area_has_no_points() {
        let line = Mesh::new(vec![[0.0; 3], [1.0; 3], [2.0; 3]], vec![[0, 1, 2]]).unwrap();
        for mesh in [Mesh::default(), line.clone()] {
            assert!(matches!(by_area(&mesh, 5, 0), Err(Error::Empty { .. })));
        }
        // Triangles without an area, first and last, get none.
        let mixed = Mesh::new(
            vec![[0.0; 3], [1.0; 3], [2.0; 3], [0.0, 1.0, 0.0]],
            vec![[0, 1, 2], [0, 1, 3], [2, 1, 0]],
        );
        let samples = by_area(&mixed.unwrap(), 500, 1).unwrap();
        assert!(samples.triangles.iter().all(|&t| t == 1));
        assert_eq!(by_area(&shapes::square(2), 0, 1).unwrap(), Samples::default());
        assert!(by_area(&shapes::square(2), 1 << 40, 1).is_err());
    }
}
