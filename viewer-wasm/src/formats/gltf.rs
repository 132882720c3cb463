//! Half a turn about x: between the axes of SPZ and glTF (y up, z backward) and those of PLY files (y down, z forward).

use crate::splat::{REST_MAX, Splat};

/// Signs of the coefficients of degree 1 to 3: minus where the function is odd in (y, z).
const SH_SIGNS: [f32; REST_MAX] = [
    -1.0, -1.0, 1.0, // y, z, x
    -1.0, 1.0, 1.0, -1.0, 1.0, // xy, yz, 2zz-xx-yy, xz, xx-yy
    -1.0, 1.0, -1.0, -1.0, 1.0, -1.0, 1.0, // y(..), xyz, y(..), z(..), x(..), z(..), x(..)
];

/// The splat in the other axes.
pub(super) fn turned(splat: Splat) -> Splat {
    let ([x, y, z], [w, i, j, k]) = (splat.mean, splat.quat);
    let mut rest = splat.rest;
    for (coefficient, sign) in rest.iter_mut().zip(SH_SIGNS) {
        *coefficient = coefficient.map(|value| sign * value);
    }
    Splat {
        mean: [x, -y, -z],
        quat: [w, i, -j, -k],
        rest,
        ..splat
    }
}
