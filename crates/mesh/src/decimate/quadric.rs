//! Sums of squared distances from planes.

use crate::vector::{V3, add, dot, scale};

/// A quadratic function of a place: x' A x + 2 b' x + c.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Quadric {
    /// A, symmetric: xx, xy, xz, yy, yz, zz.
    a: [f64; 6],
    b: V3,
    c: f64,
    /// Area of the triangles in it.
    area: f64,
}

impl Quadric {
    /// `weight` times the squared distance from the plane through `point` with the unit normal `normal`.
    pub(super) fn plane(normal: V3, point: V3, weight: f64) -> Self {
        let [x, y, z] = normal;
        let d = -dot(normal, point);
        Self {
            a: [x * x, x * y, x * z, y * y, y * z, z * z].map(|a| a * weight),
            b: scale(normal, d * weight),
            c: d * d * weight,
            area: 0.0,
        }
    }

    /// `weight` times the squared distance from a point.
    pub(super) fn point(point: V3, weight: f64) -> Self {
        Self {
            a: [weight, 0.0, 0.0, weight, 0.0, weight],
            b: scale(point, -weight),
            c: dot(point, point) * weight,
            area: 0.0,
        }
    }

    /// The same as that of an area.
    pub(super) const fn of_area(self, area: f64) -> Self {
        Self { area, ..self }
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        Self {
            a: std::array::from_fn(|i| self.a[i] + other.a[i]),
            b: add(self.b, other.b),
            c: self.c + other.c,
            area: self.area + other.area,
        }
    }

    /// Its value at a place, at least 0.
    pub(super) fn at(&self, p: V3) -> f64 {
        let [x, y, z] = p;
        let [xx, xy, xz, yy, yz, zz] = self.a;
        let ap = [
            xx * x + xy * y + xz * z,
            xy * x + yy * y + yz * z,
            xz * x + yz * y + zz * z,
        ];
        (dot(ap, p) + 2.0 * dot(self.b, p) + self.c).max(0.0)
    }

    /// Root of its value per area.
    pub(super) fn distance(&self, value: f64) -> f64 {
        match self.area > 0.0 {
            true => (value / self.area).sqrt(),
            false => 0.0,
        }
    }

    /// The place of its least value, by A = L D L'; `None` where A is singular.
    pub(super) fn least(&self) -> Option<V3> {
        let [xx, xy, xz, yy, yz, zz] = self.a;
        let [bx, by, bz] = self.b;
        let tiny = 1e-14 * (xx + yy + zz);
        let (l1, l2) = (xy / xx, xz / xx);
        let d1 = yy - l1 * xy;
        let e = yz - l1 * xz;
        let l3 = e / d1;
        let d2 = zz - l2 * xz - l3 * e;
        // Not a number fails, too.
        if !(xx > tiny && d1 > tiny && d2 > tiny) {
            return None;
        }
        let (y0, y1) = (-bx, -by + l1 * bx);
        let y2 = -bz - l2 * y0 - l3 * y1;
        let z = y2 / d2;
        let y = y1 / d1 - l3 * z;
        Some([y0 / xx - l1 * y - l2 * z, y, z])
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::random::Random;
    use crate::vector::{norm, sub, unit};

    #[test]
    fn values_are_squared_distances_and_the_least_is_where_planes_meet() {
        let random = Random::new(1);
        let mut counter = 0;
        let mut vector = || {
            [0; 3].map(|_| {
                counter += 1;
                random.unit(counter) * 2.0 - 1.0
            })
        };
        for _ in 0..200 {
            let (meet, p) = (vector(), vector());
            let normals = [0; 3].map(|_| unit(vector()).unwrap());
            let planes = normals.map(|n| Quadric::plane(n, meet, 2.0));
            let sum = planes[0].plus(&planes[1]).plus(&planes[2]);
            let exact: f64 = normals.iter().map(|&n| 2.0 * dot(n, sub(p, meet)).powi(2)).sum();
            assert!((sum.at(p) - exact).abs() < 1e-12);
            let determinant = dot(normals[0], crate::vector::cross(normals[1], normals[2]));
            if determinant.abs() > 0.05 {
                assert!(norm(sub(sum.least().unwrap(), meet)) < 1e-9);
            }
            let q = Quadric::point(meet, 3.0);
            assert!((q.at(p) - 3.0 * dot(sub(p, meet), sub(p, meet))).abs() < 1e-12);
            assert!(norm(sub(q.least().unwrap(), meet)) < 1e-12);
            assert_eq!(planes[0].least(), None);
        }
        assert_eq!(Quadric::default().least(), None);
        assert_eq!(Quadric::default().distance(1.0), 0.0);
    }
}
