//! Gaussians against all training cameras: how near one stood, and how many see them.
//!
//! [`kiln_kernels::camera_cull`] says what the figures mean.

use super::gaussian::{Gaussian, View};
use super::project::jacobian_limits;
use kiln_kernels::camera_cull::Limits;
use kiln_scene::Fisheye;
use kiln_scene::math::{Real, mat_vec, norm, rotation, scale, sigmoid, sub, transpose};

/// What rounding may make of a bound.
const SLACK: f64 = 1.001;
/// Angles at which a lens is looked at.
const ANGLES: u32 = 64;

/// What the cameras say of a Gaussian.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Testimony<R> {
    /// Smallest distance from a camera's centre less two standard deviations towards it, world units.
    pub clearance: R,
    /// Cameras in whose picture the centre is.
    pub witnesses: u32,
    /// It may touch a picture.
    pub is_seen: bool,
}

/// Largest ratio of a standard deviation on the image to one at depth 1, px.
#[must_use]
pub fn stretch<R: Real>(view: &View<R>) -> R {
    if let Some(lens) = &view.lens {
        return lens_stretch(lens, view.focal[0].max(view.focal[1]));
    }
    let along = |axis: usize| {
        let (low, high) = jacobian_limits(view, axis);
        let slope = (-low).max(high);
        view.focal[axis] * view.focal[axis] * (R::ONE + slope * slope)
    };
    (along(0) + along(1)).sqrt()
}

/// The same of a lens, at distance 1: the steepest of radius by angle and of radius by the sine of the angle, which is where a
/// shift across the direction turns it. Half as much again for Gaussians that are as large as they are far, and the sine at least a
/// fifth: what is behind a camera is hardly ever seen.
fn lens_stretch<R: Real>(lens: &Fisheye<R>, focal: R) -> R {
    let angles = (1..=ANGLES).map(|n| lens.drawn() * R::of(f64::from(n) / f64::from(ANGLES)));
    let steepest = angles.fold(R::ZERO, |most, angle| {
        let [radius, slope] = lens.radius(angle);
        let sine = (R::ONE - angle.cos() * angle.cos()).max(R::ZERO).sqrt();
        most.max(slope).max(radius / sine.max(R::of(0.2).min(angle)))
    });
    R::of(1.5 * std::f64::consts::SQRT_2) * focal * steepest
}

/// What `views` say of a Gaussian that is drawn with the 3D filter `filter_3d` and whose radius the screen-space filter makes
/// at most `rim_px` larger.
#[must_use]
pub fn testimony<R: Real>(gaussian: &Gaussian<R>, filter_3d: R, views: &[View<R>], rim_px: R) -> Testimony<R> {
    let scales = gaussian.log_scale.map(R::exp);
    let length = norm(gaussian.quat);
    let to_own = transpose(rotation(gaussian.quat.map(|v| v / length)));
    let widest = scales[0].max(scales[1]).max(scales[2]);
    let filtered = (widest * widest + filter_3d * filter_3d).sqrt();
    let mut found = Testimony {
        clearance: R::of(3.0e38),
        witnesses: 0,
        is_seen: false,
    };
    for view in views {
        let offset = sub(gaussian.mean, view.position);
        let distance = norm(offset);
        let away = mat_vec(to_own, scale(offset, R::ONE / distance.max(R::of(1e-30))));
        let deviation: R = norm([0, 1, 2].map(|axis| scales[axis] * away[axis]));
        found.clearance = found.clearance.min(distance - R::of(2.0) * deviation);
        let Some((at, depth)) = view.seen(view.to_camera(gaussian.mean)) else {
            continue;
        };
        let within = |margin: R| {
            (0..2).all(|axis| at[axis] >= -margin && at[axis] <= R::of(f64::from(view.size_px[axis])) + margin)
        };
        found.witnesses += u32::from(within(R::ZERO));
        found.is_seen |= within(R::of(3.0 * SLACK) * stretch(view) * filtered / depth + rim_px);
    }
    found
}

