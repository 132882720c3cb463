//! Disagreement between blended normals and the normals of the depth map, and its gradient by blended planes.

use super::gaussian::View;
use super::surface::{Blended, Plane, pixel_ray};
use kiln_scene::math::{Real, Vec3, add, cross, dot, norm, scale, sub};

/// Loss and what it wants of each pixel.
#[derive(Clone, Debug)]
pub struct PlaneLoss<R> {
    /// Weighted mean.
    pub total: R,
    /// Mean without the weight.
    pub mean: R,
    /// Gradient by the normal before it is normalised, and by the coverage.
    pub by_normal: Vec<(Vec3<R>, R)>,
}

/// Weight of every pixel: 0 at the photo's steepest edge, 1 where it is even, and 0 where `counts` says so. Pixels at the
/// border have none.
#[must_use]
pub fn edge_weights<R: Real>([width, height]: [u32; 2], photo: &[Vec3<R>], counts: impl Fn(usize) -> bool) -> Vec<R> {
    let (w, h) = (width as usize, height as usize);
    let grey = |i: usize| dot(photo[i], [0.299, 0.587, 0.114].map(R::of));
    let steepness = |i: usize| {
        let (x, y) = (i % w, i / w);
        let inside = x > 0 && y > 0 && x + 1 < w && y + 1 < h;
        (inside && counts(i)).then(|| R::of(0.5) * norm([grey(i + 1) - grey(i - 1), grey(i + w) - grey(i - w)]))
    };
    let most = (0..w * h)
        .filter_map(steepness)
        .fold(R::ZERO, |a, b| if b > a { b } else { a });
    let weight = |i: usize| {
        let edge = steepness(i)?;
        let flatness = R::ONE - if most > R::ZERO { edge / most } else { R::ZERO };
        Some(flatness * flatness)
    };
    (0..w * h).map(|i| weight(i).unwrap_or(R::ZERO)).collect()
}

/// A map's point at a pixel, camera space.
fn point<R: Real>(map: &[(R, Vec3<R>)], view: &View<R>, [x, y]: [u32; 2]) -> Vec3<R> {
    let ray = pixel_ray(view, [x, y].map(|v| R::of(f64::from(v))));
    scale(ray, map[(y * view.size_px[0] + x) as usize].0)
}

/// From left to right and from above to below a pixel.
fn differences<R: Real>(map: &[(R, Vec3<R>)], view: &View<R>, [x, y]: [u32; 2]) -> [Vec3<R>; 2] {
    let at = |pixel| point(map, view, pixel);
    [sub(at([x + 1, y]), at([x - 1, y])), sub(at([x, y + 1]), at([x, y - 1]))]
}

/// The loss of a depth map (see [`super::surface::depth_map`]) with pixel weights from [`edge_weights`].
#[must_use]
pub fn plane_loss<R: Real>(
    blended: &[Blended<R>],
    map: &[(R, Vec3<R>)],
    weights: &[R],
    view: &View<R>,
    weight: R,
) -> PlaneLoss<R> {
    let share = R::ONE / R::of(blended.len() as f64);
    let mut sum = R::ZERO;
    let mut by_normal = vec![([R::ZERO; 3], R::ZERO); blended.len()];
    for (i, entry) in by_normal.iter_mut().enumerate() {
        let (normal, g) = (map[i].1, weights[i]);
        if normal == [R::ZERO; 3] || g == R::ZERO {
            continue;
        }
        let (n, covered) = (blended[i].plane.normal, R::ONE - blended[i].transmittance);
        let along = dot(n, normal);
        sum += g * (covered - along);
        let width = view.size_px[0] as usize;
        let [across, down] = differences(map, view, [(i % width) as u32, (i / width) as u32]);
        let c = cross(across, down);
        let length = if dot(c, normal) < R::ZERO { -norm(c) } else { norm(c) };
        let each = weight * share * g;
        *entry = (scale(sub(n, scale(normal, along)), -(each / length)), each);
    }
    PlaneLoss {
        total: weight * share * sum,
        mean: share * sum,
        by_normal,
    }
}

