//! Fisheye photos that are trained through their lens: what of them the lens' formula explains.
//!
//! Owns how far the formula is believed: as far as it grows, and no farther than the picture's farthest corner. Pixels beyond are
//! empty: no ray arrives there.

use crate::formats::lens::Distortion;
use crate::{Fisheye, Intrinsics};

/// Largest angle from the optical axis that is looked at, degrees: right behind the camera directions have no place.
const MAX_DEGREES: f64 = 175.0;
/// Steps of a degree in which that angle is searched.
const STEPS_A_DEGREE: u32 = 20;
/// A lens whose radius grows by less than this share of what it does on the axis counts as one that grows no more: what it shows
/// beyond is a rim, and its formula about to fold back.
const LEAST_SLOPE: f64 = 0.05;
/// A lens that stops growing earlier than this is nonsense, degrees.
const LEAST_DEGREES: f64 = 5.0;
/// The reach goes this much beyond the farthest corner.
const BEYOND_CORNER: f64 = 1.01;

/// A lens that pictures of a size are kept for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Kept {
    /// The lens.
    pub(crate) lens: Fisheye,
    intrinsics: Intrinsics,
    size_px: (u32, u32),
    /// Some pixels are empty.
    pub(crate) has_empty: bool,
}

impl Kept {
    /// Measures the lens of pictures of `size_px`; `None` when it is no fisheye, or one that explains next to nothing.
    pub(crate) fn plan(distortion: Distortion, intrinsics: Intrinsics, size_px: (u32, u32)) -> Option<Self> {
        let Distortion::Fisheye {
            radial,
            tangential,
            prism,
        } = distortion
        else {
            return None;
        };
        let mut lens = Fisheye {
            radial,
            tangential,
            prism,
            reach: MAX_DEGREES.to_radians(),
        };
        lens.reach = fold(&lens);
        if lens.reach < LEAST_DEGREES.to_radians() {
            return None;
        }
        let [width, height] = [size_px.0, size_px.1].map(f64::from);
        let corners = [[0.0, 0.0], [width, 0.0], [0.0, height], [width, height]];
        let angle = |corner: [f64; 2]| {
            lens.ray(place(&intrinsics, corner))
                .map(|[x, y, z]| x.hypot(y).atan2(z))
        };
        let farthest = corners
            .into_iter()
            .map(angle)
            .try_fold(0.0, |most: f64, angle| Some(most.max(angle?)));
        if let Some(farthest) = farthest {
            lens.reach = lens.reach.min(BEYOND_CORNER * farthest);
        }
        let mut kept = Self {
            lens: lens.to(),
            intrinsics,
            size_px,
            has_empty: false,
        };
        let is_shown = kept.is_shown();
        let (columns, rows) = size_px;
        let border = (0..columns).flat_map(|x| [(x, 0), (x, rows.saturating_sub(1))]);
        let mut border = border.chain((0..rows).flat_map(|y| [(0, y), (columns.saturating_sub(1), y)]));
        kept.has_empty = border.any(|(x, y)| !is_shown(x, y));
        Some(kept)
    }

    /// 255 for each pixel that some ray arrives at, 0 for others.
    pub(crate) fn shown(&self) -> Vec<u8> {
        let is_shown = self.is_shown();
        let (width, height) = self.size_px;
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        pixels.map(|(x, y)| if is_shown(x, y) { u8::MAX } else { 0 }).collect()
    }

    /// Whether a ray arrives at the middle of a pixel.
    fn is_shown(&self) -> impl Fn(u32, u32) -> bool + use<> {
        let (lens, intrinsics) = (self.lens.to::<f64>(), self.intrinsics);
        move |x, y| lens.reaches(place(&intrinsics, [f64::from(x) + 0.5, f64::from(y) + 0.5]))
    }
}

/// A place in the picture, pixels, in units of the focal lengths.
fn place(Intrinsics { fx, fy, cx, cy }: &Intrinsics, [x, y]: [f64; 2]) -> [f64; 2] {
    [(x - cx) / fx, (y - cy) / fy]
}

