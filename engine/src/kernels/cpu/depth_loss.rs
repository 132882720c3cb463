//! Loss of depth at the points that a photo shows, and its gradient with respect to every visible record.
//!
//! With `c_i = 1 / z_i` of the splats, `D = sum_i alpha_i T_i c_i` at the point, `s = w w_p sign(D - 1 / z_p)` and `behind`
//! the inverse depth blended behind a splat:
//!
//! ```text
//! loss += w w_p |D - 1 / z_p|
//! d alpha = s T (c - behind)          on through falloff, opacity, centre and conic as for colours
//! d z = -s alpha T / z^2
//! ```

use super::gaussian::View;
use super::math::{Real, Vec3};
use super::project::Visible;
use super::rasterize::{TRANSMITTANCE_MIN, TileLists, coverage, pixel_list};
use super::rasterize_backward::{Gradient2d, ndc_scale};
use super::{TILE, tile_grid};

/// A point of the sparse model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point<R> {
    /// World position.
    pub position: Vec3<R>,
    /// Weight among the points of its view.
    pub weight: R,
}

/// Where a point is in a view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample<R> {
    /// A pixel of the tile whose list is walked.
    pub pixel: [u32; 2],
    /// Where splats are sampled, px: where the point projects to, but not beyond the outermost pixel centres of the tile,
    /// because its list is not made for what lies there.
    pub at: [R; 2],
    /// One over the point's depth.
    pub inverse: R,
}

/// Where `position` is in `view`; `None` behind the near plane and outside of the image.
#[must_use]
pub fn sample<R: Real>(view: &View<R>, position: Vec3<R>) -> Option<Sample<R>> {
    let [x, y, z] = view.to_camera(position);
    if z <= view.near_z {
        return None;
    }
    let inverse = R::ONE / z;
    let half = R::of(0.5);
    let axis = |axis: usize, value: R| -> Option<(u32, R)> {
        let at = view.focal[axis] * (value * inverse) + (view.centre[axis] - half);
        let size = view.size_px[axis];
        if at < -half || at >= R::of(f64::from(size)) - half {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and the image's size"
        )]
        let pixel = ((at + half).to_f64() as u32).min(size - 1);
        let low = pixel / TILE * TILE;
        let high = (low + TILE - 1).min(size - 1);
        let bounds = [low, high].map(|value| R::of(f64::from(value)));
        Some((pixel, at.max(bounds[0]).min(bounds[1])))
    };
    let ((px, at_x), (py, at_y)) = (axis(0, x)?, axis(1, y)?);
    Some(Sample {
        pixel: [px, py],
        at: [at_x, at_y],
        inverse,
    })
}

/// Index of the tile a sample is in, tiles counted row by row.
#[must_use]
pub fn tile<R: Real>(view: &View<R>, sample: &Sample<R>) -> u32 {
    sample.pixel[1] / TILE * tile_grid(view.size_px[0], 1)[0] + sample.pixel[0] / TILE
}

/// Inverse depth blended at `at` over `list`, indices into `visible` nearest first; the transmittance behind it, and how many
/// entries were walked until nothing more counts.
#[must_use]
pub fn blended<R: Real>(visible: &[Visible<R>], list: &[u32], at: [R; 2]) -> (R, R, usize) {
    let (mut sum, mut transmittance) = (R::ZERO, R::ONE);
    for (position, &index) in list.iter().enumerate() {
        let splat = &visible[index as usize];
        let Some(cover) = coverage(splat.mean_px, splat.conic, splat.opacity, at) else {
            continue;
        };
        let behind = transmittance * (R::ONE - cover.alpha);
        if behind < R::of(TRANSMITTANCE_MIN) {
            return (sum, transmittance, position);
        }
        sum += cover.alpha * transmittance / splat.depth;
        transmittance = behind;
    }
    (sum, transmittance, list.len())
}

