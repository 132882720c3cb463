//! A fisheye lens that photos are trained through as they are: a direction becomes a place by its angle from the axis.
//!
//! With theta the angle between a direction and the optical axis and e its direction in the picture, the place in units of the
//! focal lengths is `D(theta) e + theta^2 h(e)`: D is the radial series of Kannala and Brandt (2006), h has the tangential terms
//! of Brown (1966) and the thin prism's of Weng et al. (1992), as COLMAP's THIN_PRISM_FISHEYE combines them. Beyond the largest
//! angle that a photo shows D goes on as a straight line and h's factor stays, so that every direction has a place and the
//! formula cannot fold back.

use crate::math::Real;

/// Coefficients of a fisheye in the float type `R`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fisheye<R = f32> {
    /// Coefficients of `theta^2, theta^4, theta^6, theta^8` in `D(theta) / theta`, which starts with 1.
    pub radial: [R; 4],
    /// `p1, p2`
    pub tangential: [R; 2],
    /// `s1, s2`
    pub prism: [R; 2],
    /// Largest angle from the axis that the formula is believed at, radians; above 0 and below pi.
    pub reach: R,
}

/// Centres beyond this many times the reach are not drawn, as they are behind a pinhole.
const DRAWN: f64 = 1.3;
/// Most steps that find an angle.
const ROOT_STEPS: u32 = 52;
/// Steps that take the terms off the radius into account; each leaves a small share of what was wrong.
const STEPS: u32 = 40;
/// Steps that find where the reach ends in a direction.
const EDGE_STEPS: u32 = 4;
/// How close the inverse comes, in units of the focal lengths.
const CLOSE: f64 = 1e-10;
/// What rounding may do to a place at the end of the reach.
const SLACK: f64 = 1e-5;

impl<R: Real> Fisheye<R> {
    /// `D` and its derivative at an angle in radians.
    #[must_use]
    pub fn radius(&self, theta: R) -> [R; 2] {
        let inner = theta.min(self.reach);
        let t2 = inner * inner;
        let (mut value, mut slope) = (R::ZERO, R::ZERO);
        for (k, coefficient) in self.radial.iter().enumerate().rev() {
            value = (value + *coefficient) * t2;
            slope = (slope + R::of((2 * k + 3) as f64) * *coefficient) * t2;
        }
        let (value, slope) = (inner * (R::ONE + value), R::ONE + slope);
        [value + slope * (theta - inner), slope]
    }

    /// Where a point in camera axes is, in units of the focal lengths from the principal point.
    #[must_use]
    pub fn place(&self, [x, y, z]: [R; 3]) -> [R; 2] {
        let r = (x * x + y * y).sqrt();
        let theta = r.atan2(z);
        let [ex, ey] = if r > R::ZERO { [x / r, y / r] } else { [R::ONE, R::ZERO] };
        let [radius, _] = self.radius(theta);
        let inner = theta.min(self.reach);
        let [hx, hy] = self.sideways([ex, ey]);
        [radius * ex + inner * inner * hx, radius * ey + inner * inner * hy]
    }

    /// h of a direction in the picture.
    #[must_use]
    pub fn sideways(&self, [x, y]: [R; 2]) -> [R; 2] {
        let ([p1, p2], [s1, s2]) = (self.tangential, self.prism);
        let two = R::of(2.0);
        [
            two * p1 * x * y + p2 * (R::ONE + two * x * x) + s1,
            two * p2 * x * y + p1 * (R::ONE + two * y * y) + s2,
        ]
    }

    /// Unit direction in camera axes that arrives at a place, in units of the focal lengths from the principal point; `None` where
    /// none within the reach does.
    #[must_use]
    pub fn ray(&self, [x, y]: [f64; 2]) -> Option<[f64; 3]> {
        let lens = self.to::<f64>();
        // D(theta) e is what is left of the place without the other terms, which follow from theta and e.
        let mut left = [x, y];
        for _ in 0..STEPS {
            let (theta, e) = lens.without_sideways(left)?;
            let h = lens.sideways(e);
            let next = [x - theta * theta * h[0], y - theta * theta * h[1]];
            let moved = (next[0] - left[0]).hypot(next[1] - left[1]);
            left = next;
            if moved < CLOSE {
                break;
            }
        }
        let (theta, e) = lens.without_sideways(left)?;
        let (sin, cos) = theta.sin_cos();
        let ray = [sin * e[0], sin * e[1], cos];
        let at = lens.place(ray);
        ((at[0] - x).hypot(at[1] - y) < SLACK).then_some(ray)
    }

    /// Centres at a larger angle than this are not drawn, radians; pi at most.
    #[must_use]
    pub fn drawn(&self) -> R {
        (self.reach * R::of(DRAWN)).min(R::of(std::f64::consts::PI))
    }

    /// The same in another float type.
    #[must_use]
    pub fn to<S: Real>(&self) -> Fisheye<S> {
        let to = |value: R| S::of(value.to_f64());
        Fisheye {
            radial: self.radial.map(to),
            tangential: self.tangential.map(to),
            prism: self.prism.map(to),
            reach: to(self.reach),
        }
    }
}

