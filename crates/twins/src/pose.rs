//! The correction of a camera, its gradient and its step.
//!
//! A correction is a turn `w` (radians) and a shift `s` (extents): `W' = exp(w) W`, `t' = exp(w) t + s`. The gradient is not taken
//! through the projection as the shader does: a camera that moves before a scene is a scene that moves before a camera, so it
//! follows from the gradients of the Gaussians' centres and rotations. Both without the direction that colours are seen from.

use super::gaussian::{Gaussian, View};
use super::project::{Settings, Visible};
use super::project_backward::project_backward;
use super::rasterize_backward::Gradient2d;
use kiln_kernels::pose::HOLD;
pub use kiln_kernels::pose::VALUES;
use kiln_scene::math::{Real, Vec3, add, cross, dot, mat_vec, scale, sub};

/// Turn, then shift.
pub type Correction<R> = [R; VALUES];

fn parts<R: Real>([a, b, c, x, y, z]: Correction<R>) -> (Vec3<R>, Vec3<R>) {
    ([a, b, c], [x, y, z])
}

/// sin(x) / x, (1 - cos(x)) / x^2 and (x - sin(x)) / x^3 of a squared angle.
fn factors<R: Real>(squared: R) -> [R; 3] {
    let series = |first: f64, ratios: [f64; 3]| {
        let terms = ratios.iter().rev();
        R::of(first) * terms.fold(R::ONE, |sum, ratio| R::ONE - squared / R::of(*ratio) * sum)
    };
    if squared < R::of(0.01) {
        return [
            series(1.0, [6.0, 20.0, 42.0]),
            series(0.5, [12.0, 30.0, 56.0]),
            series(1.0 / 6.0, [20.0, 42.0, 72.0]),
        ];
    }
    let angle = squared.sqrt();
    let sine = (R::ONE - angle.cos() * angle.cos()).sqrt();
    [
        sine / angle,
        (R::ONE - angle.cos()) / squared,
        (angle - sine) / (squared * angle),
    ]
}

/// `exp(w) v`, for turns below half a circle.
fn turned<R: Real>(w: Vec3<R>, v: Vec3<R>) -> Vec3<R> {
    let [a, b, _] = factors(dot(w, w));
    let side = cross(w, v);
    add(v, add(scale(side, a), scale(cross(w, side), b)))
}

/// The corrected camera; `extent` in world units.
#[must_use]
pub fn corrected<R: Real>(view: &View<R>, correction: &Correction<R>, extent: R) -> View<R> {
    let (w, s) = parts(*correction);
    let columns = [0, 1, 2].map(|k| turned(w, view.rotation.map(|row| row[k])));
    let rotation = [0, 1, 2].map(|row| columns.map(|column| column[row]));
    let translation = add(turned(w, view.translation), scale(s, extent));
    View {
        rotation,
        translation,
        position: [0, 1, 2].map(|k| -dot(columns[k], translation)),
        ..*view
    }
}

/// Gradient of the loss by a turn about the camera and a shift in world units of `view` as it is, both in camera axes. One gradient a
/// record.
#[must_use]
pub fn motion<R: Real>(
    gaussians: &[Gaussian<R>],
    filter_3d: &[R],
    view: &View<R>,
    settings: &Settings,
    visible: &[Visible<R>],
    gradients: &[Gradient2d<R>],
) -> (Vec3<R>, Vec3<R>) {
    let without_direction = Settings {
        sh_degree: 0,
        ..*settings
    };
    let (mut turn, mut shift) = ([R::ZERO; 3], [R::ZERO; 3]);
    for (record, g) in visible.iter().zip(gradients) {
        let id = record.id as usize;
        let (gaussian, filter) = (&gaussians[id], filter_3d[id]);
        let Some(out) = project_backward(gaussian, filter, view, &without_direction, record, g) else {
            continue;
        };
        let [w, x, y, z] = gaussian.quat;
        let [dw, dx, dy, dz] = out.gradient.quat;
        // d/da of (1, a / 2) q.
        let half = R::of(0.5);
        let of_rotation = [
            -x * dw + w * dx - z * dy + y * dz,
            -y * dw + z * dx + w * dy - x * dz,
            -z * dw - y * dx + x * dy + w * dz,
        ];
        let by_centre = mat_vec(view.rotation, out.gradient.mean);
        let about_camera = cross(view.to_camera(gaussian.mean), by_centre);
        let about_centre = mat_vec(view.rotation, scale(of_rotation, half));
        turn = add(turn, add(about_camera, about_centre));
        shift = add(shift, by_centre);
    }
    (turn, shift)
}

