//! Scalars, small vectors and matrices, rotations and spherical harmonics, generic over the float type.

use std::fmt::Debug;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// A float the twins compute in: f32 to compare with the GPU, f64 to compare with finite differences.
pub trait Real:
    Copy
    + Debug
    + Default
    + PartialEq
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + Sum
    + 'static
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The nearest value to a constant.
    fn of(value: f64) -> Self;
    /// Widens or copies.
    fn to_f64(self) -> f64;
    /// Bits of the value as f32: for positive values their order as integers is the order of the values.
    fn depth_key(self) -> u32;
    /// Whether the value is not a number.
    fn is_nan(self) -> bool;
    /// Square root.
    fn sqrt(self) -> Self;
    /// e to this power.
    fn exp(self) -> Self;
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// Cosine of an angle in radians.
    fn cos(self) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
    /// Largest integer not above.
    fn floor(self) -> Self;
    /// Smallest integer not below.
    fn ceil(self) -> Self;
    /// Integer power.
    fn powi(self, exponent: i32) -> Self;
    /// The larger of two; the other one when one is NaN.
    fn max(self, other: Self) -> Self;
    /// The smaller of two; the other one when one is NaN.
    fn min(self, other: Self) -> Self;
}

macro_rules! real {
    ($float:ty) => {
        impl Real for $float {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            fn of(value: f64) -> Self {
                value as $float
            }
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            fn depth_key(self) -> u32 {
                (self as f32).to_bits()
            }
            fn is_nan(self) -> bool {
                self.is_nan()
            }
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            fn exp(self) -> Self {
                self.exp()
            }
            fn ln(self) -> Self {
                self.ln()
            }
            fn cos(self) -> Self {
                self.cos()
            }
            fn abs(self) -> Self {
                self.abs()
            }
            fn floor(self) -> Self {
                self.floor()
            }
            fn ceil(self) -> Self {
                self.ceil()
            }
            fn powi(self, exponent: i32) -> Self {
                self.powi(exponent)
            }
            fn max(self, other: Self) -> Self {
                self.max(other)
            }
            fn min(self, other: Self) -> Self {
                self.min(other)
            }
        }
    };
}

real!(f32);
real!(f64);

/// A 3-vector.
pub type Vec3<R> = [R; 3];
/// A row-major 3x3 matrix.
pub type Mat3<R> = [[R; 3]; 3];
/// A symmetric 2x2 matrix `[[a, b], [b, c]]` as `[a, b, c]`.
pub type Sym2<R> = [R; 3];

/// 1 / (1 + e^-x).
#[must_use]
pub fn sigmoid<R: Real>(x: R) -> R {
    R::ONE / (R::ONE + (-x).exp())
}

/// Inverse of [`sigmoid`]: ln(p / (1 - p)), for p in (0, 1).
#[must_use]
pub fn logit<R: Real>(p: R) -> R {
    (p / (R::ONE - p)).ln()
}

/// Inner product.
#[must_use]
pub fn dot<R: Real, const N: usize>(a: [R; N], b: [R; N]) -> R {
    let mut sum = R::ZERO;
    for i in 0..N {
        sum += a[i] * b[i];
    }
    sum
}

/// Element-wise a - b.
#[must_use]
pub fn sub<R: Real, const N: usize>(a: [R; N], b: [R; N]) -> [R; N] {
    std::array::from_fn(|i| a[i] - b[i])
}

/// Element-wise a + b.
#[must_use]
pub fn add<R: Real, const N: usize>(a: [R; N], b: [R; N]) -> [R; N] {
    std::array::from_fn(|i| a[i] + b[i])
}

/// a times a scalar.
#[must_use]
pub fn scale<R: Real, const N: usize>(a: [R; N], factor: R) -> [R; N] {
    a.map(|v| v * factor)
}

/// Euclidean length.
#[must_use]
pub fn norm<R: Real, const N: usize>(a: [R; N]) -> R {
    dot(a, a).sqrt()
}

/// Backward of u = a / |a|: (I - u u^T) g / |a|.
#[must_use]
pub fn normalize_backward<R: Real, const N: usize>(unit: [R; N], length: R, g: [R; N]) -> [R; N] {
    let radial = dot(unit, g);
    std::array::from_fn(|i| (g[i] - unit[i] * radial) / length)
}

/// m v.
#[must_use]
pub fn mat_vec<R: Real>(m: Mat3<R>, v: Vec3<R>) -> Vec3<R> {
    m.map(|row| dot(row, v))
}

