//! A square of texels for every two triangles.

use crate::{Error, Mesh};

/// Smallest side of a square at which its triangles have an inside.
const LEAST_SQUARE: u32 = 5;

/// What [`grid`] made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grid {
    /// Texels along the picture's side.
    pub size: u32,
    /// Squares along it.
    pub squares: u32,
    /// Texels along a square's side.
    pub square: u32,
}

/// Gives triangles 2 i and 2 i + 1 the i-th square of `square` x `square` texels, row by row, with corners drawn in so that
/// neither touches the other or a neighbouring square (the layout of SuGaR, Guedon and Lepetit 2024).
///
/// # Errors
/// [`Error::Setting`] for squares below 5 texels; [`Error::TooMany`] when the picture would pass 2^24 texels a side, beyond
/// which texels have no coordinates.
pub fn grid(mesh: Mesh, square: u32) -> Result<(Mesh, Grid), Error> {
    if square < LEAST_SQUARE {
        return Err(Error::setting("texture square", square, "at least 5"));
    }
    let count = mesh.triangles.len();
    let squares = ((count as f64 / 2.0 + 1.0).sqrt() + 1.0) as u32;
    let texels = u64::from(squares) * u64::from(square);
    let most = 1 << 24;
    if texels > most {
        return Err(Error::TooMany {
            what: "texels a side",
            found: texels,
            most,
            hint: "lower the texture square, or decimate the mesh",
        });
    }
    let layout = Grid {
        size: texels as u32,
        squares,
        square,
    };
    let uvs = (0..count as u32).map(|triangle| layout.corners(triangle)).collect();
    Ok((mesh.with_uvs(uvs)?, layout))
}

impl Grid {
    fn corners(&self, triangle: u32) -> [[f32; 2]; 3] {
        let q = self.square;
        let place = triangle / 2;
        let (u, v) = (place % self.squares * q, place / self.squares * q);
        let texels = match triangle.is_multiple_of(2) {
            true => [[q - 2, 1], [2, 1], [q - 2, q - 3]],
            false => [[1, q - 1], [1, 3], [q - 3, q - 1]],
        };
        let share = |texel: u32| (f64::from(texel) / f64::from(self.size)) as f32;
        texels.map(|[x, y]| [share(u + x), share(v + y)])
    }
}
