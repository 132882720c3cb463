//! Vectors of three f64, in which all geometry of this crate is computed.

/// A vector or point.
pub(crate) type V3 = [f64; 3];

pub(crate) fn wide(a: [f32; 3]) -> V3 {
    a.map(f64::from)
}

pub(crate) fn narrow(a: V3) -> [f32; 3] {
    a.map(|x| x as f32)
}

pub(crate) fn add(a: V3, b: V3) -> V3 {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

pub(crate) fn sub(a: V3, b: V3) -> V3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

pub(crate) fn scale(a: V3, s: f64) -> V3 {
    [a[0] * s, a[1] * s, a[2] * s]
}

pub(crate) fn dot(a: V3, b: V3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(crate) fn cross(a: V3, b: V3) -> V3 {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

pub(crate) fn norm(a: V3) -> f64 {
    dot(a, a).sqrt()
}

/// The vector at length 1; `None` for one without a direction.
pub(crate) fn unit(a: V3) -> Option<V3> {
    // Scaled first: squares of small coordinates vanish.
    let largest = a.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    if !(largest > 0.0 && largest.is_finite()) {
        return None;
    }
    let a = scale(a, 1.0 / largest);
    Some(scale(a, 1.0 / norm(a)))
}

/// Twice the area of a triangle, along its normal.
pub(crate) fn double_area(a: V3, b: V3, c: V3) -> V3 {
    cross(sub(b, a), sub(c, a))
}

/// Two unit vectors that make a right-handed frame with the unit vector `n` as its third axis.
pub(crate) fn frame(n: V3) -> (V3, V3) {
    // The axis along which `n` is smallest is far from parallel to it.
    let least = (0..3).fold(0, |least, i| if n[i].abs() < n[least].abs() { i } else { least });
    let mut axis = [0.0; 3];
    axis[least] = 1.0;
    let u = unit(cross(axis, n)).unwrap_or([1.0, 0.0, 0.0]);
    (u, cross(n, u))
}