impl Fisheye<f64> {
    /// True when a ray within the reach arrives at a place, in units of the focal lengths; quicker than [`Fisheye::ray`].
    pub(super) fn reaches(&self, [x, y]: [f64; 2]) -> bool {
        let wanted = x.hypot(y);
        let [farthest, _] = self.radius(self.reach);
        // Most places are farther from the rim than the other terms reach.
        let [p, s] = [self.tangential, self.prism].map(|terms| terms[0].abs() + terms[1].abs());
        let most_off = self.reach * self.reach * (3.0 * p + s);
        if (wanted - farthest).abs() >= most_off {
            return wanted <= farthest;
        }
        let off = |e: [f64; 2]| self.sideways(e).map(|h| self.reach * self.reach * h);
        // The direction whose end lies on the line to the place.
        let mut e = [x, y].map(|value| if wanted > 0.0 { value / wanted } else { 0.0 });
        let mut end = farthest;
        for _ in 0..EDGE_STEPS {
            let h = off(e);
            end = (farthest * e[0] + h[0]).hypot(farthest * e[1] + h[1]);
            let next = [x / wanted * end - h[0], y / wanted * end - h[1]];
            let length = next[0].hypot(next[1]);
            if length.is_nan() || length <= 0.0 {
                break;
            }
            e = next.map(|value| value / length);
        }
        wanted <= end
    }

    /// Angle and direction in the picture of a place, were there no terms off the radius; `None` for what is no number.
    fn without_sideways(&self, [x, y]: [f64; 2]) -> Option<(f64, [f64; 2])> {
        let wanted = x.hypot(y);
        if !wanted.is_finite() {
            return None;
        }
        // Newton's steps, and halvings where one leaves what is left of the interval.
        let (mut low, mut high) = (0.0, self.reach);
        let mut theta = wanted.min(high);
        for _ in 0..ROOT_STEPS {
            let [value, slope] = self.radius(theta);
            if value < wanted {
                low = theta;
            } else {
                high = theta;
            }
            let next = theta - (value - wanted) / slope;
            let next = if low < next && next < high {
                next
            } else {
                0.5 * (low + high)
            };
            let moved = (next - theta).abs();
            theta = next;
            if moved < CLOSE {
                break;
            }
        }
        let e = if wanted > 0.0 {
            [x / wanted, y / wanted]
        } else {
            [1.0, 0.0]
        };
        Some((theta, e))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    /// Of each of COLMAP's models, narrow and wide.
    fn lenses() -> [Fisheye; 5] {
        let lens = |radial, tangential, prism, degrees: f32| Fisheye {
            radial,
            tangential,
            prism,
            reach: degrees.to_radians(),
        };
        [
            lens([0.0; 4], [0.0; 2], [0.0; 2], 120.0),
            lens([0.05, 0.0, 0.0, 0.0], [0.0; 2], [0.0; 2], 80.0),
            lens([-0.03, 0.01, 0.0, 0.0], [0.0; 2], [0.0; 2], 60.0),
            lens([0.03, -0.01, 0.002, -0.0002], [0.0; 2], [0.0; 2], 95.0),
            lens([0.02, -0.01, 0.004, -0.0005], [1e-3, 2e-3], [1e-3, -1e-3], 100.0),
        ]
    }

    #[test]
    fn rays_and_places_undo_each_other() {
        for lens in lenses() {
            for n in 0..400_u32 {
                let (theta, turn) = (f64::from(lens.reach) * f64::from(n) / 400.0, 0.7 * f64::from(n));
                let ray = [theta.sin() * turn.cos(), theta.sin() * turn.sin(), theta.cos()];
                let place = lens.to::<f64>().place(ray);
                let back = lens.ray(place).unwrap();
                let off = (0..3).map(|k| (ray[k] - back[k]).abs()).fold(0.0, f64::max);
                assert!(off < 1e-6, "{lens:?} {theta}: {off}");
                assert!(lens.to().reaches(place), "{lens:?} {theta}");
            }
        }
    }

    #[test]
    fn beyond_its_reach_a_lens_has_no_ray() {
        for lens in lenses() {
            let wide = lens.to::<f64>();
            for turn in 0..12 {
                let end = |degrees: f64| {
                    let (theta, turn) = (wide.reach + degrees.to_radians(), f64::from(turn));
                    wide.place([theta.sin() * turn.cos(), theta.sin() * turn.sin(), theta.cos()])
                };
                assert!(lens.ray(end(-0.1)).is_some() && wide.reaches(end(-0.1)), "{lens:?}");
                assert!(lens.ray(end(0.1)).is_none() && !wide.reaches(end(0.1)), "{lens:?}");
            }
            assert_eq!(lens.ray([f64::NAN, 0.0]), None);
            assert_eq!(lens.ray([0.0, f64::INFINITY]), None);
            assert!(!wide.reaches([f64::NAN, 0.0]));
            assert_eq!(lens.ray([0.0; 2]), Some([0.0, 0.0, 1.0]));
        }
    }
}
