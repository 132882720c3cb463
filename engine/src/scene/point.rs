//! A point of the sparse model.

/// A coloured point of the sparse model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// World-space position.
    pub position: [f32; 3],
    /// sRGB colour as stored in the images.
    pub color: [u8; 3],
}
