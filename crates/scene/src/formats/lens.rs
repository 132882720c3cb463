//! Lenses: how a ray in front of a camera becomes a place in its picture, for every camera model that is read.
//!
//! Owns the distortion formulas and their inverse. Coordinates are those of the plane one unit in front of the camera:
//! `(u, v) = (x / z, y / z)`; a lens moves them to `(u', v')` and the picture has that point at
//! `(fx u' + cx, fy v' + cy)`. Formulas: Brown 1966 for radial and tangential terms with the rational extension of
//! Claus and Fitzgibbon 2005; Kannala and Brandt 2006 for fisheyes; Devernay and Faugeras 2001 for FOV; Weng et al.
//! 1992 for thin prisms. Parameter order and pixel convention are COLMAP's: the first pixel's centre is at 0.5.

/// A projection, in the terms of the file it came from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lens {
    /// The model's name, as the file or its format spells it.
    pub(crate) model: &'static str,
    /// Size of the pictures that lengths in pixels belong to; `None` when the file does not say.
    pub(crate) size: Option<[u64; 2]>,
    /// Focal lengths.
    pub(crate) focal: Focal,
    /// Principal point in pixels; `None` is the picture's centre.
    pub(crate) centre: Option<[f64; 2]>,
    /// How it bends straight lines.
    pub(crate) distortion: Distortion,
}

/// Focal lengths of a lens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Focal {
    /// Horizontal and vertical, pixels.
    Pixels([f64; 2]),
    /// Square pixels and a horizontal field of view in radians.
    AngleX(f64),
}

/// What a lens does to straight lines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Distortion {
    /// Nothing.
    None,
    /// `u' = u N(r^2) / D(r^2) + 2 p1 u v + p2 (r^2 + 2 u^2)`, and `v'` with `u`, `v` and `p1`, `p2` exchanged.
    Polynomial {
        /// Coefficients of `r^2, r^4, r^6, r^8` in N, which starts with 1.
        above: [f64; 4],
        /// Coefficients of `r^2, r^4, r^6` in D, which starts with 1.
        below: [f64; 3],
        /// `p1, p2`
        tangential: [f64; 2],
    },
    /// The direction becomes its angle, `(u, v) theta / r` with `r = tan theta`, and is then moved as a polynomial lens
    /// moves it, with the thin prism terms `s1 theta^2` and `s2 theta^2`.
    Fisheye {
        /// Coefficients of `theta^2, theta^4, theta^6, theta^8`.
        radial: [f64; 4],
        /// `p1, p2`
        tangential: [f64; 2],
        /// `s1, s2`
        prism: [f64; 2],
    },
    /// `r' = atan(2 r tan(omega / 2)) / omega`.
    Fov {
        /// The lens' field of view parameter, radians.
        omega: f64,
    },
}

/// Largest length in pixels that is not nonsense; it stays finite at any training resolution.
const MAX_LENGTH_PX: f64 = 1e9;
/// Largest coefficient that is not nonsense.
const MAX_COEFFICIENT: f64 = 1e9;
/// Largest angle from the optical axis that is looked at: a pinhole picture of more is mostly corner.
const MAX_ANGLE_DEGREES: f64 = 89.0;
/// Steps in which that angle is searched for the place where a lens folds back.
const FOLD_STEPS: u32 = 1780;
/// Halvings that find a radius.
const HALVINGS: u32 = 48;
/// Newton steps that take tangential terms into account.
const NEWTON_STEPS: u32 = 12;
/// How close the inverse comes, in units of the focal length.
const CLOSE: f64 = 1e-9;

impl Lens {
    /// False when a length or a coefficient cannot be one.
    pub(crate) fn is_sane(&self) -> bool {
        let length = |value: &f64| value.abs() <= MAX_LENGTH_PX;
        let focal = match self.focal {
            Focal::Pixels(focal) => focal.iter().all(|f| *f > 0.0 && length(f)),
            Focal::AngleX(angle) => angle > 1e-4 && angle < std::f64::consts::PI - 1e-4,
        };
        let all = |values: &[f64]| values.iter().all(|value| value.abs() <= MAX_COEFFICIENT);
        let distortion = match self.distortion {
            Distortion::None => true,
            Distortion::Polynomial {
                above,
                below,
                tangential,
            } => all(&above) && all(&below) && all(&tangential),
            Distortion::Fisheye {
                radial,
                tangential,
                prism,
            } => all(&radial) && all(&tangential) && all(&prism),
            Distortion::Fov { omega } => omega > 0.0 && omega < std::f64::consts::PI,
        };
        focal && self.centre.iter().flatten().all(length) && distortion
    }
}

