//! The first triangles: one for each sparse point, sharing nothing.

/// Radius of a triangle's circle over the root mean squared distance of its point to the three nearest.
const RADIUS: f64 = 2.23;

/// Vertices of the first triangles, three per point: vertex 3 i + k belongs to point i, and triangle i has vertices 3 i,
/// 3 i + 1 and 3 i + 2.
///
/// Each is a right-angled isosceles triangle whose hypotenuse goes through its point, 2.23 `d` to either side, where `d` is
/// the square root of its `mean_squared` distance (scene units) or `least_distance` if that is more; the third vertex is as far.
/// They are turned at random: `uniform` is a random number between 0 and 1 of a point, one for each of three channels.
#[must_use]
pub fn soup(
    points: &[[f32; 3]],
    mean_squared: &[f64],
    least_distance: f64,
    uniform: impl Fn(u32, u32) -> f32,
) -> Vec<[f32; 3]> {
    let mut positions = Vec::with_capacity(3 * points.len());
    for ((&point, &squared), number) in points.iter().zip(mean_squared).zip(0..) {
        let radius = RADIUS * squared.sqrt().max(least_distance);
        let [pole, side] = turned([0, 1, 2].map(|channel| f64::from(uniform(number, channel))));
        let opposite = pole.map(|x| -x);
        for direction in [pole, side, opposite] {
            let at = |i: usize| (f64::from(point[i]) + radius * direction[i]) as f32;
            positions.push([at(0), at(1), at(2)]);
        }
    }
    positions
}

/// Two axes of a frame that is turned uniformly (Shoemake 1992).
fn turned([a, b, c]: [f64; 3]) -> [[f64; 3]; 2] {
    let tau = std::f64::consts::TAU;
    let ((sin_b, cos_b), (sin_c, cos_c)) = ((tau * b).sin_cos(), (tau * c).sin_cos());
    let (low, high) = ((1.0 - a).sqrt(), a.sqrt());
    let [x, y, z, w] = [low * sin_b, low * cos_b, high * sin_c, high * cos_c];
    [
        [
            2.0 * (x * z + w * y),
            2.0 * (y * z - w * x),
            1.0 - 2.0 * (x * x + y * y),
        ],
        [
            1.0 - 2.0 * (y * y + z * z),
            2.0 * (x * y + w * z),
            2.0 * (x * z - w * y),
        ],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soups;

    fn uniform(id: u32, channel: u32) -> f32 {
        soups::uniform(channel, id)
    }

    #[test]
    fn they_are_half_squares_as_large_as_the_gaps() {
        let points: Vec<[f32; 3]> = (0..2000).map(|i| [i as f32 * 0.01, 1.0, -2.0]).collect();
        let squared: Vec<f64> = (0..2000)
            .map(|i| if i == 7 { 0.0 } else { 0.01 * f64::from(1 + i % 5) })
            .collect();
        let positions = soup(&points, &squared, 0.001, uniform);
        assert_eq!(positions.len(), 6000);
        let mut mean = [0.0; 3];
        let mut axes = [0.0; 3];
        for (i, corners) in positions.chunks_exact(3).enumerate() {
            let to = |k: usize| [0, 1, 2].map(|axis| f64::from(corners[k][axis]) - f64::from(points[i][axis]));
            let [a, b, c] = [to(0), to(1), to(2)];
            let dot = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let radius = 2.23 * squared[i].sqrt().max(0.001);
            let near = |x: f64, y: f64| (x - y).abs() < 1e-5;
            for arm in [a, b, c] {
                assert!(near(dot(arm, arm).sqrt(), radius), "{i}");
                mean = [0, 1, 2].map(|axis| mean[axis] + arm[axis] / radius);
            }
            assert!(near(dot(a, b), 0.0) && near(dot(b, c), 0.0) && near(dot(a, c), -radius * radius));
            axes = [0, 1, 2].map(|axis| axes[axis] + (a[axis] / radius).powi(2));
        }
        // In every direction alike.
        assert!(mean.iter().all(|x| (x / 6000.0).abs() < 0.03), "{mean:?}");
        assert!(axes.iter().all(|x| (x / 2000.0 - 1.0 / 3.0).abs() < 0.03), "{axes:?}");
    }

    #[test]
    fn a_point_alone_does_not_depend_on_others() {
        let points = [[0.0; 3], [1.0, 2.0, 3.0]];
        let both = soup(&points, &[1.0, 4.0], 0.0, uniform);
        assert_eq!(soup(&points[..1], &[1.0], 0.0, uniform), both[..3]);
        assert_eq!(soup(&[], &[], 1.0, uniform), [[0.0; 3]; 0]);
    }
}
