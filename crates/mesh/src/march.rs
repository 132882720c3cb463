//! Marching cubes: a triangle mesh of the level 0 of a field on a grid.
//!
//! Vertices lie on edges of the grid, one per edge that crosses the level, owned by the edge's lower voxel; so they are
//! shared without a search, and two cells that meet at a face agree about it. Cells with a corner that was not seen give
//! no triangle. Values below 0 are inside; triangles face the outside, where values are 0 or more.

mod bricks;
mod dense;
mod table;

#[cfg(test)]
mod tests;

pub use bricks::{BRICK_VOXELS, Bricks, bricks};
pub use dense::dense;

/// Values at the points of a grid.
pub trait Field {
    /// Points along each axis.
    fn size(&self) -> [u32; 3];

    /// The value at a point, negative inside; `None` where nothing was seen. A value that is not finite counts as none.
    fn value(&self, at: [u32; 3]) -> Option<f32>;
}

/// Where a grid lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// Place of the point (0, 0, 0), scene units.
    pub origin: [f32; 3],
    /// Distance between points, scene units, above 0.
    pub voxel: f32,
}

impl Grid {
    fn check(self) -> Result<(), crate::Error> {
        crate::mesh::finite("origin of the grid", &[self.origin])?;
        match self.voxel > 0.0 && self.voxel.is_finite() {
            true => Ok(()),
            false => Err(crate::Error::setting("voxel", self.voxel, "above 0")),
        }
    }

    /// The place between the point `at` and the next one along `axis` at which values from `a` to `b` are 0.
    fn crossing(self, at: [i64; 3], axis: usize, a: f32, b: f32) -> [f32; 3] {
        let (a, b) = (f64::from(a), f64::from(b));
        let mut place = at.map(|x| x as f64);
        place[axis] += a / (a - b);
        std::array::from_fn(|i| (f64::from(self.origin[i]) + place[i] * f64::from(self.voxel)) as f32)
    }
}

/// A value that counts.
fn seen(value: Option<f32>) -> Option<f32> {
    value.filter(|value| value.is_finite())
}