impl Distortion {
    /// A radial and tangential lens; without any coefficient it is none.
    pub(crate) fn polynomial(above: [f64; 4], below: [f64; 3], tangential: [f64; 2]) -> Self {
        let zero = |values: &[f64]| values.iter().all(|&value| value == 0.0);
        if zero(&above) && zero(&below) && zero(&tangential) {
            return Self::None;
        }
        Self::Polynomial {
            above,
            below,
            tangential,
        }
    }

    /// Where the lens moves a point of the plane.
    pub(crate) fn apply(&self, [u, v]: [f64; 2]) -> [f64; 2] {
        match *self {
            Self::None => [u, v],
            Self::Polynomial {
                above,
                below,
                tangential,
            } => {
                let r2 = u * u + v * v;
                let radial = series(&above, r2) / series(&below, r2);
                let [du, dv] = sideways(u, v, tangential);
                [u * radial + du, v * radial + dv]
            }
            Self::Fisheye {
                radial,
                tangential,
                prism,
            } => {
                let r = u.hypot(v);
                let turn = if r > 0.0 { r.atan() / r } else { 1.0 };
                let (u, v) = (u * turn, v * turn);
                let theta2 = u * u + v * v;
                let scale = series(&radial, theta2);
                let [du, dv] = sideways(u, v, tangential);
                [u * scale + du + prism[0] * theta2, v * scale + dv + prism[1] * theta2]
            }
            Self::Fov { omega } => {
                let r = u.hypot(v);
                let widening = 2.0 * (0.5 * omega).tan();
                let scale = if r > 0.0 {
                    (r * widening).atan() / (r * omega)
                } else {
                    widening / omega
                };
                [u * scale, v * scale]
            }
        }
    }

    /// The radius up to which pictures grow outwards: beyond it the formula folds back over itself, and what it says
    /// there has nothing to do with the lens.
    pub(crate) fn fold(&self) -> f64 {
        let radius = |step: u32| {
            let angle = MAX_ANGLE_DEGREES * f64::from(step) / f64::from(FOLD_STEPS);
            angle.to_radians().tan()
        };
        let mut reached = 0.0;
        for step in 1..=FOLD_STEPS {
            let next = self.radius(radius(step));
            if next.is_nan() || next <= reached {
                return radius(step - 1);
            }
            reached = next;
        }
        radius(FOLD_STEPS)
    }

    /// The point that the lens moves to `target`, if one within the radius `fold` is.
    pub(crate) fn invert(&self, target: [f64; 2], fold: f64) -> Option<[f64; 2]> {
        let wanted = target[0].hypot(target[1]);
        if wanted == 0.0 || *self == Self::None {
            return Some(target);
        }
        let (mut low, mut high) = (0.0, fold);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if self.radius(middle) < wanted {
                low = middle;
            } else {
                high = middle;
            }
        }
        let mut point = target.map(|value| value / wanted * high);
        for _ in 0..NEWTON_STEPS {
            let at = self.apply(point);
            let miss = [target[0] - at[0], target[1] - at[1]];
            if miss[0].hypot(miss[1]) < CLOSE {
                return (point[0].hypot(point[1]) <= fold).then_some(point);
            }
            let [a, b, c, d] = self.slope(point);
            let det = a * d - b * c;
            if !det.is_normal() {
                return None;
            }
            point[0] += (d * miss[0] - b * miss[1]) / det;
            point[1] += (a * miss[1] - c * miss[0]) / det;
        }
        None
    }

    /// The moved radius of a point at radius `r`, tangential terms left out.
    fn radius(&self, r: f64) -> f64 {
        match *self {
            Self::None => r,
            Self::Polynomial { above, below, .. } => r * series(&above, r * r) / series(&below, r * r),
            Self::Fisheye { radial, .. } => r.atan() * series(&radial, r.atan().powi(2)),
            Self::Fov { .. } => self.apply([r, 0.0])[0],
        }
    }

    /// Derivatives `du'/du, du'/dv, dv'/du, dv'/dv` by central differences.
    fn slope(&self, [u, v]: [f64; 2]) -> [f64; 4] {
        let h = 1e-6 * (1.0 + u.hypot(v));
        let (right, left) = (self.apply([u + h, v]), self.apply([u - h, v]));
        let (down, up) = (self.apply([u, v + h]), self.apply([u, v - h]));
        let slope = |a: f64, b: f64| (a - b) / (2.0 * h);
        [
            slope(right[0], left[0]),
            slope(down[0], up[0]),
            slope(right[1], left[1]),
            slope(down[1], up[1]),
        ]
    }
}