/// The loss with weight `weight`; adds its gradients to `out`, one entry a visible record.
pub fn depth_loss<R: Real>(
    view: &View<R>,
    visible: &[Visible<R>],
    lists: &TileLists,
    points: &[Point<R>],
    weight: R,
    out: &mut [Gradient2d<R>],
) -> R {
    let half_size = ndc_scale::<R>(view.size_px);
    let mut loss = R::ZERO;
    for point in points {
        let Some(sample) = sample(view, point.position) else {
            continue;
        };
        let list = pixel_list(lists, view.size_px[0], sample.pixel[0], sample.pixel[1]);
        let (found, mut transmittance, end) = blended(visible, list, sample.at);
        let difference = found - sample.inverse;
        loss += weight * point.weight * difference.abs();
        let pull = if difference > R::ZERO {
            weight * point.weight
        } else if difference < R::ZERO {
            -(weight * point.weight)
        } else {
            R::ZERO
        };
        let mut behind = R::ZERO;
        for &index in list[..end].iter().rev() {
            let splat = &visible[index as usize];
            let Some(cover) = coverage(splat.mean_px, splat.conic, splat.opacity, sample.at) else {
                continue;
            };
            transmittance = transmittance / (R::ONE - cover.alpha);
            let own = R::ONE / splat.depth;
            let d_alpha = pull * transmittance * (own - behind);
            behind = cover.alpha * own + (R::ONE - cover.alpha) * behind;
            let sum = &mut out[index as usize];
            sum.depth -= pull * cover.alpha * transmittance * own * own;
            sum.opacity += cover.falloff * d_alpha;
            let p = cover.falloff * splat.opacity * d_alpha;
            let [dx, dy] = cover.d;
            let [a, b, c] = splat.conic;
            let d_mean = [-p * (a * dx + b * dy), -p * (b * dx + c * dy)];
            for i in 0..2 {
                sum.mean_px[i] += d_mean[i];
                sum.abs_ndc += (d_mean[i] * half_size[i]).abs();
            }
            let half = R::of(0.5);
            for (total, part) in sum.conic.iter_mut().zip([half * dx * dx, dx * dy, half * dy * dy]) {
                *total -= p * part;
            }
        }
    }
    loss
}

#[cfg(test)]
mod tests {
    use super::super::gaussian::Gaussian;
    use super::super::project::Filter2d;
    use super::super::project_backward::project_backward;
    use super::super::rng::uniform;
    use super::super::scenes::{Options, Scene, random, settings};
    use super::super::step::forward;
    use super::*;

    const WEIGHT: f64 = 0.7;

    /// Points across the image, in front of the splats, among them and behind, and two that are not to be seen.
    fn points(view: &View<f64>) -> Vec<Point<f64>> {
        let draw = |i: u32, channel: u32| uniform::<f64>(31, 0, i, channel);
        let world = |[x, y, z]: Vec3<f64>| -> Vec3<f64> {
            let t = [
                x - view.translation[0],
                y - view.translation[1],
                z - view.translation[2],
            ];
            std::array::from_fn(|i| (0..3).map(|row| view.rotation[row][i] * t[row]).sum())
        };
        let mut list: Vec<Point<f64>> = (0..60)
            .map(|i| {
                let z = 1.0 + 6.0 * draw(i, 2);
                let at = [0, 1].map(|axis| {
                    let px = draw(i, axis) * f64::from(view.size_px[axis as usize]);
                    (px - view.centre[axis as usize]) / view.focal[axis as usize] * z
                });
                Point {
                    position: world([at[0], at[1], z]),
                    weight: 0.5 + draw(i, 3),
                }
            })
            .collect();
        for hidden in [[0.0, 0.0, -4.0], [50.0, 0.0, 4.0], [0.0, 0.0, 0.1]] {
            list.push(Point {
                position: world(hidden),
                weight: 100.0,
            });
        }
        list
    }

    fn scene() -> Scene {
        random(Options {
            seed: 23,
            count: 50,
            scales: [0.08, 0.5],
            opacities: [0.15, 0.6],
        })
    }

    fn value(scene: &Scene, gaussians: &[Gaussian<f64>], points: &[Point<f64>]) -> f64 {
        let settings = settings(Filter2d::Mip { kernel_size: 0.1 }, 0);
        let out = forward(gaussians, &scene.filter_3d, &scene.view, &settings, [0.3; 3]);
        let mut unused = vec![Gradient2d::ZERO; out.visible.len()];
        depth_loss(&scene.view, &out.visible, &out.lists, points, WEIGHT, &mut unused)
    }

