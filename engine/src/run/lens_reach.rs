//! Where Gaussians may be in a picture that is taken through a lens: see [`reach`](super::reach).

use kiln_scene::Fisheye;
use kiln_scene::math::norm;

/// Room for the angles of the device, radians, and for its lengths.
const SLACK: f64 = 1e-5;

/// A part of a picture, in units of the focal length from the principal point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    /// Where its middle is.
    pub(super) at: [f64; 2],
    /// How far centres may be from there.
    pub(super) around: f64,
    /// What bounds the root of the sum of both variances of a Gaussian.
    pub(super) spread: f64,
}

/// The place of Gaussians whose centres are at most `radius` from `middle`, in camera axes, and that have standard deviations of at
/// most `sigma` along every axis. `None` when they are not drawn.
///
/// The unscented transform looks at points that are sqrt(3) standard deviations from a centre. Where all of them are at most `d`
/// from it in the picture, so is their mean, and the sum of both variances is at most `2 d^2`.
pub(super) fn place_of(lens: &Fisheye<f64>, middle: [f64; 3], radius: f64, sigma: f64) -> Option<Place> {
    let distance = norm(middle);
    let theta = middle[0].hypot(middle[1]).atan2(middle[2]);
    let turn = |length: f64, from: f64| {
        if length < from {
            (length / from).asin()
        } else {
            std::f64::consts::PI
        }
    };
    let centres = turn(radius, distance) + SLACK;
    if theta - centres > lens.drawn() {
        return None;
    }
    let points = centres + turn(3.0_f64.sqrt() * sigma, distance - radius) + SLACK;
    let [from_axis, _] = lens.radius(theta);
    let [p1, p2] = lens.tangential.map(f64::abs);
    let sideways = 3.0 * (p1 + p2) + lens.prism[0].abs() + lens.prism[1].abs();
    // The farthest in the picture from the middle's place of what is at most `angle` from it.
    let away = |angle: f64| {
        let [nearest, _] = lens.radius((theta - angle).max(0.0));
        let [farthest, _] = lens.radius((theta + angle).min(std::f64::consts::PI));
        let around_axis = angle.min(std::f64::consts::FRAC_PI_2).sin() / theta.sin().max(1e-12);
        let aside = if angle < std::f64::consts::FRAC_PI_2 && around_axis < 1.0 && theta + angle < std::f64::consts::PI
        {
            around_axis.asin().min(2.0)
        } else {
            2.0
        };
        let along = (farthest - from_axis).max(from_axis - nearest);
        let inner = lens.reach.min(theta + angle);
        along + farthest * aside + 2.0 * inner * inner * sideways
    };
    let (around, points) = (away(centres), away(points));
    let apart = if radius > 0.0 { around + points } else { points };
    Some(Place {
        at: lens.place(middle),
        around,
        spread: 2.0_f64.sqrt() * apart,
    })
}
