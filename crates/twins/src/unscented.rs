//! Centre and covariance of a Gaussian seen through a fisheye: the unscented transform.
//!
//! Julier and Uhlmann 1997 with the weights of 3DGUT (Wu et al. 2025; spread 1, three dimensions): the centre and six points, each
//! sqrt(3) standard deviations from it along an axis, go through the lens. The mean of the six is the mean; the covariance is
//! a sixth of the sum of their squares and twice the centre's.

use super::gaussian::View;
use kiln_scene::Fisheye;
use kiln_scene::math::{Mat3, Real, Sym2, Vec3, add, dot, mat_vec, scale, sub, transpose};

/// Distance of the points from the centre, standard deviations.
const SPREAD: f64 = 1.732_050_807_568_877_2;

/// What comes out of the lens, pixels; places from the principal point.
#[derive(Clone, Copy, Debug)]
pub struct Seen<R> {
    /// Centre on the image.
    pub mean: [R; 2],
    /// Covariance before the image-plane filter.
    pub cov: Sym2<R>,
    /// Its determinant, as the sum of the squared minors of the points (Cauchy-Binet): nothing cancels.
    pub det: R,
    /// Places of the centre and of the pairs along the axes.
    center: [R; 2],
    pairs: [[[R; 2]; 2]; 3],
}

/// The pairs of points along the axes in camera space. `shape` has the columns of rotation times scales.
fn points<R: Real>(view: &View<R>, camera: Vec3<R>, shape: Mat3<R>) -> [[Vec3<R>; 2]; 3] {
    let columns = transpose(shape);
    [0, 1, 2].map(|k| {
        let axis = scale(mat_vec(view.rotation, columns[k]), R::of(SPREAD));
        [add(camera, axis), sub(camera, axis)]
    })
}

/// The largest angle between the centre of a Gaussian and its points, radians, that is possible with such standard deviations. Where it
/// reaches straight backwards, points of both sides are at opposite rims of the picture.
#[must_use]
pub fn angle<R: Real>(scale: Vec3<R>, depth: R) -> R {
    (R::of(SPREAD) * scale[0].max(scale[1]).max(scale[2])).atan2(depth)
}

/// Sends a Gaussian through the lens of `view`.
#[must_use]
pub fn see<R: Real>(lens: &Fisheye<R>, view: &View<R>, camera: Vec3<R>, shape: Mat3<R>) -> Seen<R> {
    let place = |point: Vec3<R>| -> [R; 2] {
        let [x, y] = lens.place(point);
        [view.focal[0] * x, view.focal[1] * y]
    };
    let center = place(camera);
    let pairs = points(view, camera, shape).map(|pair| pair.map(place));
    let sixth = R::ONE / R::of(6.0);
    let mean = scale(
        pairs.iter().flatten().fold([R::ZERO; 2], |sum, point| add(sum, *point)),
        sixth,
    );
    // Columns whose squares add up to the covariance: of a pair, half its difference and its middle.
    let third = (R::ONE / R::of(3.0)).sqrt();
    let half = R::of(0.5);
    let mut columns = [scale(sub(center, mean), R::of(2.0).sqrt()); 7];
    for (k, [plus, minus]) in pairs.into_iter().enumerate() {
        columns[1 + 2 * k] = scale(sub(plus, minus), half * third);
        columns[2 + 2 * k] = scale(sub(scale(add(plus, minus), half), mean), third);
    }
    let (mut cov, mut det) = ([R::ZERO; 3], R::ZERO);
    for (n, [x, y]) in columns.iter().copied().enumerate() {
        cov = add(cov, [x * x, x * y, y * y]);
        for other in &columns[..n] {
            let minor = x * other[1] - y * other[0];
            det += minor * minor;
        }
    }
    Seen {
        mean,
        cov,
        det,
        center,
        pairs,
    }
}

