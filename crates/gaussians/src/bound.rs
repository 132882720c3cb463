//! Gaussians on the triangles of a mesh: where in a triangle they are, how large, and which triangles are neighbours.
//!
//! Centres, normals and two of the axes follow from the vertices; what a Gaussian has of its own are two scales and a turn in the
//! plane of its triangle, its opacity and its colours (SuGaR, Guédon and Lepetit 2024). Gaussian `n t + k` is the k-th of the
//! `n` of triangle t. Their number never changes.

use kiln_mesh::Mesh;
use kiln_mesh::adjacency::Adjacency;
use serde::{Deserialize, Serialize};

use kiln_scene::math::Real;

/// Standard deviation along the normal, in extents of the scene.
pub const THICKNESS: f32 = 1e-6;

/// Numbers of Gaussians that a triangle may have.
pub const PER_TRIANGLE: [u32; 4] = [1, 3, 4, 6];

/// Gaussians in a chunk are a multiple of this: whole workgroups of whole triangles, however many a triangle has.
pub const CHUNK_UNIT: u32 = 768;

/// What a model is bound to, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Binding {
    /// Gaussians of a triangle, one of [`PER_TRIANGLE`].
    pub per_triangle: u32,
    /// Vertices of the mesh.
    pub vertices: u32,
    /// Its triangles.
    pub triangles: u32,
    /// Its edges at which exactly two triangles meet.
    pub inner_edges: u32,
    /// Weight in the loss of the mean over these of 1 - the cosine between the normals of the two.
    pub normal_consistency: f32,
}

/// The weight comes from checked settings: it is not NaN.
impl Eq for Binding {}

impl Binding {
    /// Of `mesh` with `per_triangle` Gaussians on each triangle, and the weight of normals.
    #[must_use]
    pub fn new(mesh: &BoundMesh, per_triangle: u32, normal_consistency: f32) -> Self {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self {
            per_triangle,
            vertices: count(mesh.vertices.len()),
            triangles: count(mesh.triangles.len()),
            inner_edges: mesh.adjacency.inner_edges,
            normal_consistency,
        }
    }

    /// Of a mesh that is to come, with so many triangles: a closed surface has half as many vertices, and borders and holes some more.
    #[must_use]
    pub const fn expected(triangles: u32, per_triangle: u32, normal_consistency: f32) -> Self {
        Self {
            per_triangle,
            vertices: triangles / 2 + triangles / 8 + 3,
            triangles,
            inner_edges: triangles + triangles / 2,
            normal_consistency,
        }
    }

    /// The same with another number of triangles.
    #[must_use]
    pub fn with_triangles(self, triangles: u32) -> Self {
        let scaled = |n: u32| {
            let product = u64::from(n) * u64::from(triangles) / u64::from(self.triangles.max(1));
            u32::try_from(product).unwrap_or(u32::MAX)
        };
        Self {
            vertices: scaled(self.vertices),
            inner_edges: scaled(self.inner_edges),
            triangles,
            ..self
        }
    }

    /// Gaussians of the model.
    #[must_use]
    pub const fn gaussians(&self) -> u32 {
        self.per_triangle.saturating_mul(self.triangles)
    }

    /// Weight of the term of normals for an edge.
    #[must_use]
    pub fn flatness(&self) -> f32 {
        self.normal_consistency / self.inner_edges.max(1) as f32
    }

    /// Bytes of the largest tensor of the mesh.
    #[must_use]
    pub fn largest_tensor(&self) -> u64 {
        12 * u64::from(self.vertices.max(self.triangles))
    }
}

/// The mesh that a model is bound to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoundMesh {
    /// Positions of the vertices, world units.
    pub vertices: Vec<[f32; 3]>,
    /// Vertices of the triangles.
    pub triangles: Vec<[u32; 3]>,
    /// Who meets whom.
    pub adjacency: Adjacency,
}

impl BoundMesh {
    /// The vertices and triangles of `mesh`.
    #[must_use]
    pub fn new(mesh: &Mesh) -> Self {
        Self {
            vertices: mesh.positions().to_vec(),
            triangles: mesh.triangles().to_vec(),
            adjacency: Adjacency::new(mesh),
        }
    }

    /// Positions of a triangle's corners.
    #[must_use]
    pub fn corners(&self, triangle: [u32; 3]) -> [[f32; 3]; 3] {
        triangle.map(|vertex| self.vertices.get(vertex as usize).copied().unwrap_or_default())
    }
}

/// Barycentric place of Gaussian `slot` among the `per_triangle` of its triangle.
#[must_use]
pub fn place<R: Real>(per_triangle: u32, slot: u32) -> [R; 3] {
    let has_middle = matches!(per_triangle, 1 | 4);
    if has_middle && slot == 0 {
        return [R::of(1.0 / 3.0); 3];
    }
    let k = slot - u32::from(has_middle);
    let own = match (per_triangle, k) {
        (3, _) => 0.5,
        (_, 0..3) => 2.0 / 3.0,
        _ => 1.0 / 6.0,
    };
    let mut at = [R::of(0.5 * (1.0 - own)); 3];
    if let Some(at) = at.get_mut(k as usize % 3) {
        *at = R::of(own);
    }
    at
}

/// Standard deviation in the plane, in shortest edges of the triangle: the radius of as many equal circles as an equilateral
/// triangle has room for.
#[must_use]
pub fn radius(per_triangle: u32) -> f64 {
    let root = 3.0_f64.sqrt();
    match per_triangle {
        1 => 0.5 / root,
        3 => 0.5 / (root + 1.0),
        4 => 0.25 / root,
        _ => 1.0 / (4.0 + 2.0 * root),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In an equilateral triangle all circles are inside. Published places of three and six lie a little closer than their radii.
    #[test]
    fn places_and_radii_are_the_published_ones() {
        let height = 0.75_f64.sqrt();
        let corners = [[0.0, 0.0], [1.0, 0.0], [0.5, height]];
        for (per_triangle, closest) in PER_TRIANGLE
            .into_iter()
            .zip([f64::INFINITY, 0.25, 0.5 / 3.0_f64.sqrt(), 0.25])
        {
            let r = radius(per_triangle);
            let places: Vec<[f64; 3]> = (0..per_triangle).map(|slot| place(per_triangle, slot)).collect();
            let point = |at: &[f64; 3]| [0, 1].map(|c| (0..3).map(|k| at[k] * corners[k][c]).sum::<f64>());
            let mut nearest = f64::INFINITY;
            for (i, at) in places.iter().enumerate() {
                assert!((at.iter().sum::<f64>() - 1.0).abs() < 1e-15, "{at:?}");
                // Distance to a side: the place's share of the opposite corner, in heights.
                assert!(
                    at.iter().all(|share| share * height > r - 1e-12),
                    "{per_triangle}: {at:?}"
                );
                for other in &places[i + 1..] {
                    let ([x, y], [p, q]) = (point(at), point(other));
                    nearest = nearest.min((x - p).hypot(y - q));
                }
            }
            assert!(
                nearest == closest || (nearest - closest).abs() < 1e-12,
                "{per_triangle}: {nearest}"
            );
        }
        let near = |found: [f64; 3], wanted: [f64; 3]| (0..3).all(|k| (found[k] - wanted[k]).abs() < 1e-15);
        assert!(near(place(3, 1), [0.25, 0.5, 0.25]));
        assert!(near(place(4, 3), [1.0 / 6.0, 1.0 / 6.0, 2.0 / 3.0]));
        assert!(near(place(6, 4), [5.0 / 12.0, 1.0 / 6.0, 5.0 / 12.0]));
    }
}
