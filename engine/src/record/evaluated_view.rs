//! An evaluated view: what its pictures are made from, and which there are.

use crate::eval::{Picture, PictureError};
use kiln_scene::{Photo, Split};

/// Pictures of an evaluated view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureKind {
    /// [`Picture::rendering`]
    Render,
    /// [`Picture::error`]
    Error,
    /// [`Picture::density`]
    Density,
    /// [`Picture::density_proxy`]
    DensityProxy,
}

impl PictureKind {
    /// All, in the order they are written.
    pub const ALL: [Self; 4] = [Self::Render, Self::Error, Self::Density, Self::DensityProxy];

    /// The folder's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Render => "render",
            Self::Error => "error",
            Self::Density => "density",
            Self::DensityProxy => "density_proxy",
        }
    }
}

/// A rendered view with its photograph: all that pictures are made from.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluatedView {
    /// Iterations done.
    pub it: u32,
    /// Set of the view.
    pub set: Split,
    /// Name of the view without its extension.
    pub stem: String,
    /// Width and height, pixels.
    pub size_px: [u32; 2],
    /// Colour and transmittance of each pixel.
    pub image: Vec<[f32; 4]>,
    /// The photograph.
    pub photo: Photo,
    /// Gaussians that touch each tile.
    pub tile_counts: Vec<u32>,
}

impl EvaluatedView {
    /// Makes a picture of this view.
    ///
    /// # Errors
    /// [`PictureError`] when the pixels do not fit the view's size.
    pub fn picture(&self, kind: PictureKind) -> Result<Picture, PictureError> {
        let values: &[f32] = bytemuck::cast_slice(&self.image);
        match kind {
            PictureKind::Render => Picture::rendering(self.size_px, values, 4),
            PictureKind::Error => match masked_pair(&self.image, &self.photo) {
                Some((image, photo)) => Picture::error(self.size_px, bytemuck::cast_slice(&image), 4, &photo),
                None => Picture::error(self.size_px, values, 4, &self.photo),
            },
            PictureKind::Density => Picture::density(self.size_px, &self.tile_counts),
            PictureKind::DensityProxy => Picture::density_proxy(self.size_px, values, 4),
        }
    }

    /// The photograph as a picture.
    ///
    /// # Errors
    /// [`PictureError`] when the pixels do not fit the view's size.
    pub fn photograph(&self) -> Result<Picture, PictureError> {
        Picture::photo(self.size_px, &self.photo)
    }
}

/// Rendering and photo as perceptual distance and error see them: black where the photo's mask hides a pixel. `None`
/// without a mask.
pub(crate) fn masked_pair(image: &[[f32; 4]], photo: &Photo) -> Option<(Vec<[f32; 4]>, Vec<u8>)> {
    let mask = photo.mask()?;
    let counts = || mask.iter().map(|value| *value != 0);
    let image = image.iter().zip(counts());
    let image = image.map(|(pixel, counts)| if counts { *pixel } else { [0.0; 4] });
    let photo = photo.chunks_exact(3).zip(counts());
    let photo = photo.flat_map(|(pixel, counts)| pixel.iter().map(move |value| if counts { *value } else { 0 }));
    Some((image.collect(), photo.collect()))
}
