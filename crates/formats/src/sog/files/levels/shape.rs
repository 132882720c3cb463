//! Covariances of three axes, and what is needed of them.

/// Variances and covariances: xx, xy, xz, yy, yz, zz.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Covariance(pub(super) [f64; 6]);

/// Logarithms of standard deviations are taken to lie within this of zero, so that products of four stay finite.
const MOST_LOG: f32 = 40.0;
/// Smallest determinant of a shadow, against the product of its variances: what rounding leaves of needles.
const THINNEST: f64 = 1e-12;
/// Thomsen's exponent for the surface of an ellipsoid.
const EXPONENT: f64 = 1.6075;
/// Sweeps of Jacobi's method; five are exact to the last digits.
const SWEEPS: usize = 8;

/// The standard deviation with this logarithm.
pub(super) fn deviation(log: f32) -> f64 {
    libm::exp(f64::from(log.clamp(-MOST_LOG, MOST_LOG)))
}

impl Covariance {
    /// Of a unit quaternion (w, x, y, z) and logarithms of standard deviations.
    pub(super) fn new(quat: [f32; 4], log_scales: [f32; 3]) -> Self {
        let axes = axes(quat.map(f64::from));
        let variances = log_scales.map(|log| deviation(log).powi(2));
        let entry = |a: usize, b: usize| (0..3).map(|k| axes[k][a] * axes[k][b] * variances[k]).sum::<f64>();
        Self([
            entry(0, 0),
            entry(0, 1),
            entry(0, 2),
            entry(1, 1),
            entry(1, 2),
            entry(2, 2),
        ])
    }

    /// `self * share + other * other_share`.
    pub(super) fn mixed(self, share: f64, other: Self, other_share: f64) -> Self {
        Self(std::array::from_fn(|k| share * self.0[k] + other_share * other.0[k]))
    }

    /// Of one point at this distance from the centre.
    pub(super) fn of_offset([x, y, z]: [f64; 3]) -> Self {
        Self([x * x, x * y, x * z, y * y, y * z, z * z])
    }

    /// As seen along z, y and x.
    pub(super) fn views(self) -> [Flat; 3] {
        let [xx, xy, xz, yy, yz, zz] = self.0;
        [[xx, xy, yy], [xx, xz, zz], [yy, yz, zz]].map(Flat::new)
    }

    /// Standard deviations along the principal axes, largest first, by the trigonometric solution; small ones beside large ones
    /// are not exact.
    pub(super) fn deviations(self) -> [f64; 3] {
        let [xx, xy, xz, yy, yz, zz] = self.0;
        let mean = (xx + yy + zz) / 3.0;
        let apart = [xx - mean, yy - mean, zz - mean];
        let off = xy * xy + xz * xz + yz * yz;
        let size = ((apart.iter().map(|v| v * v).sum::<f64>() + 2.0 * off) / 6.0).sqrt();
        if size <= 0.0 {
            return [mean.max(0.0).sqrt(); 3];
        }
        let [a, d, f] = apart.map(|v| v / size);
        let [b, c, e] = [xy / size, xz / size, yz / size];
        let determinant = a * (d * f - e * e) - b * (b * f - e * c) + c * (b * e - d * c);
        let angle = libm::acos((0.5 * determinant).clamp(-1.0, 1.0)) / 3.0;
        let third = std::f64::consts::TAU / 3.0;
        [angle, angle - third, angle + third].map(|angle| (mean + 2.0 * size * libm::cos(angle)).max(0.0).sqrt())
    }

    /// Unit quaternion (w, x, y, z) and standard deviations, by Jacobi's method.
    pub(super) fn principal(self) -> ([f32; 4], [f64; 3]) {
        let [xx, xy, xz, yy, yz, zz] = self.0;
        let mut m = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
        let mut axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        for _ in 0..SWEEPS {
            for (p, q) in [(0, 1), (0, 2), (1, 2)] {
                if m[p][q] == 0.0 {
                    continue;
                }
                let theta = (m[q][q] - m[p][p]) / (2.0 * m[p][q]);
                let t = theta.signum() / (theta.abs() + libm::hypot(theta, 1.0));
                let c = 1.0 / libm::hypot(t, 1.0);
                let s = t * c;
                for row in &mut m {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
                for k in 0..3 {
                    (m[p][k], m[q][k]) = (c * m[p][k] - s * m[q][k], s * m[p][k] + c * m[q][k]);
                    (axes[p][k], axes[q][k]) = (c * axes[p][k] - s * axes[q][k], s * axes[p][k] + c * axes[q][k]);
                }
            }
        }
        (quaternion(axes), [0, 1, 2].map(|k| m[k][k].max(0.0).sqrt()))
    }
}

/// A Gaussian of two dimensions: variances and covariance, and the determinant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flat {
    matrix: [f64; 3],
    determinant: f64,
}

impl Flat {
    fn new(matrix: [f64; 3]) -> Self {
        let [xx, xy, yy] = matrix;
        Self {
            matrix,
            determinant: (xx * yy - xy * xy).max(THINNEST * xx * yy).max(f64::MIN_POSITIVE),
        }
    }

