//! The first triangles, one for each point.

use kiln_triangles::schedule::{START_OPACITY, Settings};
use kiln_triangles::{opacity, start};

use kiln_gaussians::Gaussians;
use kiln_gaussians::triangles::TriangleModel;
use kiln_twins::rng::uniform;

/// First channel of the random turns of the first triangles.
const TURN: u32 = 0;

/// The first model: a triangle for each Gaussian of the points' model, as large as it and with its colour; nothing is shared.
#[must_use]
pub fn first_model(points: &Gaussians, settings: &Settings, seed: u32) -> TriangleModel {
    let squared: Vec<f64> = points
        .log_scales
        .iter()
        .map(|[size, ..]| (2.0 * f64::from(*size)).exp())
        .collect();
    let positions = start::soup(&points.means, &squared, 0.0, |id, channel| {
        uniform(seed, 0, id, TURN + channel)
    });
    let n = positions.len();
    let rest = points.sh_rest.len() / points.len().max(1);
    TriangleModel {
        degree: points.sh_degree,
        weights: vec![opacity::weight(START_OPACITY, 0.0); n],
        sh0: points.sh0.iter().flat_map(|color| [*color; 3]).collect(),
        sh_rest: vec![0.0; n * rest],
        triangles: (0..).step_by(3).map(|v| [v, v + 1, v + 2]).take(points.len()).collect(),
        positions,
        floor: 0.0,
        sigma: settings.sigma_at(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_becomes_a_triangle_of_its_colour() {
        let points = Gaussians {
            sh_degree: 1,
            means: vec![[0.0; 3], [5.0, 0.0, 0.0]],
            quats: vec![[1.0, 0.0, 0.0, 0.0]; 2],
            log_scales: vec![[0.0; 3], [2.0_f32.ln(); 3]],
            logit_opacities: vec![0.0; 2],
            sh0: vec![[0.1; 3], [0.2; 3]],
            sh_rest: vec![0.0; 18],
            filter_3d: vec![0.0; 2],
        };
        let model = first_model(&points, &Settings::outdoor(), 7);
        assert_eq!(model.triangles, [[0, 1, 2], [3, 4, 5]]);
        assert_eq!(
            (model.sh0[2], model.sh0[3], model.sh_rest.len()),
            ([0.1; 3], [0.2; 3], 54)
        );
        assert!((opacity::of(model.weights[5], 0.0) - 0.28).abs() < 1e-6);
        for (v, position) in model.positions.iter().enumerate() {
            let [x, y, z] = *position;
            let (x, size) = if v < 3 { (x, 2.23) } else { (x - 5.0, 4.46) };
            assert!(((x * x + y * y + z * z).sqrt() / size - 1.0).abs() < 1e-5);
        }
        assert_eq!(model, first_model(&points, &Settings::outdoor(), 7));
        assert_ne!(model, first_model(&points, &Settings::outdoor(), 8));
    }
}