/// What is left of the square of a normal's length, below which its z is 0.
const LEAST_LEFT: f64 = 1e-6;

/// SuGaR's depth-normal consistency: mean over the pixels that count of 1 - M . n, where M has the blended normal's x and y and is of
/// length 1 towards the camera; pixels without n count 1. The second value is the gradient by the blended x and y.
#[must_use]
pub fn plain_loss<R: Real>(
    blended: &[Blended<R>],
    map: &[(R, Vec3<R>)],
    counts: impl Fn(usize) -> bool,
    view: &View<R>,
    weight: R,
) -> (PlaneLoss<R>, Vec<[R; 2]>) {
    let share = R::ONE / R::of(blended.len() as f64);
    let each = weight * share;
    let mut sum = R::ZERO;
    let mut by_normal = vec![([R::ZERO; 3], R::ZERO); blended.len()];
    let mut by_blended = vec![[R::ZERO; 2]; blended.len()];
    for i in (0..blended.len()).filter(|i| counts(*i)) {
        let [x, y, _] = blended[i].plane.normal;
        let left = R::ONE - x * x - y * y;
        let towards = if left > R::of(LEAST_LEFT) { left.sqrt() } else { R::ZERO };
        let (m, n) = ([x, y, -towards], map[i].1);
        let along = dot(m, n);
        sum += R::ONE - along;
        if n == [R::ZERO; 3] {
            continue;
        }
        let slope = if towards > R::ZERO { n[2] / towards } else { R::ZERO };
        by_blended[i] = [-each * (n[0] + slope * x), -each * (n[1] + slope * y)];
        let width = view.size_px[0] as usize;
        let [across, down] = differences(map, view, [(i % width) as u32, (i / width) as u32]);
        let c = cross(across, down);
        let length = if dot(c, n) < R::ZERO { -norm(c) } else { norm(c) };
        by_normal[i].0 = scale(sub(m, scale(n, along)), -(each / length));
    }
    let loss = PlaneLoss {
        total: each * sum,
        mean: share * sum,
        by_normal,
    };
    (loss, by_blended)
}

/// Gradient by every pixel's blended plane, whose distance is a depth.
#[must_use]
pub fn plain_gather<R: Real>(
    map: &[(R, Vec3<R>)],
    by_normal: &[(Vec3<R>, R)],
    by_blended: &[[R; 2]],
    view: &View<R>,
) -> Vec<Plane<R>> {
    let width = view.size_px[0];
    let by_point = by_points(map, by_normal, view);
    let gradient = |i: usize| {
        let ray = pixel_ray(view, [i as u32 % width, i as u32 / width].map(|v| R::of(f64::from(v))));
        let [x, y] = by_blended[i];
        Plane {
            normal: [x, y, R::ZERO],
            distance: if map[i].0 > R::ZERO {
                dot(ray, by_point[i])
            } else {
                R::ZERO
            },
        }
    };
    (0..map.len()).map(gradient).collect()
}

/// Gradient by every pixel's point of the depth map.
fn by_points<R: Real>(map: &[(R, Vec3<R>)], by_normal: &[(Vec3<R>, R)], view: &View<R>) -> Vec<Vec3<R>> {
    let [width, height] = view.size_px;
    let mut by_point = vec![[R::ZERO; 3]; map.len()];
    for y in 1..height.saturating_sub(1) {
        for x in 1..width.saturating_sub(1) {
            let at = (y * width + x) as usize;
            let g = by_normal[at].0;
            if g == [R::ZERO; 3] {
                continue;
            }
            let [across, down] = differences(map, view, [x, y]);
            let (by_across, by_down) = (cross(down, g), cross(g, across));
            let w = width as usize;
            for (to, by) in [
                (at + 1, by_across),
                (at - 1, scale(by_across, -R::ONE)),
                (at + w, by_down),
                (at - w, scale(by_down, -R::ONE)),
            ] {
                by_point[to] = add(by_point[to], by);
            }
        }
    }
    by_point
}

