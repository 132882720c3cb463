//! Gradients of blended planes against differences in f64: by the records, and by the Gaussians' parameters.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use super::super::project::{Filter2d, Settings};
use super::super::project_backward::project_backward;
use super::super::rasterize::{TRANSMITTANCE_MIN, pixel_list, rasterize};
use super::super::rasterize_backward::{Gradient2d, ImageGradients, SurfaceGradients, rasterize_backward_of};
use super::super::rng::normal;
use super::super::scenes::{Options, camera, random, settings};
use super::super::step::{Forward, forward};
use super::*;
use kiln_scene::Camera;

const BACKGROUND: Vec3<f64> = [0.2, 0.5, 0.9];

/// 200 Gaussians before 16 by 16 pixels, and a loss that is linear in colours, planes and transmittance of every pixel.
struct Case {
    gaussians: Vec<Gaussian<f64>>,
    filter_3d: Vec<f64>,
    view: View<f64>,
    settings: Settings,
    by_rgb: Vec<Vec3<f64>>,
    by_plane: Vec<Plane<f64>>,
    by_transmittance: Vec<f64>,
}

impl Case {
    fn new(seed: u32, filter: Filter2d) -> Self {
        let scene = random(Options {
            seed,
            count: 200,
            scales: [0.08, 0.5],
            opacities: [0.05, 0.25],
        });
        let view = View::new(&Camera {
            width_px: 16,
            height_px: 16,
            cx: 8.5,
            cy: 7.75,
            ..camera()
        });
        let draw = |i: u32, channel: u32| normal::<f64>(seed, 9, i, channel);
        let n_px = view.size_px[0] * view.size_px[1];
        Self {
            gaussians: scene.gaussians,
            filter_3d: scene.filter_3d,
            view,
            settings: settings(filter, 1),
            by_rgb: (0..n_px)
                .map(|i| std::array::from_fn(|c| 0.3 * draw(i, c as u32)))
                .collect(),
            by_plane: (0..n_px)
                .map(|i| Plane {
                    normal: std::array::from_fn(|c| draw(i, 3 + c as u32)),
                    distance: 0.25 * draw(i, 6),
                })
                .collect(),
            by_transmittance: (0..n_px).map(|i| draw(i, 7)).collect(),
        }
    }

    fn forward(&self, gaussians: &[Gaussian<f64>]) -> (Forward<f64>, Vec<Plane<f64>>) {
        let out = forward(gaussians, &self.filter_3d, &self.view, &self.settings, BACKGROUND);
        let of = |id: u32| plane(&gaussians[id as usize], &self.view);
        let planes = out.visible.iter().map(|v| of(v.id)).collect();
        (out, planes)
    }

    fn loss(&self, out: &Forward<f64>, planes: &[Plane<f64>]) -> f64 {
        let [width, height] = self.view.size_px;
        let raster = rasterize(self.view.size_px, &out.visible, &out.lists, BACKGROUND);
        let mut sum = 0.0;
        for y in 0..height {
            for x in 0..width {
                let i = (y * width + x) as usize;
                let list = pixel_list(&out.lists, width, x, y);
                let pixel = [x, y].map(f64::from);
                let found = blend_pixel(&out.visible, planes, list, pixel, &self.view);
                let g = self.by_plane[i];
                sum += dot(found.plane.normal, g.normal) + found.plane.distance * g.distance;
                sum += found.transmittance * self.by_transmittance[i];
                sum += dot(raster.rgb[i], self.by_rgb[i]);
            }
        }
        sum
    }

    fn backward(&self, out: &Forward<f64>, planes: &[Plane<f64>]) -> Vec<Gradient2d<f64>> {
        let gradients = ImageGradients {
            rgb: &self.by_rgb,
            transmittance: None,
            surface: Some(SurfaceGradients {
                planes,
                by_pixel: &self.by_plane,
                by_transmittance: &self.by_transmittance,
            }),
        };
        let size = self.view.size_px;
        rasterize_backward_of(size, &out.visible, &out.lists, BACKGROUND, &out.raster, &gradients)
    }
}

/// Central differences of `loss`, or none where those to either side disagree: a threshold lies within the step, which is a
/// property of the forward pass alone.
fn difference(base: f64, step: f64, loss: impl Fn(f64) -> f64) -> Option<f64> {
    let (high, low) = (loss(step), loss(-step));
    let (right, left) = ((high - base) / step, (base - low) / step);
    let middle = 0.5 * (right + left);
    ((right - left).abs() <= 1e-3 * middle.abs() + 1e-4).then_some(middle)
}

/// Compared and left out so far.
#[derive(Default)]
struct Tally {
    compared: usize,
    left_out: usize,
}

impl Tally {
    fn check(&mut self, what: &str, wanted: Option<f64>, found: f64) {
        let Some(wanted) = wanted else {
            self.left_out += 1;
            return;
        };
        let error = (wanted - found).abs();
        assert!(
            error <= 1e-3 * wanted.abs().max(found.abs()) + 1e-7,
            "{what}: differences {wanted:e}, backward {found:e}"
        );
        self.compared += usize::from(found.abs() > 1e-4);
    }
}

