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

    /// Where a point of the world is in the picture: column and row in pixels (see `cx`) and depth in world units, above 0.
    /// `None` for points behind the camera and beside the picture.
    #[must_use]
    pub fn sees(&self, position: [f32; 3]) -> Option<[f32; 3]> {
        let [x, y, z]: [f32; 3] = std::array::from_fn(|row| {
            let turned: f32 = (0..3).map(|axis| self.rotation[row][axis] * position[axis]).sum();
            turned + self.translation[row]
        });
        if z.is_nan() || z <= 0.0 {
            return None;
        }
        let (px, py) = (self.fx * x / z + self.cx, self.fy * y / z + self.cy);
        let (width, height) = (self.width_px as f32, self.height_px as f32);
        ((0.0..width).contains(&px) && (0.0..height).contains(&py)).then_some([px, py, z])
    }
}