/// From the gradient by [`motion`] of the corrected camera to that by the correction.
#[must_use]
pub fn by_correction<R: Real>(
    correction: &Correction<R>,
    extent: R,
    (turn, shift): (Vec3<R>, Vec3<R>),
) -> Correction<R> {
    let (w, s) = parts(*correction);
    let about = sub(turn, cross(scale(s, extent), shift));
    let [_, b, c] = factors(dot(w, w));
    let side = cross(w, about);
    let [x, y, z] = add(about, sub(scale(cross(w, side), c), scale(side, b)));
    let [a, b, c] = scale(shift, extent);
    [x, y, z, a, b, c]
}

/// State of a view's optimiser.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct State<R> {
    /// The correction.
    pub correction: Correction<R>,
    /// First moments.
    pub m: Correction<R>,
    /// Second moments.
    pub v: Correction<R>,
    /// Steps taken.
    pub steps: u32,
}

impl<R: Real> State<R> {
    /// One step of Adam with decays `betas` and learning rate `rate` along `gradient` and the pull towards no correction.
    pub fn step(&mut self, gradient: &Correction<R>, rate: R, betas: [R; 2]) {
        self.steps += 1;
        let n = f64::from(self.steps);
        let corrections = betas.map(|beta| R::of(1.0 - beta.to_f64().powf(n)));
        for (k, gradient) in gradient.iter().enumerate() {
            let g = *gradient + R::of(HOLD.into()) * self.correction[k];
            self.m[k] = betas[0] * self.m[k] + (R::ONE - betas[0]) * g;
            self.v[k] = betas[1] * self.v[k] + (R::ONE - betas[1]) * g * g;
            let second = (self.v[k] / corrections[1]).sqrt() + R::of(1e-8);
            self.correction[k] -= rate * (self.m[k] / corrections[0]) / second;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{Weights, loss_value};
    use crate::project::Filter2d;
    use crate::scenes::{Options, Scene, random, settings};
    use crate::step::{forward, step};
    use kiln_scene::math::{mat_mul, transpose};

    const BACKGROUND: [f64; 3] = [0.2, 0.5, 0.9];
    const EXTENT: f64 = 2.5;

    fn scene(seed: u32) -> Scene {
        random(Options {
            seed,
            count: 50,
            scales: [0.08, 0.5],
            opacities: [0.15, 0.6],
        })
    }

    fn gradient(scene: &Scene, settings: &Settings, correction: &Correction<f64>) -> Correction<f64> {
        let view = corrected(&scene.view, correction, EXTENT);
        let (gaussians, filter) = (&scene.gaussians, &scene.filter_3d);
        let out = step(
            gaussians,
            filter,
            &view,
            settings,
            BACKGROUND,
            &scene.target,
            Weights::default(),
        );
        let motion = motion(
            gaussians,
            filter,
            &view,
            settings,
            &out.forward.visible,
            &out.gradients_2d,
        );
        by_correction(correction, EXTENT, motion)
    }

    /// Central differences of the loss; none where the one-sided ones disagree because a threshold lies between.
    fn differences(scene: &Scene, settings: &Settings, correction: &Correction<f64>) -> [Option<f64>; VALUES] {
        let value = |correction: &Correction<f64>| {
            let view = corrected(&scene.view, correction, EXTENT);
            let out = forward(&scene.gaussians, &scene.filter_3d, &view, settings, BACKGROUND);
            loss_value(view.size_px, &out.raster.rgb, &scene.target, Weights::default())
        };
        let (base, eps) = (value(correction), 1e-7);
        std::array::from_fn(|k| {
            let at = |offset: f64| {
                let mut moved = *correction;
                moved[k] += offset;
                value(&moved)
            };
            let (high, low) = (at(eps), at(-eps));
            let numeric = (high - low) / (2.0 * eps);
            let bend = ((high - base) - (base - low)).abs() / eps;
            (bend < 1e-3 * numeric.abs() + 1e-7).then_some(numeric)
        })
    }

    /// With one colour a Gaussian, so that directions say nothing: both filters, corrections of none, of little and of much.
    #[test]
    fn gradients_match_differences() {
        let mut compared = 0;
        for (seed, filter) in (60..66).zip(
            [Filter2d::Mip { kernel_size: 0.1 }, Filter2d::Classic]
                .into_iter()
                .cycle(),
        ) {
            let (scene, settings) = (scene(seed), settings(filter, 0));
            for size in [0.0, 0.02, 0.3] {
                let correction = [0.4, -0.7, 0.5, 0.3, 0.2, -0.6].map(|value| size * value);
                let exact = gradient(&scene, &settings, &correction);
                for (found, wanted) in exact.iter().zip(differences(&scene, &settings, &correction)) {
                    let Some(wanted) = wanted else { continue };
                    let error = (found - wanted).abs();
                    assert!(error < 1e-3 * wanted.abs() + 1e-7, "{seed} {size}: {found} {wanted}");
                    compared += 1;
                }
            }
        }
        assert!(compared > 60, "{compared} of 108");
    }

    /// What is passed by where colours depend on the direction, as strongly as here: little of the whole.
    #[test]
    fn the_direction_of_colours_is_a_small_part() {
        let (mut left_out, mut whole) = (0.0, 0.0);
        for seed in 70..76 {
            let (scene, settings) = (scene(seed), settings(Filter2d::Classic, 3));
            let exact = gradient(&scene, &settings, &[0.0; VALUES]);
            for (found, wanted) in exact.iter().zip(differences(&scene, &settings, &[0.0; VALUES])) {
                let Some(wanted) = wanted else { continue };
                left_out += (found - wanted).powi(2);
                whole += wanted * wanted;
            }
        }
        let share = (left_out / whole).sqrt();
        assert!(share > 0.0 && share < 0.2, "{share}");
    }

    #[test]
    fn cameras_turn_about_themselves_and_shift_along_their_axes() {
        let view = scene(1).view;
        let turn = corrected(&view, &[0.3, -0.2, 0.9, 0.0, 0.0, 0.0], EXTENT);
        for k in 0..3 {
            assert!((turn.position[k] - view.position[k]).abs() < 1e-12);
        }
        let product = mat_mul(turn.rotation, transpose(turn.rotation));
        for (i, row) in product.iter().enumerate() {
            for (j, value) in row.iter().enumerate() {
                // As far as the rotation that it began with is one.
                assert!((value - f64::from(u8::from(i == j))).abs() < 1e-6);
            }
        }
        let shift = corrected(&view, &[0.0, 0.0, 0.0, 0.1, 0.0, 0.0], EXTENT);
        let moved = sub(shift.to_camera([0.0; 3]), view.to_camera([0.0; 3]));
        assert!((moved[0] - 0.25).abs() < 1e-12 && shift.rotation == view.rotation);
        // Both formulas of the factors, where one takes the place of the other.
        let [low, high] = [0.01 - 1e-9, 0.01 + 1e-9].map(factors::<f64>);
        assert!(
            low.iter().zip(high).all(|(a, b)| (a - b).abs() < 1e-9),
            "{low:?} {high:?}"
        );
    }

    /// A camera that is off by half a degree and half a percent of the extent goes back to where its photo was taken.
    #[test]
    fn a_camera_goes_back() {
        let mut scene = scene(5);
        let settings = settings(Filter2d::Mip { kernel_size: 0.1 }, 0);
        let photo = forward(&scene.gaussians, &scene.filter_3d, &scene.view, &settings, BACKGROUND);
        scene.target = photo.raster.rgb;
        let off = [0.005, -0.006, 0.004, 0.003, -0.003, 0.002];
        let mut state = State {
            correction: off,
            ..State::default()
        };
        for step in 0..200 {
            let rate = 1e-3 * 0.01_f64.powf(f64::from(step) / 200.0);
            state.step(&gradient(&scene, &settings, &state.correction), rate, [0.9, 0.999]);
        }
        let error = |correction: Correction<f64>| correction.iter().map(|value| value * value).sum::<f64>().sqrt();
        assert!(error(state.correction) < 0.1 * error(off), "{:?}", state.correction);
    }
}