    /// Integral of the product with another one so far away, both with a peak of one.
    pub(super) fn shared(&self, other: &Self, [x, y]: [f64; 2]) -> f64 {
        let sum = Self::new(std::array::from_fn(|k| self.matrix[k] + other.matrix[k]));
        let [xx, xy, yy] = sum.matrix;
        let square = (yy * x * x - 2.0 * xy * x * y + xx * y * y) / sum.determinant;
        let size = (self.determinant / sum.determinant).sqrt() * other.determinant.sqrt();
        std::f64::consts::TAU * size * libm::exp(-0.5 * square.max(0.0))
    }
}

/// Area of the shadow of an ellipsoid with these half axes, averaged over all directions: a quarter of its surface.
pub(super) fn shadow([a, b, c]: [f64; 3]) -> f64 {
    let sides = [a * b, a * c, b * c].map(|side| libm::pow(side, EXPONENT));
    std::f64::consts::PI * libm::pow(sides.iter().sum::<f64>() / 3.0, 1.0 / EXPONENT)
}

/// Directions of the three axes of a rotation.
pub(super) fn axes([w, x, y, z]: [f64; 4]) -> [[f64; 3]; 3] {
    [
        [
            1.0 - 2.0 * (y * y + z * z),
            2.0 * (x * y + w * z),
            2.0 * (x * z - w * y),
        ],
        [
            2.0 * (x * y - w * z),
            1.0 - 2.0 * (x * x + z * z),
            2.0 * (y * z + w * x),
        ],
        [
            2.0 * (x * z + w * y),
            2.0 * (y * z - w * x),
            1.0 - 2.0 * (x * x + y * y),
        ],
    ]
}

/// The rotation with these axes, of either hand.
fn quaternion(mut axes: [[f64; 3]; 3]) -> [f32; 4] {
    let [a, b, c] = axes;
    let hand =
        a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
    if hand < 0.0 {
        axes[2] = c.map(|v| -v);
    }
    let m = axes;
    // four times the squares of w, x, y and z; the largest is divided by
    let squares = [
        1.0 + m[0][0] + m[1][1] + m[2][2],
        1.0 + m[0][0] - m[1][1] - m[2][2],
        1.0 - m[0][0] + m[1][1] - m[2][2],
        1.0 - m[0][0] - m[1][1] + m[2][2],
    ];
    let products = [
        [squares[0], m[1][2] - m[2][1], m[2][0] - m[0][2], m[0][1] - m[1][0]],
        [m[1][2] - m[2][1], squares[1], m[0][1] + m[1][0], m[2][0] + m[0][2]],
        [m[2][0] - m[0][2], m[0][1] + m[1][0], squares[2], m[1][2] + m[2][1]],
        [m[0][1] - m[1][0], m[2][0] + m[0][2], m[1][2] + m[2][1], squares[3]],
    ];
    let largest = (0..4).max_by(|&a, &b| squares[a].total_cmp(&squares[b])).unwrap_or(0);
    let row = products[largest];
    let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
    row.map(|v| (v / length) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_and_scales_are_found_again() {
        for quat in [
            [1.0_f32, 0.0, 0.0, 0.0],
            [0.5, 0.5, -0.5, 0.5],
            [0.1, 0.7, -0.1, 0.7],
            [0.0, 0.6, 0.0, -0.8],
        ] {
            let logs = [-3.0_f32, 0.5, -1.0];
            let covariance = Covariance::new(quat, logs);
            let (found, scales) = covariance.principal();
            let again = Covariance::new(found, scales.map(|s| s.ln() as f32));
            for (a, b) in covariance.0.iter().zip(again.0) {
                assert!((a - b).abs() < 1e-5, "{quat:?} {covariance:?} {again:?}");
            }
            let mut sorted = scales.map(|s| s.ln() as f32);
            sorted.sort_by(f32::total_cmp);
            assert!(sorted.iter().zip([-3.0, -1.0, 0.5]).all(|(a, b)| (a - b).abs() < 1e-5));
            let quick = covariance.deviations().map(f64::ln);
            assert!(
                quick.iter().zip([0.5, -1.0, -3.0]).all(|(a, b)| (a - b).abs() < 1e-3),
                "{quick:?}"
            );
        }
        let ball = Covariance::new([1.0, 0.0, 0.0, 0.0], [2.0_f32.ln(); 3]);
        assert!(ball.deviations().iter().all(|deviation| (deviation - 2.0).abs() < 1e-5));
        // two of variance 4 at a distance of 2: 2 pi 4 * 4 / 8, times exp(-4 / 16)
        let [flat, ..] = ball.views();
        let wanted = std::f64::consts::TAU * 2.0 * (-0.25_f64).exp();
        assert!((flat.shared(&flat, [0.0, 2.0]) - wanted).abs() < 1e-5);
        assert!((shadow([2.0; 3]) - 4.0 * std::f64::consts::PI).abs() < 1e-9);
    }
}
