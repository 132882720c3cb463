//! Real spherical harmonics to degree 3: the basis view-dependent colour is written in, and its derivative.

use kiln_scene::math::{Real, Vec3, scale};

/// SH coefficients of degree 3, the most a Gaussian has.
pub const SH_MAX: usize = 16;

/// Normalisation of the degree-0 function: 1 / (2 sqrt(pi)).
pub const SH_C0: f64 = 0.282_094_791_773_878_14;
const SH_C1: f64 = 0.488_602_511_902_919_9;
const SH_C2: [f64; 5] = [
    1.092_548_430_592_079_2,
    -1.092_548_430_592_079_2,
    0.315_391_565_252_520_05,
    -1.092_548_430_592_079_2,
    0.546_274_215_296_039_6,
];
const SH_C3: [f64; 7] = [
    -0.590_043_589_926_643_5,
    2.890_611_442_640_554,
    -0.457_045_799_464_465_8,
    0.373_176_332_590_115_4,
    -0.457_045_799_464_465_8,
    1.445_305_721_320_277,
    -0.590_043_589_926_643_5,
];

/// Real spherical harmonics up to `degree` (0..=3) in the unit direction (x, y, z), Condon-Shortley signs, ordered by
/// degree and then by order -l..=l. Entries above the degree are 0.
#[must_use]
pub fn sh_basis<R: Real>(degree: u32, [x, y, z]: Vec3<R>) -> [R; SH_MAX] {
    let mut basis = [R::ZERO; SH_MAX];
    basis[0] = R::of(SH_C0);
    if degree >= 1 {
        let c1 = R::of(SH_C1);
        basis[1] = -(c1 * y);
        basis[2] = c1 * z;
        basis[3] = -(c1 * x);
    }
    let (xx, yy, zz) = (x * x, y * y, z * z);
    let (two, three, four) = (R::of(2.0), R::of(3.0), R::of(4.0));
    if degree >= 2 {
        let shapes = [x * y, y * z, two * zz - xx - yy, x * z, xx - yy];
        for (k, shape) in shapes.into_iter().enumerate() {
            basis[4 + k] = R::of(SH_C2[k]) * shape;
        }
    }
    if degree >= 3 {
        let shapes = [
            y * (three * xx - yy),
            x * y * z,
            y * (four * zz - xx - yy),
            z * (two * zz - three * xx - three * yy),
            x * (four * zz - xx - yy),
            z * (xx - yy),
            x * (xx - three * yy),
        ];
        for (k, shape) in shapes.into_iter().enumerate() {
            basis[9 + k] = R::of(SH_C3[k]) * shape;
        }
    }
    basis
}

/// Derivative of [`sh_basis`] with respect to (x, y, z) taken as independent; the caller projects out the radial part.
#[must_use]
pub fn sh_basis_derivative<R: Real>(degree: u32, [x, y, z]: Vec3<R>) -> [Vec3<R>; SH_MAX] {
    let zero = R::ZERO;
    let mut derivative = [[zero; 3]; SH_MAX];
    if degree >= 1 {
        let c1 = R::of(SH_C1);
        derivative[1] = [zero, -c1, zero];
        derivative[2] = [zero, zero, c1];
        derivative[3] = [-c1, zero, zero];
    }
    let (xx, yy, zz) = (x * x, y * y, z * z);
    let n = R::of;
    if degree >= 2 {
        let shapes = [
            [y, x, zero],
            [zero, z, y],
            [n(-2.0) * x, n(-2.0) * y, n(4.0) * z],
            [z, zero, x],
            [n(2.0) * x, n(-2.0) * y, zero],
        ];
        for (k, shape) in shapes.into_iter().enumerate() {
            derivative[4 + k] = scale(shape, n(SH_C2[k]));
        }
    }
    if degree >= 3 {
        let shapes = [
            [n(6.0) * x * y, n(3.0) * (xx - yy), zero],
            [y * z, x * z, x * y],
            [n(-2.0) * x * y, n(4.0) * zz - xx - n(3.0) * yy, n(8.0) * y * z],
            [n(-6.0) * x * z, n(-6.0) * y * z, n(6.0) * zz - n(3.0) * (xx + yy)],
            [n(4.0) * zz - n(3.0) * xx - yy, n(-2.0) * x * y, n(8.0) * x * z],
            [n(2.0) * x * z, n(-2.0) * y * z, xx - yy],
            [n(3.0) * (xx - yy), n(-6.0) * x * y, zero],
        ];
        for (k, shape) in shapes.into_iter().enumerate() {
            derivative[9 + k] = scale(shape, n(SH_C3[k]));
        }
    }
    derivative
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_one_is_a_known_degree_0_coefficient() {
        assert!(((1.0 - 0.5) / SH_C0 - 1.772_453_9).abs() < 1e-7);
        assert!((sh_basis(0, [0.0_f64, 0.0, 1.0])[0] * 1.772_453_850_905_516 + 0.5 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn harmonics_are_orthonormal_on_the_sphere() {
        // Product quadrature: midpoints in z would be low order, so Gauss-Legendre nodes of degree 8 in z, 16 in angle.
        const NODES: [(f64, f64); 4] = [
            (0.183_434_642_495_649_8, 0.362_683_783_378_362),
            (0.525_532_409_916_329, 0.313_706_645_877_887_3),
            (0.796_666_477_413_626_7, 0.222_381_034_453_374_48),
            (0.960_289_856_497_536_3, 0.101_228_536_290_376_26),
        ];
        let mut gram = [[0.0; SH_MAX]; SH_MAX];
        for (node, weight) in NODES.iter().flat_map(|&(n, w)| [(n, w), (-n, w)]) {
            for step in 0..16 {
                let angle = f64::from(step) * std::f64::consts::TAU / 16.0;
                let r = (1.0 - node * node).sqrt();
                let basis = sh_basis(3, [r * angle.cos(), r * angle.sin(), node]);
                for i in 0..SH_MAX {
                    for j in 0..SH_MAX {
                        gram[i][j] += basis[i] * basis[j] * weight * std::f64::consts::TAU / 16.0;
                    }
                }
            }
        }
        for (i, row) in gram.iter().enumerate() {
            for (j, value) in row.iter().enumerate() {
                assert!((value - f64::from(u8::from(i == j))).abs() < 1e-9, "{i} {j} {value}");
            }
        }
    }

    #[test]
    fn derivative_matches_differences() {
        let p = [0.3_f64, -0.5, 0.81];
        let exact = sh_basis_derivative(3, p);
        for axis in 0..3 {
            let mut low = p;
            let mut high = p;
            low[axis] -= 1e-5;
            high[axis] += 1e-5;
            let (low, high) = (sh_basis(3, low), sh_basis(3, high));
            for k in 0..SH_MAX {
                assert!(((high[k] - low[k]) / 2e-5 - exact[k][axis]).abs() < 1e-8, "{k} {axis}");
            }
        }
    }
}