/// `1 + c0 x + c1 x^2 + ...`
fn series(coefficients: &[f64], x: f64) -> f64 {
    1.0 + coefficients.iter().rev().fold(0.0, |sum, c| (sum + c) * x)
}

/// The tangential terms.
fn sideways(u: f64, v: f64, [p1, p2]: [f64; 2]) -> [f64; 2] {
    let (r2, uv) = (u * u + v * v, 2.0 * u * v);
    [p1 * uv + p2 * (r2 + 2.0 * u * u), p2 * uv + p1 * (r2 + 2.0 * v * v)]
}

/// Camera models with names, by COLMAP's numbers.
pub(crate) const MODELS: [&str; 18] = [
    "SIMPLE_PINHOLE",
    "PINHOLE",
    "SIMPLE_RADIAL",
    "RADIAL",
    "OPENCV",
    "OPENCV_FISHEYE",
    "FULL_OPENCV",
    "FOV",
    "SIMPLE_RADIAL_FISHEYE",
    "RADIAL_FISHEYE",
    "THIN_PRISM_FISHEYE",
    "RAD_TAN_THIN_PRISM_FISHEYE",
    "SIMPLE_DIVISION",
    "DIVISION",
    "SIMPLE_FISHEYE",
    "FISHEYE",
    "EUCM",
    "EQUIRECTANGULAR",
];

/// A camera model's name as a constant, and how many parameters it has; `None` for a name that is not known.
pub(crate) fn model(name: &str) -> Option<(&'static str, usize)> {
    let counts = [3, 4, 4, 5, 8, 8, 12, 5, 4, 5, 12, 16, 4, 5, 3, 4, 6, 2];
    let known = MODELS.into_iter().zip(counts);
    known.into_iter().find(|(known, _)| *known == name)
}

/// True for a COLMAP camera whose distortion is among those of [`Distortion`]: some models are only where what they add is zero.
pub(crate) fn is_computed(model: &str, k: &[f64]) -> bool {
    let zero = |from: usize| k.iter().skip(from).all(|value| *value == 0.0);
    match model {
        "RAD_TAN_THIN_PRISM_FISHEYE" => zero(4),
        "SIMPLE_DIVISION" | "DIVISION" => zero(0),
        // Its first parameter blends from a pinhole to a sphere, of which the second is a property.
        "EUCM" => k.first() == Some(&0.0),
        "EQUIRECTANGULAR" => false,
        _ => true,
    }
}

/// Why photos through a camera of this model are not read, and what to do.
pub(crate) fn not_read(model: &str) -> String {
    let undistort = "undistort the images first: `colmap image_undistorter --image_path images --input_path sparse/0 --output_path \
                     undistorted` writes a data set of pinholes";
    let known = MODELS.contains(&model);
    match model {
        "EQUIRECTANGULAR" => {
            "of panoramas; cut perspective pictures with poses of their own out of them first, as COLMAP's example \
                              panorama_sfm does"
                .to_owned()
        }
        _ if known => format!("whose distortion is not computed; {undistort}"),
        _ => {
            let read: Vec<&str> = MODELS
                .into_iter()
                .filter(|model| is_computed(model, &[1.0; 12]))
                .collect();
            format!("which is not known; known are {}; {undistort}", read.join(", "))
        }
    }
}

