//! A mesh as the corners of its triangles, as the graphics device takes them.

use crate::math::Vec3;

/// A corner of a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Corner {
    /// World units.
    pub(crate) position: Vec3,
    /// Shares of the picture's width and height from its upper left corner.
    pub(crate) uv: [f32; 2],
    /// As photos are encoded, 0 to 1.
    pub(crate) color: Vec3,
    /// Of length 0 where there is none.
    pub(crate) normal: Vec3,
}

impl Default for Corner {
    fn default() -> Self {
        Self {
            position: [0.0; 3],
            uv: [0.0; 2],
            color: [0.75; 3],
            normal: [0.0; 3],
        }
    }
}

/// Bytes of a corner: position and texture coordinates in 32-bit floats, then colour and normal in 8 bits each.
pub(crate) const CORNER_BYTES: usize = 28;

/// A mesh with what colours it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surface {
    pub(crate) corners: Vec<u8>,
    /// Positions of the corners, three numbers each.
    pub(crate) positions: Vec<f32>,
    pub(crate) has_colors: bool,
    pub(crate) has_uvs: bool,
    /// Bytes of its picture, where the file holds one.
    pub(crate) picture: Option<Vec<u8>>,
    /// The library of materials that lies beside the file, by its name.
    pub(crate) library: Option<String>,
}

impl Surface {
    pub(crate) fn n_triangles(&self) -> u32 {
        (self.corners.len() / (3 * CORNER_BYTES)) as u32
    }

    /// Takes a triangle, unless a corner of it is nowhere.
    pub(crate) fn push(&mut self, triangle: [Corner; 3]) {
        if !triangle.iter().flat_map(|corner| corner.position).all(f32::is_finite) {
            return;
        }
        for corner in triangle {
            self.positions.extend(corner.position);
            let floats = corner.position.into_iter().chain(corner.uv);
            floats.for_each(|value| self.corners.extend(value.to_le_bytes()));
            self.corners
                .extend(corner.color.map(|value| (value * 255.0).round_ties_even() as u8));
            self.corners.push(255);
            self.corners
                .extend(corner.normal.map(|value| (value * 127.0).round_ties_even() as i8 as u8));
            self.corners.push(0);
        }
    }

    /// Takes a polygon as a fan.
    pub(crate) fn push_polygon(&mut self, polygon: &[Corner]) {
        for pair in polygon.windows(2).skip(1) {
            self.push([polygon[0], pair[0], pair[1]]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_have_their_place_colour_and_normal() {
        let mut surface = Surface::default();
        let corner = |x: f32| Corner {
            position: [x, 2.0, 0.0],
            color: [1.0, 0.0, 0.5],
            normal: [0.0, 0.0, -1.0],
            ..Corner::default()
        };
        surface.push_polygon(&[corner(0.0), corner(1.0), corner(2.0), corner(3.0)]);
        assert_eq!((surface.n_triangles(), surface.positions.len()), (2, 18));
        assert_eq!(surface.corners[2 * CORNER_BYTES..][..4], 2.0_f32.to_le_bytes());
        assert_eq!(surface.corners[20..28], [255, 0, 128, 255, 0, 0, 129, 0]);
        surface.push([corner(f32::NAN), corner(0.0), corner(1.0)]);
        assert_eq!(surface.n_triangles(), 2, "nowhere");
    }
}
