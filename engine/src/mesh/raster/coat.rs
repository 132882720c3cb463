//! What a mesh looks like: colours of vertices, by direction or not, a picture over it, or nothing.

use kiln_mesh::Mesh;

use super::Harmonics;
use kiln_kernels::mesh_shade::Look;

/// A square picture that texture coordinates point into: RGB, row by row from the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Texture {
    side: u32,
    rgb: Vec<u8>,
}

/// A picture that is no texture.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a texture of {width} x {height} texels with {bytes} bytes of RGB; it has to be square, at most 65536 a side")]
pub struct TextureError {
    /// Texels along its width.
    pub width: u32,
    /// Texels along its height.
    pub height: u32,
    /// Bytes given.
    pub bytes: usize,
}

impl Texture {
    /// A texture of `side` x `side` texels, three bytes each.
    ///
    /// # Errors
    /// [`TextureError`] for another number of bytes, none, or more than 65536 texels a side.
    pub fn new(side: u32, rgb: Vec<u8>) -> Result<Self, TextureError> {
        let wanted = 3 * u64::from(side) * u64::from(side);
        match (1..=1 << 16).contains(&side) && rgb.len() as u64 == wanted {
            true => Ok(Self { side, rgb }),
            false => Err(TextureError {
                width: side,
                height: side,
                bytes: rgb.len(),
            }),
        }
    }

    /// A picture as a square texture: one that is not square is repeated along no side but stretched to its longer one, texel
    /// by texel, which coordinates in shares of the sides do not notice beyond the blur between texels.
    ///
    /// # Errors
    /// See [`Texture::new`].
    pub fn of_picture([width, height]: [u32; 2], rgb: &[u8]) -> Result<Self, TextureError> {
        let wrong = || TextureError {
            width,
            height,
            bytes: rgb.len(),
        };
        if width == 0 || height == 0 || rgb.len() as u64 != 3 * u64::from(width) * u64::from(height) {
            return Err(wrong());
        }
        let side = width.max(height);
        if side > 1 << 16 {
            return Err(wrong());
        }
        if width == height {
            return Self::new(side, rgb.to_vec());
        }
        let from = |at: u32, length: u32| (u64::from(at) * u64::from(length) / u64::from(side)) as usize;
        let mut square = Vec::with_capacity(3 * side as usize * side as usize);
        for y in 0..side {
            for x in 0..side {
                let at = 3 * (from(y, height) * width as usize + from(x, width));
                square.extend_from_slice(rgb.get(at..at + 3).unwrap_or_default());
            }
        }
        Self::new(side, square)
    }

    /// Texels along a side.
    #[must_use]
    pub const fn side(&self) -> u32 {
        self.side
    }

    /// RGB, row by row from the top.
    #[must_use]
    pub fn rgb(&self) -> &[u8] {
        &self.rgb
    }
}

/// What a mesh looks like.
#[derive(Clone, Copy, Debug)]
pub enum Coat<'a> {
    /// The colours of its vertices.
    Colors,
    /// The colours of its vertices by direction: those of a view after [`Painter::paint`](super::Painter::paint).
    Harmonics(&'a Harmonics),
    /// A picture.
    Texture(&'a Texture),
    /// Grey, lit from the camera.
    Plain,
}

impl<'a> Coat<'a> {
    /// The best that a mesh has: `texture` where there is one and it has coordinates, else its colours.
    #[must_use]
    pub fn of(mesh: &Mesh, texture: Option<&'a Texture>) -> Self {
        match (texture, mesh.uvs(), mesh.colors()) {
            (Some(texture), Some(_), _) => Self::Texture(texture),
            (_, _, Some(_)) => Self::Colors,
            _ => Self::Plain,
        }
    }

    /// The texture.
    #[must_use]
    pub const fn texture(&self) -> Option<&'a Texture> {
        match self {
            Self::Texture(texture) => Some(texture),
            Self::Colors | Self::Harmonics(_) | Self::Plain => None,
        }
    }

    pub(super) const fn look(&self) -> Look {
        match self {
            Self::Colors | Self::Harmonics(_) => Look::Colors,
            Self::Texture(_) => Look::Texture,
            Self::Plain => Look::Plain,
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn pictures_become_square() {
        let wide = [[1_u8; 3], [2; 3], [3; 3], [4; 3]].concat();
        let texture = Texture::of_picture([4, 1], &wide).unwrap();
        assert_eq!((texture.side(), texture.rgb().len()), (4, 48));
        assert!(texture.rgb().chunks(12).all(|row| row == wide));
        let tall = Texture::of_picture([1, 2], &[7, 7, 7, 9, 9, 9]).unwrap();
        assert_eq!(tall.rgb(), [7, 7, 7, 7, 7, 7, 9, 9, 9, 9, 9, 9]);
        assert!(Texture::of_picture([0, 2], &[]).is_err());
        let error = Texture::of_picture([2, 2], &[0; 11]).unwrap_err();
        assert!(error.to_string().contains("2 x 2 texels with 11 bytes"), "{error}");
    }

    #[test]
    fn a_picture_needs_coordinates() {
        let texture = Texture::new(1, vec![9; 3]).unwrap();
        let corners = vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let mesh = Mesh::new(corners, vec![[0, 1, 2]]).unwrap();
        assert_eq!(Coat::of(&mesh, Some(&texture)).look(), Look::Plain);
        let colored = mesh.clone().with_colors(vec![[0.5; 3]; 3]).unwrap();
        assert_eq!(Coat::of(&colored, Some(&texture)).look(), Look::Colors);
        let mapped = colored.with_uvs(vec![[[0.0; 2]; 3]]).unwrap();
        assert_eq!(Coat::of(&mapped, Some(&texture)).look(), Look::Texture);
        assert_eq!(Coat::of(&mapped, None).look(), Look::Colors);
    }
}
