//! Scalars, small vectors and matrices and rotations, generic over the float type.
//!
//! A leaf that everything may import. Readers, camera paths and twins agree to the last bit because the order of every
//! sum is written here, once. Quaternions are (w, x, y, z), matrices row-major.

use std::fmt::Debug;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// A float to compute in: f32 as the GPU does, f64 for poses and to compare with finite differences.
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
    fn f32_bits(self) -> u32;
    /// Whether the value is not a number.
    fn is_nan(self) -> bool;
    /// Square root.
    fn sqrt(self) -> Self;
    /// e to this power. This and the three functions below are computed in f64: C libraries differ in how they round those of f32, and
    /// what they give reaches files that are the same on every system.
    fn exp(self) -> Self;
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// Cosine of an angle in radians.
    fn cos(self) -> Self;
    /// Angle of the point `(x, self)` from the x axis, radians.
    fn atan2(self, x: Self) -> Self;
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
            fn f32_bits(self) -> u32 {
                (self as f32).to_bits()
            }
            fn is_nan(self) -> bool {
                self.is_nan()
            }
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            fn exp(self) -> Self {
                f64::from(self).exp() as $float
            }
            fn ln(self) -> Self {
                f64::from(self).ln() as $float
            }
            fn cos(self) -> Self {
                f64::from(self).cos() as $float
            }
            fn atan2(self, x: Self) -> Self {
                f64::from(self).atan2(f64::from(x)) as $float
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
    // -0 is what adding changes nothing to; +0 would change the sign of a -0.
    let mut sum = -R::ZERO;
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

/// Vector product.
#[must_use]
pub fn cross<R: Real>(a: Vec3<R>, b: Vec3<R>) -> Vec3<R> {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
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

/// The unit quaternion of a rotation matrix, from its largest component so that nothing cancels (Shepperd 1978).
#[must_use]
pub fn quaternion<R: Real>(m: Mat3<R>) -> [R; 4] {
    let trace = m[0][0] + m[1][1] + m[2][2];
    let square = |diagonal: R| R::ONE + R::of(2.0) * diagonal - trace;
    let squares = [R::ONE + trace, square(m[0][0]), square(m[1][1]), square(m[2][2])];
    let largest = (1..4).fold(0, |best, i| if squares[i] >= squares[best] { i } else { best });
    let (a, b, c) = (m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]);
    let (xy, xz, yz) = (m[0][1] + m[1][0], m[0][2] + m[2][0], m[1][2] + m[2][1]);
    let s = squares[largest];
    let quat = match largest {
        0 => [s, a, b, c],
        1 => [a, s, xy, xz],
        2 => [b, xy, s, yz],
        _ => [c, xz, yz, s],
    };
    let length = norm(quat).max(R::of(1e-12));
    quat.map(|value| value / length)
}

/// Backward of [`rotation`]: gradient of the unit quaternion from the gradient `g` of the matrix.
#[must_use]
pub fn rotation_backward<R: Real>([w, x, y, z]: [R; 4], g: Mat3<R>) -> [R; 4] {
    let two = R::of(2.0);
    let dw = x * (g[2][1] - g[1][2]) + y * (g[0][2] - g[2][0]) + z * (g[1][0] - g[0][1]);
    let dx =
        y * (g[0][1] + g[1][0]) + z * (g[0][2] + g[2][0]) + w * (g[2][1] - g[1][2]) - two * x * (g[1][1] + g[2][2]);
    let dy =
        x * (g[0][1] + g[1][0]) + z * (g[1][2] + g[2][1]) + w * (g[0][2] - g[2][0]) - two * y * (g[0][0] + g[2][2]);
    let dz =
        x * (g[0][2] + g[2][0]) + y * (g[1][2] + g[2][1]) + w * (g[1][0] - g[0][1]) - two * z * (g[0][0] + g[1][1]);
    [two * dw, two * dx, two * dy, two * dz]
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
    fn matrices_and_quaternions_agree() {
        for quat in [
            [1.0, 0.0, 0.0, 0.0],
            [0.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, 1.0, 0.0],
            [0.0, 0.0, 0.0, 1.0],
            [0.5, -0.5, 0.5, 0.5],
            [0.1, 0.7, -0.1, 0.7],
        ] {
            let quat: [f64; 4] = scale(quat, 1.0 / norm(quat));
            let back = quaternion(rotation(quat));
            assert!((dot(back, quat).abs() - 1.0).abs() < 1e-12, "{quat:?} {back:?}");
        }
    }

    #[test]
    fn signs_of_zero_are_kept() {
        assert!(dot([-1.0_f64, 0.0], [0.0, -0.0]).is_sign_negative());
        assert!(dot([-1.0_f64, 0.0], [0.0, 0.0]).is_sign_positive());
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