/// Gradient by every pixel's blended plane.
#[must_use]
pub fn plane_gather<R: Real>(
    blended: &[Blended<R>],
    map: &[(R, Vec3<R>)],
    by_normal: &[(Vec3<R>, R)],
    view: &View<R>,
) -> Vec<Plane<R>> {
    let width = view.size_px[0];
    let by_point = by_points(map, by_normal, view);
    let gradient = |i: usize| {
        let direct = scale(map[i].1, -by_normal[i].1);
        if map[i].0 == R::ZERO {
            return Plane {
                normal: direct,
                distance: R::ZERO,
            };
        }
        let ray = pixel_ray(view, [i as u32 % width, i as u32 / width].map(|v| R::of(f64::from(v))));
        let Plane { normal, distance } = blended[i].plane;
        let (by_depth, slope) = (dot(ray, by_point[i]), -dot(normal, ray));
        Plane {
            normal: add(direct, scale(ray, by_depth * distance / (slope * slope))),
            distance: by_depth / slope,
        }
    };
    (0..blended.len()).map(gradient).collect()
}

#[cfg(test)]
mod tests {
    use super::super::rng::uniform;
    use super::super::scenes::camera;
    use super::super::surface::depth_map;
    use super::super::surface::differences::follow_differences;
    use super::*;
    use kiln_kernels::plane_loss::{BLENDED, PLANES};

    fn view(size_px: [u32; 2]) -> View<f64> {
        let size = size_px.map(f64::from);
        View {
            size_px,
            focal: [1.3 * size[0], 1.1 * size[0]],
            centre: [0.45 * size[0], 0.55 * size[1]],
            ..View::new(&camera())
        }
    }

    /// A wavy surface that splats of many planes blend, with a hole, something faint, and something edge-on.
    fn surface(view: &View<f64>) -> Vec<Blended<f64>> {
        let [width, height] = view.size_px;
        let random = |i: u32, channel: u32| uniform::<f64>(17, 0, i, channel) - 0.5;
        let pixel = |i: u32| {
            let [x, y] = [i % width, i / width];
            let cover = match (x, y) {
                (5, 4) => 0.3,
                (9..=10, 7) => 0.0,
                _ => 0.8 + 0.3 * random(i, 0),
            };
            let n = [0.4 * random(i, 1), 0.4 * random(i, 2), -1.0 + 0.2 * random(i, 3)];
            let n = if (x, y) == (12, 11) { [0.99, 0.0, -0.01] } else { n };
            let n = scale(n, 1.0 / norm(n));
            let ray = pixel_ray(view, [x, y].map(f64::from));
            let z = 4.0 + (0.5 * f64::from(x)).sin() + 0.1 * f64::from(y) + 0.05 * random(i, 4);
            Blended {
                plane: Plane {
                    normal: scale(n, cover),
                    distance: -cover * z * dot(n, ray),
                },
                transmittance: 1.0 - cover,
                ..Blended::default()
            }
        };
        (0..width * height).map(pixel).collect()
    }

    fn photo(size: [u32; 2]) -> Vec<Vec3<f64>> {
        let value = |i: u32| [0, 1, 2].map(|c| uniform(18, 0, i, c));
        (0..size[0] * size[1]).map(value).collect()
    }