/// Whether a Gaussian goes.
#[must_use]
pub fn goes<R: Real>(gaussian: &Gaussian<R>, testimony: &Testimony<R>, limits: &Limits) -> bool {
    let few = limits.witnesses > 1 && testimony.witnesses < limits.witnesses;
    testimony.clearance < R::of(f64::from(limits.clearance)) && limits.clearance > 0.0
        || limits.witnesses > 0 && (!testimony.is_seen || few)
        || sigmoid(gaussian.logit_opacity) < R::of(f64::from(limits.opacity))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::{Filter2d, Settings, project};
    use crate::rng::{normal, uniform};
    use kiln_scene::Camera;

    /// Whole tiles: nothing is shown beyond the picture.
    fn camera(z: f32) -> View<f64> {
        View::new(&Camera {
            width_px: 112,
            height_px: 80,
            fx: 100.0,
            fy: 100.0,
            cx: 56.0,
            cy: 40.0,
            rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            translation: [0.0, 0.0, -z],
            lens: None,
        })
    }

    fn ball(mean: [f64; 3], scales: [f64; 3]) -> Gaussian<f64> {
        Gaussian {
            mean,
            quat: [2.0, 0.0, 0.0, 0.0],
            log_scale: scales.map(f64::ln),
            logit_opacity: 2.0,
            ..Gaussian::ZERO
        }
    }

    #[test]
    fn clearance_is_that_of_the_nearest_camera_whichever_way_it_looks() {
        let views = [camera(0.0), camera(10.0)];
        let clearance = |g: &Gaussian<f64>| testimony(g, 0.0, &views, 1.0).clearance;
        let long = [0.1, 0.2, 0.5];
        assert!((clearance(&ball([0.0, 0.0, 4.0], long)) - 3.0).abs() < 1e-12);
        assert!(
            (clearance(&ball([0.0, 0.0, 9.0], long)) - 0.0).abs() < 1e-12,
            "behind the second's back"
        );
        assert!(
            (clearance(&ball([0.0, 3.0, 0.0], long)) - 2.6).abs() < 1e-12,
            "beside the first"
        );
        // Turned by 90 degrees about x: what was along z is along y.
        let turned = Gaussian {
            quat: [1.0, 1.0, 0.0, 0.0],
            ..ball([0.0, 3.0, 0.0], long)
        };
        assert!((clearance(&turned) - 2.0).abs() < 1e-12);
        assert!(clearance(&ball([0.0; 3], long)) <= 0.0, "in the camera");
    }

    #[test]
    fn witnesses_have_the_centre_in_their_picture_and_the_unseen_touch_none() {
        let views = [camera(0.0), camera(3.0)];
        let of = |g: &Gaussian<f64>| {
            let found = testimony(g, 0.0, &views, 2.0);
            (found.witnesses, found.is_seen)
        };
        let small = [0.01; 3];
        assert_eq!(of(&ball([0.0, 0.0, 5.0], small)), (2, true));
        assert_eq!(of(&ball([0.0, 0.0, 3.1], small)), (1, true), "too near for the second");
        assert_eq!(of(&ball([0.0, 0.0, -2.0], small)), (0, false));
        assert_eq!(of(&ball([4.0, 0.0, 5.0], small)), (0, false), "beside both");
        assert_eq!(of(&ball([4.0, 0.0, 5.0], [1.0; 3])), (0, true), "its rim shows");
    }

    #[test]
    fn limits_are_switched_alone() {
        let views = [camera(0.0)];
        let goes = |g: &Gaussian<f64>, limits: Limits| {
            goes(g, &testimony(g, 0.0, &views, f64::from(limits.rim_px())), &limits)
        };
        let (near, unseen) = (ball([0.0, 0.0, 0.5], [0.01; 3]), ball([0.0, 0.0, -5.0], [0.01; 3]));
        let faint = Gaussian {
            logit_opacity: -9.0,
            ..ball([0.0, 0.0, 5.0], [0.01; 3])
        };
        let off = Limits::default();
        assert!([near, unseen, faint].iter().all(|g| !goes(g, off)));
        let clearance = Limits { clearance: 1.0, ..off };
        assert_eq!([near, unseen, faint].map(|g| goes(&g, clearance)), [true, false, false]);
        let witnesses = |witnesses| Limits { witnesses, ..off };
        assert_eq!(
            [near, unseen, faint].map(|g| goes(&g, witnesses(1))),
            [false, true, false]
        );
        assert!([near, unseen, faint].iter().all(|g| goes(g, witnesses(2))));
        let opacity = Limits { opacity: 0.005, ..off };
        assert_eq!([near, unseen, faint].map(|g| goes(&g, opacity)), [false, false, true]);
    }

    #[test]
    fn what_a_picture_shows_is_never_unseen() {
        let (mut shown, mut unseen) = (0, 0);
        for key in 0..20_000 {
            let random = |channel: u32| uniform::<f64>(key, 1, 0, channel);
            let mut view = camera(0.0);
            if key % 2 == 1 {
                view.focal = [30.0; 2];
                let bent = [0.03, -0.01, 0.002, -0.0005];
                let (radial, reach) = [(bent, 0.9), (bent, 1.7), ([0.0; 4], 2.6)][key as usize / 2 % 3];
                view.lens = Some(Fisheye {
                    radial,
                    tangential: [2e-3, -1e-3],
                    prism: [1e-3, 2e-3],
                    reach,
                });
            }
            let gaussian = Gaussian {
                mean: [
                    8.0 * (random(0) - 0.5),
                    8.0 * (random(1) - 0.5),
                    8.0 * (random(2) - 0.5),
                ],
                quat: [0, 1, 2, 3].map(|i| normal::<f64>(key, 2, 0, i)),
                log_scale: [0, 1, 2].map(|i| -3.0 + normal::<f64>(key, 3, 0, i)),
                logit_opacity: 5.0,
                ..Gaussian::ZERO
            };
            let filter_3d = 0.1 * random(3);
            let limits = Limits {
                kernel_size: [0.1, 0.3, 2.0][key as usize % 3],
                ..Limits::default()
            };
            let filter_2d = Filter2d::Mip {
                kernel_size: limits.kernel_size.into(),
            };
            let settings = Settings {
                filter_2d,
                sh_degree: 0,
                tight_tiles: true,
                dropout: None,
                plane_depths: false,
            };
            let is_shown = project(0, &gaussian, filter_3d, &view, &settings).is_some();
            let found = testimony(&gaussian, filter_3d, &[view], f64::from(limits.rim_px()));
            assert!(found.is_seen || !is_shown, "Gaussian {key}");
            assert!(found.is_seen || found.witnesses == 0, "Gaussian {key}");
            shown += u32::from(is_shown);
            unseen += u32::from(!found.is_seen);
        }
        assert!(shown > 2000 && unseen > 3000, "{shown} shown, {unseen} unseen");
    }
}