/// Gradients of the columns of rotation times scales, and of the centre in camera axes, from those of the centre on the image and
/// of its covariance (as a symmetric matrix).
#[must_use]
pub fn see_backward<R: Real>(
    lens: &Fisheye<R>,
    view: &View<R>,
    (camera, shape): (Vec3<R>, Mat3<R>),
    d_mean: [R; 2],
    [a, b, c]: Sym2<R>,
) -> (Mat3<R>, Vec3<R>) {
    let seen = see(lens, view, camera, shape);
    // 2 w D (x - mean) of a point of weight w.
    let pull = |point: [R; 2], weight: f64| {
        let off = sub(point, seen.mean);
        scale([dot([a, b], off), dot([b, c], off)], R::of(2.0 * weight))
    };
    let d_center = pull(seen.center, 2.0);
    let through = scale(sub(d_mean, d_center), R::ONE / R::of(6.0));
    let back = |point: Vec3<R>, d: [R; 2]| place_backward(lens, point, [view.focal[0] * d[0], view.focal[1] * d[1]]);
    let mut d_camera = back(camera, d_center);
    let mut d_columns = [[R::ZERO; 3]; 3];
    for ((points, places), column) in points(view, camera, shape).iter().zip(&seen.pairs).zip(&mut d_columns) {
        let [plus, minus] = [0, 1].map(|n| back(points[n], add(pull(places[n], 1.0 / 6.0), through)));
        d_camera = add(d_camera, add(plus, minus));
        let d_axis = scale(sub(plus, minus), R::of(SPREAD));
        *column = mat_vec(transpose(view.rotation), d_axis);
    }
    (transpose(d_columns), d_camera)
}