    #[test]
    fn gradients_match_differences() {
        let scene = scene();
        let points = points(&scene.view);
        let settings = settings(Filter2d::Mip { kernel_size: 0.1 }, 0);
        let out = forward(&scene.gaussians, &scene.filter_3d, &scene.view, &settings, [0.3; 3]);
        let mut gradients = vec![Gradient2d::ZERO; out.visible.len()];
        let base = depth_loss(&scene.view, &out.visible, &out.lists, &points, WEIGHT, &mut gradients);
        let mut gaussians = scene.gaussians.clone();
        let (mut compared, mut skipped) = ([0; 11], 0);
        for (record, g) in out.visible.iter().zip(&gradients) {
            let id = record.id as usize;
            let filter = scene.filter_3d[id];
            let exact = project_backward(&scene.gaussians[id], filter, &scene.view, &settings, record, g);
            let Some(exact) = exact.map(|p| p.gradient.values()) else {
                continue;
            };
            let values = scene.gaussians[id].values();
            for k in 0..11 {
                let eps = 1e-6;
                let mut at = |offset: f64| {
                    let mut moved = values;
                    moved[k] += offset;
                    gaussians[id] = Gaussian::from_values(&moved);
                    let out = value(&scene, &gaussians, &points);
                    gaussians[id] = scene.gaussians[id];
                    out
                };
                let (high, low) = (at(eps), at(-eps));
                let numeric = (high - low) / (2.0 * eps);
                // A threshold lies within the step, where the loss has no derivative.
                if ((high - base) - (base - low)).abs() / eps > 1e-3 * numeric.abs() + 1e-7 {
                    skipped += 1;
                    continue;
                }
                let error = (numeric - exact[k]).abs();
                assert!(
                    error <= 1e-3 * numeric.abs().max(exact[k].abs()) + 1e-7,
                    "Gaussian {id} value {k}: differences {numeric:e}, backward {:e}",
                    exact[k]
                );
                compared[k] += usize::from(exact[k].abs() > 1e-4);
            }
        }
        assert!(compared.iter().all(|n| *n >= 20), "{compared:?}");
        let all: usize = compared.iter().sum();
        assert!(skipped * 20 < all, "{skipped} left out, {all} compared");
    }

    #[test]
    fn points_that_are_not_in_view_are_nothing() {
        let scene = scene();
        let points = points(&scene.view);
        let hidden = &points[60..];
        assert!(hidden.iter().all(|p| sample(&scene.view, p.position).is_none()));
        assert_eq!(value(&scene, &scene.gaussians, hidden), 0.0);
        assert!(points[..60].iter().all(|p| sample(&scene.view, p.position).is_some()));
        let [all, shown] = [&points[..], &points[..60]].map(|list| value(&scene, &scene.gaussians, list));
        assert!(shown > 0.0 && all == shown);
    }

    #[test]
    fn a_point_in_front_of_everything_pulls_what_is_there_towards_the_camera() {
        let scene = scene();
        let settings = settings(Filter2d::Mip { kernel_size: 0.1 }, 0);
        let out = forward(&scene.gaussians, &scene.filter_3d, &scene.view, &settings, [0.3; 3]);
        // Every splat, and whatever is let through, is farther.
        let near: Vec<Point<f64>> = points(&scene.view)[..60]
            .iter()
            .map(|p| {
                let eye = scene.view.position;
                let z = scene.view.to_camera(p.position)[2];
                let share = 0.21 / z;
                Point {
                    position: std::array::from_fn(|i| eye[i] + share * (p.position[i] - eye[i])),
                    weight: 1.0,
                }
            })
            .collect();
        let mut gradients = vec![Gradient2d::ZERO; out.visible.len()];
        depth_loss(&scene.view, &out.visible, &out.lists, &near, WEIGHT, &mut gradients);
        let touched: Vec<f64> = gradients.iter().map(|g| g.depth).filter(|d| *d != 0.0).collect();
        assert!(touched.len() > 20 && touched.iter().all(|d| *d > 0.0), "{touched:?}");
    }
}