/// m^T.
#[must_use]
pub fn transpose<R: Real>(m: Mat3<R>) -> Mat3<R> {
    std::array::from_fn(|i| std::array::from_fn(|j| m[j][i]))
}

/// a b, for a of any number of rows.
#[must_use]
pub fn mat_mul<R: Real, const N: usize>(a: [[R; 3]; N], b: Mat3<R>) -> [[R; 3]; N] {
    let columns = transpose(b);
    a.map(|row| std::array::from_fn(|j| dot(row, columns[j])))
}

/// ac - b^2 of `[[a, b], [b, c]]`.
#[must_use]
pub fn det2<R: Real>(m: Sym2<R>) -> R {
    m[0] * m[2] - m[1] * m[1]
}

/// Rotation matrix of a unit quaternion (w, x, y, z).
#[must_use]
pub fn rotation<R: Real>([w, x, y, z]: [R; 4]) -> Mat3<R> {
    let (one, two) = (R::ONE, R::of(2.0));
    [
        [
            one - two * (y * y + z * z),
            two * (x * y - w * z),
            two * (x * z + w * y),
        ],
        [
            two * (x * y + w * z),
            one - two * (x * x + z * z),
            two * (y * z - w * x),
        ],
        [
            two * (x * z - w * y),
            two * (y * z + w * x),
            one - two * (x * x + y * y),
        ],
    ]
}

/// Backward of [`rotation`]: gradient of the unit quaternion from the gradient `g` of the matrix.
#[must_use]
pub fn rotation_backward<R: Real>([w, x, y, z]: [R; 4], g: Mat3<R>) -> [R; 4] {
    let two = R::of(2.0);
    let dw = x * (g[2][1] - g[1][2]) + y * (g[0][2] - g[2][0]) + z * (g[1][0] - g[0][1]);
    let dx = y * (g[0][1] + g[1][0]) + z * (g[0][2] + g[2][0]) + w * (g[2][1] - g[1][2])
        - two * x * (g[1][1] + g[2][2]);
    let dy = x * (g[0][1] + g[1][0]) + z * (g[1][2] + g[2][1]) + w * (g[0][2] - g[2][0])
        - two * y * (g[0][0] + g[2][2]);
    let dz = x * (g[0][2] + g[2][0]) + y * (g[1][2] + g[2][1]) + w * (g[1][0] - g[0][1])
        - two * z * (g[0][0] + g[1][1]);
    [two * dw, two * dx, two * dy, two * dz]
}

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
            [
                n(-2.0) * x * y,
                n(4.0) * zz - xx - n(3.0) * yy,
                n(8.0) * y * z,
            ],
            [
                n(-6.0) * x * z,
                n(-6.0) * y * z,
                n(6.0) * zz - n(3.0) * (xx + yy),
            ],
            [
                n(4.0) * zz - n(3.0) * xx - yy,
                n(-2.0) * x * y,
                n(8.0) * x * z,
            ],
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
    fn logits_match_known_values() {
        assert!((logit(0.1_f64) + 2.197_224_6).abs() < 1e-7);
        assert!((logit(0.01_f64) + 4.595_119_9).abs() < 1e-7);
        assert!((sigmoid(logit(0.3_f64)) - 0.3).abs() < 1e-15);
    }

    #[test]
    fn colour_one_is_a_known_degree_0_coefficient() {
        assert!(((1.0 - 0.5) / SH_C0 - 1.772_453_9).abs() < 1e-7);
        assert!(
            (sh_basis(0, [0.0_f64, 0.0, 1.0])[0] * 1.772_453_850_905_516 + 0.5 - 1.0).abs() < 1e-12
        );
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
                assert!(
                    (value - f64::from(u8::from(i == j))).abs() < 1e-9,
                    "{i} {j} {value}"
                );
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
                assert!(
                    ((high[k] - low[k]) / 2e-5 - exact[k][axis]).abs() < 1e-8,
                    "{k} {axis}"
                );
            }
        }
    }

    #[test]
    fn rotation_backward_matches_differences() {
        let q = [0.5_f64, -0.4, 0.7, 0.2];
        let g = [[0.3, -1.0, 0.2], [0.9, 0.4, -0.6], [-0.1, 0.8, 0.5]];
        let value = |q| (0..3).map(|i| dot(rotation(q)[i], g[i])).sum::<f64>();
        let exact = rotation_backward(q, g);
        for axis in 0..4 {
            let mut low = q;
            let mut high = q;
            low[axis] -= 1e-5;
            high[axis] += 1e-5;
            assert!(((value(high) - value(low)) / 2e-5 - exact[axis]).abs() < 1e-8);
        }
    }
}