/// Distortion of a COLMAP camera from what follows its principal point in the file. Coefficients that are missing count
/// as 0.
pub(crate) fn distortion(model: &str, k: &[f64]) -> Distortion {
    let k = |index: usize| k.get(index).copied().unwrap_or(0.0);
    let fisheye = |radial, tangential, prism| Distortion::Fisheye {
        radial,
        tangential,
        prism,
    };
    match model {
        "SIMPLE_RADIAL" | "RADIAL" => Distortion::polynomial([k(0), k(1), 0.0, 0.0], [0.0; 3], [0.0; 2]),
        "OPENCV" | "FULL_OPENCV" => Distortion::polynomial([k(0), k(1), k(4), 0.0], [k(5), k(6), k(7)], [k(2), k(3)]),
        "FOV" if k(0) == 0.0 => Distortion::None,
        "FOV" => Distortion::Fov { omega: k(0) },
        "OPENCV_FISHEYE" | "RAD_TAN_THIN_PRISM_FISHEYE" => fisheye([k(0), k(1), k(2), k(3)], [0.0; 2], [0.0; 2]),
        "SIMPLE_FISHEYE" | "FISHEYE" => fisheye([0.0; 4], [0.0; 2], [0.0; 2]),
        "SIMPLE_RADIAL_FISHEYE" | "RADIAL_FISHEYE" => fisheye([k(0), k(1), 0.0, 0.0], [0.0; 2], [0.0; 2]),
        "THIN_PRISM_FISHEYE" => fisheye([k(0), k(1), k(4), k(5)], [k(2), k(3)], [k(6), k(7)]),
        _ => Distortion::None,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn the_inverse_undoes_every_lens() {
        let lenses = [
            ("SIMPLE_RADIAL", &[-0.12][..]),
            ("RADIAL", &[0.08, -0.02]),
            ("OPENCV", &[-0.2, 0.05, 1e-3, -2e-3]),
            ("FULL_OPENCV", &[0.1, 0.02, 1e-3, -5e-4, 0.01, 0.2, 0.05, 0.02]),
            ("FOV", &[0.9]),
            ("OPENCV_FISHEYE", &[0.03, -0.01, 0.002, -0.0005]),
            ("SIMPLE_RADIAL_FISHEYE", &[0.05]),
            ("RADIAL_FISHEYE", &[-0.03, 0.01]),
            (
                "THIN_PRISM_FISHEYE",
                &[0.02, -0.01, 1e-3, 2e-3, 0.004, -0.001, 1e-3, -1e-3],
            ),
        ];
        for (name, k) in lenses {
            let lens = distortion(name, k);
            let fold = lens.fold();
            for n in 0..200 {
                let angle = f64::from(n) * 0.7;
                let point = [angle.cos(), angle.sin()].map(|x| x * f64::from(n) * 0.005);
                let back = lens.invert(lens.apply(point), fold).unwrap();
                assert!(
                    (back[0] - point[0]).hypot(back[1] - point[1]) < 1e-7,
                    "{name}: {point:?} came back as {back:?}"
                );
            }
        }
    }

    #[test]
    fn a_lens_that_folds_back_has_an_end() {
        // r (1 - 0.3 r^2) is largest at r = 1 / sqrt(0.9), where it is 0.7027
        let lens = distortion("SIMPLE_RADIAL", &[-0.3]);
        let fold = lens.fold();
        assert!((fold - 1.0 / 0.9_f64.sqrt()).abs() < 2e-3, "{fold}");
        assert!(lens.invert([0.70, 0.0], fold).is_some());
        assert!(lens.invert([0.72, 0.0], fold).is_none());
        assert!(distortion("FOV", &[1.0]).fold() > 57.0);
    }

    #[test]
    fn coefficients_of_nothing_are_no_distortion() {
        for name in ["SIMPLE_PINHOLE", "PINHOLE", "SIMPLE_RADIAL", "OPENCV", "FOV"] {
            assert_eq!(distortion(name, &[0.0; 8]), Distortion::None, "{name}");
        }
        // a fisheye without coefficients is still no pinhole
        assert_ne!(distortion("OPENCV_FISHEYE", &[0.0; 4]), Distortion::None);
        assert_eq!(model("FULL_OPENCV"), Some(("FULL_OPENCV", 12)));
        assert_eq!(model("GLASS_BALL"), None);
    }
}
