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

    /// Centres at a larger angle than this are not drawn, radians.
    #[must_use]
    pub fn drawn(&self) -> R {
        self.reach * R::of(DRAWN)
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
