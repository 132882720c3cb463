//! What events read of a model.

use kiln_mesh::restricted;

use crate::{Error, opacity};

/// The part of a model that decides about its triangles; colours and moments have no say.
#[derive(Clone, Copy, Debug)]
pub struct Triangles<'a> {
    pub(crate) positions: &'a [[f32; 3]],
    pub(crate) weights: &'a [f32],
    pub(crate) floor: f32,
    pub(crate) triangles: &'a [[u32; 3]],
    pub(crate) importance: &'a [f32],
    pub(crate) sizes_px: &'a [f32],
}

impl<'a> Triangles<'a> {
    /// Positions and weights of the vertices, the opacity floor, and of each triangle its vertices, its importance (the
    /// largest share that it had in a pixel since that was cleared) and its size (the largest distance of a corner from its
    /// middle, pixels; both 0 for one that was not seen).
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Index`].
    pub fn new(
        (positions, weights, floor): (&'a [[f32; 3]], &'a [f32], f32),
        triangles: &'a [[u32; 3]],
        (importance, sizes_px): (&'a [f32], &'a [f32]),
    ) -> Result<Self, Error> {
        for (what, found, wanted) in [
            ("weights of vertices", weights.len(), positions.len()),
            ("importances of triangles", importance.len(), triangles.len()),
            ("sizes of triangles", sizes_px.len(), triangles.len()),
        ] {
            if found != wanted {
                return Err(Error::Length { what, found, wanted });
            }
        }
        let vertices = positions.len();
        for (triangle, corners) in triangles.iter().enumerate() {
            if let Some(&vertex) = corners.iter().find(|&&vertex| vertex as usize >= vertices) {
                return Err(Error::Index {
                    triangle,
                    vertex,
                    vertices,
                });
            }
        }
        Ok(Self {
            positions,
            weights,
            floor,
            triangles,
            importance,
            sizes_px,
        })
    }

    /// The least opacity of a triangle's vertices.
    pub(crate) fn opacity(&self, triangle: [u32; 3]) -> f64 {
        let [a, b, c] = triangle.map(|vertex| self.weights[vertex as usize]);
        opacity::of(a.min(b).min(c), self.floor)
    }

    /// Area of a triangle, squared scene units; NaN where a corner is nowhere.
    pub(crate) fn area(&self, triangle: [u32; 3]) -> f64 {
        let [a, b, c] = triangle.map(|vertex| self.positions[vertex as usize].map(f64::from));
        let [u, v] = [b, c].map(|p| [p[0] - a[0], p[1] - a[1], p[2] - a[2]]);
        let cross = [
            u[1] * v[2] - u[2] * v[1],
            u[2] * v[0] - u[0] * v[2],
            u[0] * v[1] - u[1] * v[0],
        ];
        0.5 * cross.iter().map(|x| x * x).sum::<f64>().sqrt()
    }
}

/// Vertices that stay, and their new numbers in triangles.
pub(crate) fn renamed(vertices: usize, triangles: &mut [[u32; 3]]) -> Vec<u32> {
    let none = u32::MAX;
    let mut new_of = vec![none; vertices];
    for &vertex in triangles.as_flattened() {
        new_of[vertex as usize] = 0;
    }
    let mut used = Vec::new();
    for (new, old) in new_of.iter_mut().zip(0..) {
        if *new != none {
            *new = used.len() as u32;
            used.push(old);
        }
    }
    for vertex in triangles.as_flattened_mut() {
        *vertex = new_of[*vertex as usize];
    }
    used
}

/// Bytes that the largest event takes at most beside what it reads, for so many vertices and triangles; the lists that it
/// returns included. What it reads is 16 B per vertex and 20 B per triangle.
#[must_use]
pub const fn host_bytes(vertices: u64, triangles: u64) -> u64 {
    // A mesh of its own, and how bright its triangles are.
    let connecting = 12 * vertices + 16 * triangles + restricted::host_bytes(vertices, triangles);
    // Keys of all triangles, then those of a sample and their edges, at most one of three new vertices each.
    let splitting = 16 * triangles + 8 * vertices + 12 * (triangles + 3 * vertices);
    let most = if connecting > splitting { connecting } else { splitting };
    most + (1 << 20)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn damage_is_named() {
        let positions = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]];
        let read = |weights: &[f32], triangle, importance: &[f32]| {
            let triangles = [triangle];
            Triangles::new((&positions, weights, 0.0), &triangles, (importance, &[0.0]))
                .map(|triangles| triangles.area([0, 1, 2]))
        };
        assert_eq!(read(&[0.0; 3], [0, 1, 2], &[0.0]).unwrap(), 1.0);
        let said = |found: Result<f64, Error>| found.unwrap_err().to_string();
        assert!(said(read(&[0.0; 2], [0, 1, 2], &[0.0])).contains("2 weights"));
        assert!(said(read(&[0.0; 3], [0, 1, 2], &[])).contains("0 importances"));
        assert!(said(read(&[0.0; 3], [0, 3, 2], &[0.0])).contains("triangle 0 names vertex 3"));
    }
}
