//! From the axes of a scene (y down, z forward, as in COLMAP and PLY files) to those of SPZ and glTF (y up, z backward), and back.
//!
//! Half a turn about x: exact, because it only changes signs. A rotation's axis turns with it, and a real spherical
//! harmonic is even or odd in (y, z) together, so that its coefficient keeps its sign or changes it.

use crate::{REST_MAX, Splat};

/// Signs of the coefficients of degree 1 to 3: minus where the function is odd in (y, z).
const SH_SIGNS: [f32; REST_MAX] = [
    -1.0, -1.0, 1.0, // y, z, x
    -1.0, 1.0, 1.0, -1.0, 1.0, // xy, yz, 2zz-xx-yy, xz, xx-yy
    -1.0, 1.0, -1.0, -1.0, 1.0, -1.0, 1.0, // y(..), xyz, y(..), z(..), x(..), z(..), x(..)
];

/// A point.
pub fn point<T: std::ops::Neg<Output = T>>([x, y, z]: [T; 3]) -> [T; 3] {
    [x, -y, -z]
}

/// A rotation (w, x, y, z), as (x, y, z, w).
#[must_use]
pub fn rotation([w, x, y, z]: [f32; 4]) -> [f32; 4] {
    [x, -y, -z, w]
}

/// Sign of a coefficient, counted from the first of degree 1.
#[must_use]
pub fn sh_sign(coefficient: usize) -> f32 {
    SH_SIGNS.get(coefficient).copied().unwrap_or(1.0)
}

impl Splat {
    /// The same in the other axes.
    pub(crate) fn turned(mut self) -> Self {
        let [w, x, y, z] = self.quat;
        for (coefficient, sign) in self.rest.iter_mut().zip(SH_SIGNS) {
            *coefficient = coefficient.map(|value| sign * value);
        }
        (self.mean, self.quat) = (point(self.mean), [w, x, -y, -z]);
        self
    }
}
