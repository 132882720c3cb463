//! A point of the sparse model, relative to the scene's origin and before that is taken off.

/// A coloured point of the sparse model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// World-space position.
    pub position: [f32; 3],
    /// sRGB colour as stored in the images.
    pub color: [u8; 3],
}

/// A point before the scene's origin is taken off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WidePoint {
    /// World-space position.
    pub position: [f64; 3],
    /// sRGB colour as stored in the images.
    pub color: [u8; 3],
}

impl WidePoint {
    /// The point relative to `origin`.
    #[must_use]
    pub fn from(&self, origin: [f64; 3]) -> Point {
        Point {
            position: std::array::from_fn(|axis| (self.position[axis] - origin[axis]) as f32),
            color: self.color,
        }
    }
}
