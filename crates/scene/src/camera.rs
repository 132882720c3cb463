//! A camera at training resolution, and the intrinsics of a picture.

use super::Fisheye;

/// Focal lengths and principal point in pixels of a picture, COLMAP's convention (first pixel centre at 0.5).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Intrinsics {
    /// Horizontal focal length.
    pub fx: f64,
    /// Vertical focal length.
    pub fy: f64,
    /// Horizontal principal point.
    pub cx: f64,
    /// Vertical principal point.
    pub cy: f64,
}

/// World-to-camera pose and intrinsics of one view.
///
/// Camera axes are x right, y down, z forward (COLMAP). `cx`, `cy` follow COLMAP too: the centre of the top-left
/// pixel is (0.5, 0.5). Kernels put pixel centres on integers, so they subtract one half.
#[derive(Clone, Debug, PartialEq)]
pub struct Camera {
    /// Image width at training resolution, pixels.
    pub width_px: u32,
    /// Image height at training resolution, pixels.
    pub height_px: u32,
    /// Focal lengths, pixels at training resolution.
    pub fx: f32,
    /// See `fx`.
    pub fy: f32,
    /// Principal point, pixels at training resolution.
    pub cx: f32,
    /// See `cx`.
    pub cy: f32,
    /// Rotation world to camera, row-major.
    pub rotation: [[f32; 3]; 3],
    /// Translation world to camera.
    pub translation: [f32; 3],
    /// The lens that the photo is trained through as it is; `None` for a pinhole.
    pub lens: Option<Fisheye>,
}

impl Camera {
    /// Camera centre in world space: `-R^T t`.
    #[must_use]
    pub fn position(&self) -> [f32; 3] {
        let (r, t) = (&self.rotation, &self.translation);
        std::array::from_fn(|i| -(r[0][i] * t[0] + r[1][i] * t[1] + r[2][i] * t[2]))
    }

    /// A point of the world in camera axes, world units.
    #[must_use]
    pub fn in_axes(&self, position: [f32; 3]) -> [f32; 3] {
        std::array::from_fn(|row| {
            let turned: f32 = (0..3).map(|axis| self.rotation[row][axis] * position[axis]).sum();
            turned + self.translation[row]
        })
    }

    /// Where a point of the world is in the picture: column and row in pixels (see `cx`) and depth in world units, above 0. For a
    /// pinhole the depth is that along the optical axis; through a lens, which may see points beside and behind the camera, it is the
    /// distance from the camera's centre. `None` for points beside the picture, behind a pinhole, and beyond a lens' reach.
    #[must_use]
    pub fn sees(&self, position: [f32; 3]) -> Option<[f32; 3]> {
        let [x, y, z] = self.in_axes(position);
        let (px, py, depth) = match &self.lens {
            None if z.is_nan() || z <= 0.0 => return None,
            None => (self.fx * x / z + self.cx, self.fy * y / z + self.cy, z),
            Some(lens) => {
                let across = x * x + y * y;
                let distance = (across + z * z).sqrt();
                // A sum that is no number compares with nothing.
                if !(distance > 0.0 && across.sqrt().atan2(z) <= lens.reach) {
                    return None;
                }
                let [u, v] = lens.place([x, y, z]);
                (self.fx * u + self.cx, self.fy * v + self.cy, distance)
            }
        };
        let (width, height) = (self.width_px as f32, self.height_px as f32);
        ((0.0..width).contains(&px) && (0.0..height).contains(&py)).then_some([px, py, depth])
    }

    /// The ray that arrives at a place in the picture, column and row in pixels (see `cx`), in camera axes: as far as depth 1 along
    /// the optical axis for a pinhole, of length 1 through a lens, so that times a depth of [`Camera::sees`] it leads to the point.
    /// `None` where no ray within the lens' reach arrives.
    #[must_use]
    pub fn ray(&self, [x, y]: [f32; 2]) -> Option<[f32; 3]> {
        let place = [(x - self.cx) / self.fx, (y - self.cy) / self.fy];
        match &self.lens {
            None => Some([place[0], place[1], 1.0]),
            Some(lens) => lens.ray(place.map(f64::from)).map(|ray| ray.map(|value| value as f32)),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    /// At (0, 0, -1) without a turn, equidistant, 200 degrees wide.
    fn fisheye() -> Camera {
        let reach = 100.0_f32.to_radians();
        Camera {
            width_px: 200,
            height_px: 160,
            fx: 100.0 / reach,
            fy: 100.0 / reach,
            cx: 100.0,
            cy: 80.0,
            rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            translation: [0.0, 0.0, 1.0],
            lens: Some(Fisheye {
                radial: [0.0; 4],
                tangential: [0.0; 2],
                prism: [0.0; 2],
                reach,
            }),
        }
    }

    #[test]
    fn a_fisheye_sees_beside_and_behind_itself() {
        let camera = fisheye();
        let at = |degrees: f32| {
            [
                2.0 * degrees.to_radians().sin(),
                0.0,
                2.0 * degrees.to_radians().cos() - 1.0,
            ]
        };
        for degrees in [0.0, 40.0, 89.9, 90.0, 95.0, 99.5, -99.5] {
            let [x, y, distance] = camera.sees(at(degrees)).unwrap();
            assert!(
                (x - (100.0 + degrees)).abs() < 1e-3 && (y - 80.0).abs() < 1e-3,
                "{degrees}: {x} {y}"
            );
            assert!((distance - 2.0).abs() < 1e-5, "{degrees}: {distance}");
        }
        // Beyond its reach, above the picture, at its centre, and no number.
        for place in [
            at(100.5),
            at(180.0),
            [0.0, -2.0, -1.0],
            [0.0, 0.0, -1.0],
            [f32::NAN, 0.0, 1.0],
        ] {
            assert_eq!(camera.sees(place), None, "{place:?}");
        }
        let pinhole = Camera { lens: None, ..camera };
        assert_eq!(pinhole.sees(at(95.0)), None);
        assert_eq!(
            pinhole.sees([0.5, 0.0, 1.0]),
            Some([pinhole.fx * 0.5 / 2.0 + 100.0, 80.0, 2.0])
        );
    }

    #[test]
    fn rays_lead_back_to_what_is_seen() {
        let camera = fisheye();
        let pinhole = Camera {
            lens: None,
            ..camera.clone()
        };
        for place in [[0.3, -0.2, 0.5], [1.5, 0.4, -1.1], [-0.7, 0.2, -0.9], [0.0, 0.0, 3.0]] {
            for camera in [&camera, &pinhole] {
                let Some([x, y, depth]) = camera.sees(place) else {
                    continue;
                };
                let ray = camera.ray([x, y]).unwrap();
                let back: [f32; 3] = std::array::from_fn(|axis| ray[axis] * depth);
                let there = camera.in_axes(place);
                assert!(
                    (0..3).all(|k| (back[k] - there[k]).abs() < 1e-4),
                    "{place:?}: {back:?} {there:?}"
                );
            }
        }
        assert_eq!(camera.ray([0.0, 0.0]), None, "the corner is 128 degrees off the axis");
        assert_eq!(pinhole.ray([100.0, 80.0]), Some([0.0, 0.0, 1.0]));
    }
}
