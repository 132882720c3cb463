//! A model of triangles: vertices as the optimiser sees them, and which three make a triangle.

use crate::gaussians::layout;

/// Planes of a vertex's geometry: x, y, z and the weight.
pub const GEOMETRY_PLANES: u32 = 4;
/// Plane of the weight.
pub const PLANE_WEIGHT: u32 = 3;

/// Host-side model. Vectors over vertices have one length; `triangles` name vertices below it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TriangleModel {
    /// Highest spherical-harmonics degree stored, 0..=3.
    pub sh_degree: u32,
    /// World-space positions.
    pub positions: Vec<[f32; 3]>,
    /// Opacities before activation: `opacity = floor + (1 - floor) sigmoid(weight)`.
    pub weights: Vec<f32>,
    /// Degree-0 colour coefficients.
    pub sh0: Vec<[f32; 3]>,
    /// Higher-degree coefficients, `[vertex][coefficient][channel]` flattened.
    pub sh_rest: Vec<f32>,
    /// Three vertices each.
    pub triangles: Vec<[u32; 3]>,
    /// Least opacity of a vertex, below 1.
    pub opacity_floor: f32,
    /// Exponent of the window: near 0, triangles are solid.
    pub sigma: f32,
}

impl TriangleModel {
    /// Number of vertices.
    #[must_use]
    pub fn n_vertices(&self) -> usize {
        self.positions.len()
    }

    /// Coefficients beyond degree 0: 0, 3, 8 or 15.
    #[must_use]
    pub fn rest_coefficients(&self) -> usize {
        layout::sh_coefficients(self.sh_degree) - 1
    }

    /// Opacity of every vertex.
    #[must_use]
    pub fn opacities(&self) -> Vec<f32> {
        let floor = self.opacity_floor;
        let opacity = |w: &f32| floor + (1.0 - floor) * crate::math::sigmoid(*w);
        self.weights.iter().map(opacity).collect()
    }

    /// The first thing that is wrong with it, for people: lengths that differ, a vertex that does not exist, a value that is no
    /// number.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let n = self.n_vertices();
        let lengths = [
            ("weights", self.weights.len(), n),
            ("colours", self.sh0.len(), n),
            ("coefficients", self.sh_rest.len(), 3 * n * self.rest_coefficients()),
        ];
        if let Some((what, found, wanted)) = lengths.into_iter().find(|(_, found, wanted)| found != wanted) {
            return Some(format!("{found} {what} for {n} vertices, wanted {wanted}"));
        }
        let missing = |t: &&[u32; 3]| t.iter().any(|&v| v as usize >= n);
        if let Some(triangle) = self.triangles.iter().find(missing) {
            return Some(format!(
                "triangle {triangle:?} names a vertex that does not exist, of {n}"
            ));
        }
        let finite = |values: &[f32]| values.iter().all(|v| v.is_finite());
        let numbers = finite(self.positions.as_flattened())
            && finite(&self.weights)
            && finite(self.sh0.as_flattened())
            && finite(&self.sh_rest);
        (!numbers).then(|| "a value is no finite number".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one() -> TriangleModel {
        TriangleModel {
            positions: vec![[0.0; 3]; 3],
            weights: vec![0.0; 3],
            sh0: vec![[0.0; 3]; 3],
            triangles: vec![[0, 1, 2]],
            opacity_floor: 0.5,
            ..TriangleModel::default()
        }
    }

    #[test]
    fn faults_are_named() {
        assert_eq!(one().fault(), None);
        let mut model = one();
        model.triangles.push([0, 1, 3]);
        assert!(model.fault().is_some_and(|text| text.contains("[0, 1, 3]")));
        let mut model = one();
        model.weights.pop();
        assert!(model.fault().is_some_and(|text| text.contains("2 weights")));
        let mut model = one();
        model.positions[1][2] = f32::NAN;
        assert!(model.fault().is_some());
    }

    #[test]
    fn opacity_lies_above_the_floor() {
        assert_eq!(one().opacities(), [0.75; 3]);
    }
}
