//! Vectors of three, 3x3 matrices as rows, and unit quaternions: only what cameras need.

/// Three numbers: a point, a direction or a colour.
pub(crate) type Vec3 = [f32; 3];
/// Three rows.
pub(crate) type Mat3 = [Vec3; 3];

/// Functions that a browser has already; the module need not bring its own.
#[cfg(target_arch = "wasm32")]
mod given {
    pub(crate) use js_sys::Math::{cos, exp, log as ln, log2, log10, pow, sin};
}

#[cfg(not(target_arch = "wasm32"))]
mod given {
    macro_rules! given {
        ($($name:ident = $method:ident($($argument:ident),*);)*) => {
            $(pub(crate) fn $name(value: f64 $(, $argument: f64)*) -> f64 { value.$method($($argument),*) })*
        };
    }
    given! {
        sin = sin(); cos = cos(); exp = exp(); ln = ln(); log2 = log2(); log10 = log10(); pow = powf(exponent);
    }
}
pub(crate) use given::{cos, exp, ln, log2, log10, pow, sin};

pub(crate) fn add(a: Vec3, b: Vec3) -> Vec3 {
    std::array::from_fn(|i| a[i] + b[i])
}

pub(crate) fn sub(a: Vec3, b: Vec3) -> Vec3 {
    std::array::from_fn(|i| a[i] - b[i])
}

pub(crate) fn scale(a: Vec3, by: f32) -> Vec3 {
    a.map(|v| v * by)
}

pub(crate) fn dot(a: Vec3, b: Vec3) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(crate) fn cross(a: Vec3, b: Vec3) -> Vec3 {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

pub(crate) fn length(a: Vec3) -> f32 {
    dot(a, a).sqrt()
}

/// The direction of `a`, or `otherwise` when `a` has none.
pub(crate) fn normalized_or(a: Vec3, otherwise: Vec3) -> Vec3 {
    let length = length(a);
    if length > 1e-12 && length.is_finite() {
        scale(a, 1.0 / length)
    } else {
        otherwise
    }
}

pub(crate) fn transpose(m: Mat3) -> Mat3 {
    std::array::from_fn(|i| std::array::from_fn(|j| m[j][i]))
}

pub(crate) fn mat_vec(m: Mat3, v: Vec3) -> Vec3 {
    m.map(|row| dot(row, v))
}

pub(crate) fn mat_mul(a: Mat3, b: Mat3) -> Mat3 {
    let columns = transpose(b);
    a.map(|row| columns.map(|column| dot(row, column)))
}

/// Rotation by `angle` radians about the unit vector `axis`, right-handed (Rodrigues).
pub(crate) fn axis_angle([x, y, z]: Vec3, angle: f32) -> Mat3 {
    let (s, c) = (sin(angle.into()) as f32, cos(angle.into()) as f32);
    let t = 1.0 - c;
    [
        [t * x * x + c, t * x * y - s * z, t * x * z + s * y],
        [t * x * y + s * z, t * y * y + c, t * y * z - s * x],
        [t * x * z - s * y, t * y * z + s * x, t * z * z + c],
    ]
}

/// The quaternion (w, x, y, z) of a rotation matrix; `w` is not negative.
pub(crate) fn quat_of(m: Mat3) -> [f32; 4] {
    // Four times the square of each component; the largest is safe to divide by.
    let squares = [
        1.0 + m[0][0] + m[1][1] + m[2][2],
        1.0 + m[0][0] - m[1][1] - m[2][2],
        1.0 - m[0][0] + m[1][1] - m[2][2],
        1.0 - m[0][0] - m[1][1] + m[2][2],
    ];
    let largest = (1..4).fold(0, |best, i| if squares[i] > squares[best] { i } else { best });
    let products = [
        [squares[0], m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]],
        [m[2][1] - m[1][2], squares[1], m[0][1] + m[1][0], m[0][2] + m[2][0]],
        [m[0][2] - m[2][0], m[0][1] + m[1][0], squares[2], m[1][2] + m[2][1]],
        [m[1][0] - m[0][1], m[0][2] + m[2][0], m[1][2] + m[2][1], squares[3]],
    ];
    let quat = unit_quat(products[largest]).unwrap_or([1.0, 0.0, 0.0, 0.0]);
    if quat[0] < 0.0 { quat.map(|v| -v) } else { quat }
}

/// The quaternion at length 1; `None` when it has no direction.
pub(crate) fn unit_quat(q: [f32; 4]) -> Option<[f32; 4]> {
    let length = q.iter().map(|v| v * v).sum::<f32>().sqrt();
    (length.is_finite() && length > 1e-20).then(|| q.map(|v| v / length))
}

/// The rotation of a unit quaternion (w, x, y, z).
pub(crate) fn rotation_of([w, x, y, z]: [f32; 4]) -> Mat3 {
    [
        [
            1.0 - 2.0 * (y * y + z * z),
            2.0 * (x * y - w * z),
            2.0 * (x * z + w * y),
        ],
        [
            2.0 * (x * y + w * z),
            1.0 - 2.0 * (x * x + z * z),
            2.0 * (y * z - w * x),
        ],
        [
            2.0 * (x * z - w * y),
            2.0 * (y * z + w * x),
            1.0 - 2.0 * (x * x + y * y),
        ],
    ]
}

/// Rows made perpendicular and of length 1 again, the last first: repeated turns drift.
pub(crate) fn orthonormal(m: Mat3) -> Mat3 {
    let z = normalized_or(m[2], [0.0, 0.0, 1.0]);
    let x = normalized_or(sub(m[0], scale(z, dot(m[0], z))), [1.0, 0.0, 0.0]);
    [x, cross(z, x), z]
}

#[cfg(test)]
pub(crate) fn close(a: &[f32], b: &[f32], within: f32) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= within)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_turn_about_z_takes_x_to_y_in_every_form() {
        let turn = axis_angle([0.0, 0.0, 1.0], std::f32::consts::FRAC_PI_2);
        assert!(close(&mat_vec(turn, [1.0, 0.0, 0.0]), &[0.0, 1.0, 0.0], 1e-6));
        let quat = quat_of(turn);
        let half = std::f32::consts::FRAC_1_SQRT_2;
        assert!(close(&quat, &[half, 0.0, 0.0, half], 1e-6));
        assert!(close(rotation_of(quat).as_flattened(), turn.as_flattened(), 1e-6));
    }

    #[test]
    fn quaternions_of_turns_near_180_degrees_come_back() {
        for axis in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.6, 0.0, 0.8]] {
            for angle in [0.0, 3.0, 3.13, -3.1] {
                let turn = axis_angle(axis, angle);
                let back = rotation_of(quat_of(turn));
                assert!(
                    close(back.as_flattened(), turn.as_flattened(), 1e-5),
                    "{axis:?} {angle}"
                );
            }
        }
    }

    #[test]
    fn drifted_rows_become_a_rotation_again() {
        let rows = orthonormal([[1.1, 0.1, 0.0], [0.0, 0.9, 0.1], [0.0, 0.1, 2.0]]);
        let product = mat_mul(rows, transpose(rows));
        let identity = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        assert!(close(product.as_flattened(), identity.as_flattened(), 1e-6));
        assert!(dot(cross(rows[0], rows[1]), rows[2]) > 0.999);
        assert_eq!(normalized_or([0.0; 3], [0.0, 1.0, 0.0]), [0.0, 1.0, 0.0]);
        assert_eq!(unit_quat([0.0; 4]), None);
        assert!(length(add([3.0, 0.0, 0.0], [0.0, 4.0, 0.0])) == 5.0);
    }
}