/// Gradient of a point in camera axes through [`Fisheye::place`].
fn place_backward<R: Real>(lens: &Fisheye<R>, [x, y, z]: Vec3<R>, [du, dv]: [R; 2]) -> Vec3<R> {
    let two = R::of(2.0);
    let r = (x * x + y * y).sqrt();
    let theta = r.atan2(z);
    let [ex, ey] = if r > R::ZERO { [x / r, y / r] } else { [R::ONE, R::ZERO] };
    let [radius, slope] = lens.radius(theta);
    let is_inside = theta < lens.reach;
    let inner = if is_inside { theta } else { lens.reach };
    let [hx, hy] = lens.sideways([ex, ey]);
    let mut d_theta = slope * (du * ex + dv * ey);
    if is_inside {
        d_theta += two * inner * (du * hx + dv * hy);
    }
    // Through the direction in the picture: radius e and theta^2 h(e).
    let [p1, p2] = lens.tangential;
    let t2 = inner * inner;
    let d_ex = radius * du + t2 * (du * (two * p1 * ey + two * two * p2 * ex) + dv * two * p2 * ey);
    let d_ey = radius * dv + t2 * (du * two * p1 * ex + dv * (two * p2 * ex + two * two * p1 * ey));
    // Near the axis the radius is r / z.
    let axial = r < R::of(1e-6) * z;
    let across = if axial { [du / z, dv / z] } else { [d_ex / r, d_ey / r] };
    let along = across[0] * ex + across[1] * ey;
    let n2 = r * r + z * z;
    [
        across[0] - along * ex + d_theta * z / n2 * ex,
        across[1] - along * ey + d_theta * z / n2 * ey,
        -(d_theta * r / n2),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::normal;
    use kiln_scene::Camera;

    fn lens() -> Fisheye<f64> {
        Fisheye {
            radial: [0.03, -0.01, 0.002, -0.0005],
            tangential: [2e-3, -1e-3],
            prism: [1e-3, 2e-3],
            reach: 1.4,
        }
    }

    fn view() -> View<f64> {
        let [a, b] = [0.8, 0.6];
        View::new(&Camera {
            width_px: 200,
            height_px: 160,
            fx: 80.0,
            fy: 84.0,
            cx: 101.0,
            cy: 78.0,
            rotation: [[a, -b, 0.0], [b, a, 0.0], [0.0, 0.0, 1.0]],
            translation: [0.1, 0.2, 0.3],
            lens: None,
        })
    }

    /// Also beyond the reach and behind the camera.
    #[test]
    fn the_gradient_of_a_place_is_that_of_differences() {
        let lens = lens();
        for n in 0..200 {
            let point: Vec3<f64> = std::array::from_fn(|i| normal::<f64>(3, 1, n, i as u32));
            let d = [0.7, -0.4];
            let value = |p: Vec3<f64>| dot(lens.place(p), d);
            let found = place_backward(&lens, point, d);
            for i in 0..3 {
                let at = |h: f64| {
                    let mut moved = point;
                    moved[i] += h;
                    value(moved)
                };
                let wanted = (at(1e-6) - at(-1e-6)) / 2e-6;
                assert!(
                    (found[i] - wanted).abs() < 1e-6 * (1.0 + wanted.abs()),
                    "{point:?}: {found:?}, {wanted}"
                );
            }
        }
        let axis = place_backward(&lens, [0.0, 0.0, 2.0], [1.0, 2.0]);
        assert!(
            (axis[0] - 0.5).abs() < 1e-12 && (axis[1] - 1.0).abs() < 1e-12,
            "{axis:?}"
        );
    }

    /// A small Gaussian's covariance is that of the lens' slope at its centre.
    #[test]
    fn small_gaussians_are_seen_as_by_the_slope_of_the_lens() {
        let (lens, view) = (lens(), view());
        let shape = [[1e-4, 2e-5, 0.0], [-1e-5, 3e-4, 1e-5], [5e-5, 0.0, 2e-4]];
        for camera in [[0.0, 0.0, 1.0], [1.0, 0.4, 0.8], [-2.0, 1.0, 0.2], [0.5, -0.3, -0.1]] {
            let seen = see(&lens, &view, camera, shape);
            let rows = [[1.0, 0.0], [0.0, 1.0]].map(|[u, v]: [f64; 2]| {
                let to_camera = place_backward(&lens, camera, [u * view.focal[0], v * view.focal[1]]);
                mat_vec(transpose(shape), mat_vec(transpose(view.rotation), to_camera))
            });
            let wanted = [dot(rows[0], rows[0]), dot(rows[0], rows[1]), dot(rows[1], rows[1])];
            for (found, wanted) in seen.cov.iter().zip(wanted) {
                assert!(
                    (found - wanted).abs() < 1e-5 * (seen.cov[0] + seen.cov[2]),
                    "{camera:?}"
                );
            }
            let det = wanted[0] * wanted[2] - wanted[1] * wanted[1];
            assert!((seen.det / det - 1.0).abs() < 1e-4);
        }
    }

    /// Mean and covariance of ten thousand draws, of a Gaussian that covers a sixth of the picture.
    #[test]
    fn large_gaussians_have_the_mean_and_spread_of_what_they_are_made_of() {
        let (lens, view) = (lens(), view());
        let camera = [0.6, -0.2, 0.9];
        let shape = [[0.15, 0.0, 0.05], [0.02, 0.2, 0.0], [0.0, -0.05, 0.12]];
        let seen = see(&lens, &view, camera, shape);
        let draws: Vec<[f64; 2]> = (0..10_000)
            .map(|n| {
                let unit: Vec3<f64> = std::array::from_fn(|i| normal::<f64>(9, 2, n, i as u32));
                let point = add(camera, mat_vec(view.rotation, mat_vec(shape, unit)));
                let [x, y] = lens.place(point);
                [view.focal[0] * x, view.focal[1] * y]
            })
            .collect();
        let count = draws.len() as f64;
        let mean = scale(draws.iter().fold([0.0; 2], |sum, draw| add(sum, *draw)), 1.0 / count);
        let cov = draws.iter().map(|draw| sub(*draw, mean)).fold([0.0; 3], |sum, [x, y]| {
            add(sum, scale([x * x, x * y, y * y], 1.0 / count))
        });
        for i in 0..2 {
            assert!((seen.mean[i] - mean[i]).abs() < 0.5, "{:?} {mean:?}", seen.mean);
        }
        for (found, wanted) in seen.cov.iter().zip(cov) {
            assert!(
                (found - wanted).abs() < 0.06 * (cov[0] + cov[2]),
                "{:?} {cov:?}",
                seen.cov
            );
        }
        assert!((seen.det - (seen.cov[0] * seen.cov[2] - seen.cov[1].powi(2))).abs() < 1e-6 * seen.det);
    }
}