    #[test]
    fn weights_are_those_of_grey_edges() {
        let size = [7, 5];
        let step = |i: usize| {
            if i % 7 < 3 {
                [0.2; 3]
            } else if i % 7 < 5 {
                [0.6; 3]
            } else {
                [0.4; 3]
            }
        };
        let photo: Vec<Vec3<f64>> = (0..35).map(step).collect();
        let weights = edge_weights(size, &photo, |_| true);
        let wanted = [0.0, 1.0, 0.0, 0.0, 0.25, 0.25, 0.0];
        for (found, wanted) in weights[14..21].iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-9, "{:?}", &weights[14..21]);
        }
        assert!(weights[..7].iter().all(|w| *w == 0.0), "the border has no normals");
        // Without the steepest edge the next one is the steepest, and what does not count has no weight.
        let masked = edge_weights(size, &photo, |i| i % 7 > 3);
        assert_eq!(masked[14 + 4], 0.0);
        assert_eq!(masked[14 + 1], 0.0);
        let even = edge_weights(size, &[[0.5; 3]; 35], |_| true);
        assert_eq!(even.iter().sum::<f64>(), 15.0);
    }

    /// The whole chain from blended planes over depths and normals to the loss, against differences; that by the coverage is its weight.
    #[test]
    fn gradients_by_planes_match_differences() {
        let size = [16, 16];
        let view = view(size);
        let blended = surface(&view);
        let weights = edge_weights(size, &photo(size), |i| i % 11 != 3);
        let loss = |blended: &[Blended<f64>]| {
            let map = depth_map(blended, &view, &PLANES);
            plane_loss(blended, &map, &weights, &view, 0.7)
        };
        let map = depth_map(&blended, &view, &PLANES);
        let whole = loss(&blended);
        assert!((whole.total - 0.7 * whole.mean).abs() < 1e-12 && whole.mean > 0.0);
        let exact = plane_gather(&blended, &map, &whole.by_normal, &view);
        let owed = exact.iter().filter(|plane| plane.distance != 0.0).count();
        let without = map.iter().filter(|(z, _)| *z == 0.0).count();
        assert!(owed > 200 && without == 4, "{owed} {without}");
        follow_differences(
            &blended,
            &exact,
            (1e-6, &[0, 1, 2, 3]),
            |_| true,
            |blended| loss(blended).total,
        );
    }

    /// The same for SuGaR's: from blended x, y and depth to the loss.
    #[test]
    fn gradients_by_depths_match_differences() {
        let size = [16, 16];
        let view = view(size);
        let mut blended = surface(&view);
        for (i, pixel) in blended.iter_mut().enumerate() {
            // As deep as the planes were far, with hardly anything in front of some pixels.
            pixel.plane.distance *= if i % 29 == 3 { 0.01 } else { 1.0 };
        }
        let counts = |i: usize| i % 11 != 3;
        let loss = |blended: &[Blended<f64>]| {
            let map = depth_map(blended, &view, &BLENDED);
            plain_loss(blended, &map, counts, &view, 0.7).0
        };
        let map = depth_map(&blended, &view, &BLENDED);
        let (whole, by_blended) = plain_loss(&blended, &map, counts, &view, 0.7);
        assert!(whole.mean > 60.0 / 256.0, "the border counts: {}", whole.mean);
        let exact = plain_gather(&map, &whole.by_normal, &by_blended, &view);
        let counts = |i: usize| map[i].0 > 0.0;
        let pulled = follow_differences(&blended, &exact, (1e-7, &[0, 1, 3]), counts, |blended| {
            loss(blended).total
        });
        assert!(pulled > 500, "{pulled}");
    }

    /// A plane that is drawn whole agrees with itself, and images without a pixel inside have no loss.
    #[test]
    fn one_plane_agrees_with_itself() {
        let flat = |view: &View<f64>| -> Vec<Blended<f64>> {
            let n = scale([0.3, -0.2, -0.9], 1.0 / norm([0.3, -0.2, -0.9]));
            let pixel = Blended {
                plane: Plane {
                    normal: n,
                    distance: 3.0,
                },
                ..Blended::default()
            };
            vec![pixel; (view.size_px[0] * view.size_px[1]) as usize]
        };
        for size in [[9, 7], [1, 12], [12, 1], [2, 2], [1, 1]] {
            let view = view(size);
            let blended = flat(&view);
            let map = depth_map(&blended, &view, &PLANES);
            let weights = edge_weights(size, &vec![[0.5; 3]; blended.len()], |_| true);
            let loss = plane_loss(&blended, &map, &weights, &view, 1.0);
            assert!(loss.mean.abs() < 1e-9, "{size:?}: {}", loss.mean);
            let gradient = plane_gather(&blended, &map, &loss.by_normal, &view);
            assert!(gradient.iter().all(|plane| plane.distance.abs() < 1e-6));
        }
    }
}
