//! Lenses of made-up photos: a pinhole, and an equidistant fisheye.

/// How a photo is taken. The optical axis goes through its middle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Optics {
    pub(super) is_fisheye: bool,
    /// Pixels, a radian on the axis.
    pub(super) focal: f64,
    pub(super) size_px: [u32; 2],
}

impl Optics {
    pub(super) const fn pinhole(focal: f64, size_px: [u32; 2]) -> Self {
        Self {
            is_fisheye: false,
            focal,
            size_px,
        }
    }

    /// A fisheye whose photos of `size_px` are `degrees` wide.
    pub(super) fn fisheye(degrees: u32, size_px: [u32; 2]) -> Self {
        Self {
            is_fisheye: true,
            focal: f64::from(size_px[0]) / f64::from(degrees).to_radians(),
            size_px,
        }
    }

    /// The pinhole of the same focal length whose photo is the largest rectangle that a fisheye's fills.
    pub(super) fn flattened(self) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "some times the sides, for angles below a right one"
        )]
        let side = |side: u32| {
            let half = (0.5 * f64::from(side - 1) / self.focal).tan() * self.focal;
            (2.0 * half + 1.0).floor() as u32
        };
        Self::pinhole(self.focal, self.size_px.map(side))
    }

    /// Where the ray through a place of the photo, pixels from its upper left corner, goes in the camera's axes.
    pub(super) fn ray(&self, [x, y]: [f64; 2]) -> [f64; 3] {
        let [width, height] = self.size_px.map(f64::from);
        let [u, v] = [(x - 0.5 * width) / self.focal, (y - 0.5 * height) / self.focal];
        if !self.is_fisheye {
            return [u, v, 1.0];
        }
        let angle = u.hypot(v);
        let share = if angle > 0.0 { angle.sin() / angle } else { 1.0 };
        [share * u, share * v, angle.cos()]
    }

    /// COLMAP's number of the model, and its parameters.
    pub(super) fn colmap(&self) -> (u32, Vec<f64>) {
        let [cx, cy] = self.size_px.map(|side| 0.5 * f64::from(side));
        let mut values = vec![self.focal, self.focal, cx, cy];
        if !self.is_fisheye {
            return (1, values);
        }
        values.extend([0.0; 4]);
        (5, values)
    }
}