/// The angle up to which the radius grows, radians, 175 degrees at most.
fn fold(lens: &Fisheye<f64>) -> f64 {
    let angle = |step: u32| (f64::from(step) / f64::from(STEPS_A_DEGREE)).to_radians();
    let steps = (MAX_DEGREES * f64::from(STEPS_A_DEGREE)) as u32;
    // As fast as the terms off the radius can run against it, see `Fisheye::sideways`.
    let [p, s] = [lens.tangential, lens.prism].map(|terms| terms[0].abs() + terms[1].abs());
    let grows = |step: &u32| {
        let theta = angle(*step);
        lens.radius(theta)[1] - 2.0 * theta * (3.0 * p + s) > LEAST_SLOPE
    };
    let stops = (1..=steps).find(|step| !grows(step));
    angle(stops.map_or(steps, |step| step - 1))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    fn radial(radial: [f64; 4]) -> Distortion {
        Distortion::Fisheye {
            radial,
            tangential: [0.0; 2],
            prism: [0.0; 2],
        }
    }

    /// A square picture, `degrees` wide were the lens equidistant.
    fn square(distortion: Distortion, degrees: f64) -> Option<Kept> {
        let focal = 100.0 / (0.5 * degrees).to_radians();
        let intrinsics = Intrinsics {
            fx: focal,
            fy: focal,
            cx: 100.0,
            cy: 100.0,
        };
        Kept::plan(distortion, intrinsics, (200, 200))
    }

    fn reach(kept: &Kept) -> f64 {
        f64::from(kept.lens.reach).to_degrees()
    }

    #[test]
    fn the_reach_ends_at_the_farthest_corner() {
        for degrees in [120.0, 200.0] {
            let kept = square(radial([0.0; 4]), degrees).unwrap();
            let corner = 0.5 * degrees * 2.0_f64.sqrt();
            assert!((reach(&kept) - 1.01 * corner).abs() < 1e-3, "{}", reach(&kept));
            assert!(!kept.has_empty && kept.shown().iter().all(|value| *value == 255));
        }
        let bent = Distortion::Fisheye {
            radial: [0.01, 0.0, 0.0, 0.0],
            tangential: [0.004, -0.003],
            prism: [0.002, 0.001],
        };
        let kept = square(bent, 140.0).unwrap();
        assert!(!kept.has_empty, "{kept:?}");
    }

    #[test]
    fn a_full_circle_is_a_disc() {
        // The radius grows by 1 + 3 k theta^2: a twentieth of that at 105 degrees. And one that goes all the way round.
        let end = 105.0_f64.to_radians();
        let folds = square(radial([-0.95 / (3.0 * end * end), 0.0, 0.0, 0.0]), 150.0).unwrap();
        assert!((reach(&folds) - 105.0).abs() < 0.1, "{}", reach(&folds));
        let round = square(radial([0.0; 4]), 300.0).unwrap();
        assert_eq!(reach(&round).round(), 175.0);
        for kept in [&folds, &round] {
            let [radius, _] = kept.lens.to::<f64>().radius(kept.lens.reach.into());
            let radius_px = radius * kept.intrinsics.fx;
            assert!(kept.has_empty && radius_px < 140.0, "{radius_px}");
            for (at, value) in kept.shown().into_iter().enumerate() {
                let [x, y] = [at % 200, at / 200].map(|side| side as f64 + 0.5 - 100.0);
                let off = x.hypot(y) - radius_px;
                assert!(off.abs() < 1e-3 || (value == 255) == (off < 0.0), "{x} {y}");
            }
        }
    }

    #[test]
    fn nonsense_and_other_lenses_are_not_kept() {
        assert_eq!(square(radial([-1e6, 0.0, 0.0, 0.0]), 120.0), None);
        let sideways = |tangential, prism| Distortion::Fisheye {
            radial: [0.0; 4],
            tangential,
            prism,
        };
        assert_eq!(square(sideways([0.0; 2], [10.0, 0.0]), 120.0), None);
        assert_eq!(square(sideways([0.0, -2.0], [0.0; 2]), 120.0), None);
        let narrow = square(radial([0.0; 4]), 6.0).unwrap();
        assert!((4.2..4.3).contains(&reach(&narrow)), "{}", reach(&narrow));
        assert_eq!(square(Distortion::Fov { omega: 0.9 }, 120.0), None);
        assert_eq!(square(radial([f64::NAN, 0.0, 0.0, 0.0]), 120.0), None);
    }
}
