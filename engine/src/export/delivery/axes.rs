//! Between the axes of a scene and those of SPZ and glTF, held against the engine's harmonics.

pub(super) use kiln_formats::axes::{point, rotation, sh_sign};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::twins::sh::sh_basis;

    #[test]
    fn harmonics_keep_their_colours() {
        let direction: [f64; 3] = [0.36, -0.48, 0.8];
        let turned = [direction[0], -direction[1], -direction[2]];
        let (before, after) = (sh_basis(3, direction), sh_basis(3, turned));
        for coefficient in 0..15 {
            let sign = f64::from(sh_sign(coefficient));
            assert!(
                (before[coefficient + 1] - sign * after[coefficient + 1]).abs() < 1e-15,
                "{coefficient}"
            );
        }
    }

    #[test]
    fn rotated_axes_turn_with_the_points() {
        let quat = [0.5_f32, -0.1, 0.7, 0.5];
        let rotate = |[w, x, y, z]: [f32; 4], [a, b, c]: [f32; 3]| {
            // v + 2 u x (u x v + w v)
            let cross = |p: [f32; 3], q: [f32; 3]| {
                [
                    p[1] * q[2] - p[2] * q[1],
                    p[2] * q[0] - p[0] * q[2],
                    p[0] * q[1] - p[1] * q[0],
                ]
            };
            let (u, v) = ([x, y, z], [a, b, c]);
            let inner = cross(u, v);
            let outer = cross(u, [inner[0] + w * a, inner[1] + w * b, inner[2] + w * c]);
            [a + 2.0 * outer[0], b + 2.0 * outer[1], c + 2.0 * outer[2]]
        };
        let v = [0.3_f32, -2.0, 0.9];
        let [x, y, z, w] = rotation(quat);
        let (one, other) = (point(rotate(quat, v)), rotate([w, x, y, z], point(v)));
        for (a, b) in one.iter().zip(other) {
            assert!((a - b).abs() < 1e-5, "{one:?} {other:?}");
        }
    }
}