#[test]
fn records_follow_differences() {
    let case = Case::new(71, Filter2d::Mip { kernel_size: 0.1 });
    let (out, planes) = case.forward(&case.gaussians);
    let exact = case.backward(&out, &planes);
    let base = case.loss(&out, &planes);
    let mut tally = Tally::default();
    for (k, g) in exact.iter().enumerate() {
        let by_plane = [
            g.plane.normal[0],
            g.plane.normal[1],
            g.plane.normal[2],
            g.plane.distance,
        ];
        for (part, found) in by_plane.into_iter().enumerate() {
            let moved = |by: f64| {
                let mut planes = planes.clone();
                match part {
                    3 => planes[k].distance += by,
                    _ => planes[k].normal[part] += by,
                }
                case.loss(&out, &planes)
            };
            // Linear: the step may be long.
            let wanted = (moved(1.0) - moved(-1.0)) / 2.0;
            assert!((wanted - found).abs() < 1e-11 * base.abs().max(1.0), "{wanted} {found}");
        }
        let by_splat = [
            g.mean_px[0],
            g.mean_px[1],
            g.conic[0],
            g.conic[1],
            g.conic[2],
            g.opacity,
        ];
        for (part, found) in by_splat.into_iter().enumerate() {
            let moved = |by: f64| {
                let mut out = out.clone();
                let splat = &mut out.visible[k];
                match part {
                    0 | 1 => splat.mean_px[part] += by,
                    2..5 => splat.conic[part - 2] += by,
                    _ => splat.opacity += by,
                }
                case.loss(&out, &planes)
            };
            let wanted = difference(base, 1e-6, moved);
            tally.check(&format!("record {k} value {part}"), wanted, found);
        }
    }
    assert!(exact.len() >= 60, "{} records", exact.len());
    let Tally { compared, left_out } = tally;
    assert!(
        compared > 300 && left_out * 20 < compared,
        "{compared} compared, {left_out} left out"
    );
}

#[test]
fn parameters_follow_differences() {
    for (seed, filter) in [(72, Filter2d::Mip { kernel_size: 0.1 }), (73, Filter2d::Classic)] {
        let case = Case::new(seed, filter);
        let (out, planes) = case.forward(&case.gaussians);
        assert!(
            out.raster.transmittance.iter().all(|&t| t > 2.0 * TRANSMITTANCE_MIN),
            "a pixel saturates"
        );
        let base = case.loss(&out, &planes);
        let mut tally = Tally::default();
        let mut gaussians = case.gaussians.clone();
        // Each takes 22 renders: some have to do.
        let exact = case.backward(&out, &planes);
        for (record, g) in out.visible.iter().zip(exact).step_by(3) {
            let id = record.id as usize;
            let gaussian = case.gaussians[id];
            let filter_3d = case.filter_3d[id];
            let found = project_backward(&gaussian, filter_3d, &case.view, &case.settings, record, &g);
            let found = found.expect("what has a record projects");
            // Centre, rotation, scales, opacity.
            for (k, found) in found.gradient.values().into_iter().take(11).enumerate() {
                let cell = std::cell::RefCell::new(&mut gaussians);
                let moved = |by: f64| {
                    let mut values = gaussian.values();
                    values[k] += by;
                    let mut gaussians = cell.borrow_mut();
                    gaussians[id] = Gaussian::from_values(&values);
                    let (out, planes) = case.forward(&gaussians);
                    gaussians[id] = gaussian;
                    case.loss(&out, &planes)
                };
                let wanted = difference(base, 1e-6, moved);
                tally.check(&format!("Gaussian {id} value {k}"), wanted, found);
            }
        }
        let Tally { compared, left_out } = tally;
        assert!(
            compared > 200 && left_out * 20 < compared,
            "{compared} compared, {left_out} left out"
        );
    }
}

/// What a Gaussian says about its plane is no more than what differences of the plane itself say, whichever axis is thin and
/// whichever way it was turned.
#[test]
fn planes_follow_differences() {
    let case = Case::new(74, Filter2d::Classic);
    let (mut axes, mut flips) = ([0; 3], 0);
    for (id, gaussian) in (0..).zip(&case.gaussians) {
        let by = Plane {
            normal: std::array::from_fn(|c| normal::<f64>(8, 0, id, c as u32)),
            distance: normal::<f64>(8, 0, id, 3),
        };
        let (_, sign) = turned(gaussian, &case.view);
        let found = plane_backward(gaussian, &case.view, &by, false);
        axes[found.axis] += 1;
        flips += usize::from(sign < 0.0);
        let with_depth = plane_backward(gaussian, &case.view, &by, true);
        assert_eq!(with_depth.camera, [0.0, 0.0, by.distance]);
        let by_mean = mat_vec(transpose(case.view.rotation), found.camera);
        for (k, found) in by_mean.into_iter().enumerate() {
            let value = |step: f64| {
                let mut moved = *gaussian;
                moved.mean[k] += step;
                let plane = plane(&moved, &case.view);
                dot(plane.normal, by.normal) + plane.distance * by.distance
            };
            let wanted = (value(1e-4) - value(-1e-4)) / 2e-4;
            // Along the centre's movement the normal stays as it is: linear.
            assert!((wanted - found).abs() < 1e-9, "{wanted} {found}");
        }
    }
    assert!(
        axes.iter().all(|n| *n > 20) && (50..150).contains(&flips),
        "{axes:?} {flips}"
    );
}
