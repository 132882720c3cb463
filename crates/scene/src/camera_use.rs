//! Cameras as a data set has them.

/// A camera and how many images it took.
#[derive(Clone, Debug, PartialEq)]
pub struct CameraUse {
    /// The camera model's name.
    pub model: &'static str,
    /// Width and height of its image files, upright, pixels.
    pub file_px: (u32, u32),
    /// Width and height after undistortion, pixels.
    pub source_px: (u32, u32),
    /// Images.
    pub images: usize,
    /// Share of a file's area that undistortion loses, 0 to 1; `None` for cameras without distortion and fisheyes that stay as they are.
    pub lost: Option<f64>,
    /// A fisheye.
    pub is_fisheye: bool,
}

impl CameraUse {
    /// True for a fisheye whose images stay as they are.
    #[must_use]
    pub const fn is_kept(&self) -> bool {
        self.is_fisheye && self.lost.is_none()
    }
}
