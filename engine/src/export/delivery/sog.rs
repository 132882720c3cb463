//! SOG: Gaussians in lossless WebP images, in an archive; [`kiln_formats::sog`] owns the layout.

use std::path::Path;

use kiln_formats::Error;
use kiln_formats::sog::{Splats, write_archive};

use super::super::{AtomicFile, ExportError, PlyComments, RenderMode};
use super::{Chosen, DeliveryError};

/// Writes the Gaussians in the order they are in.
pub(super) fn write(path: &Path, chosen: &Chosen<'_>, comments: PlyComments) -> Result<(), DeliveryError> {
    let mut file = AtomicFile::create(path)?;
    let antialiased = comments.render_mode == Some(RenderMode::Mip);
    write_archive(chosen, antialiased, &mut file).map_err(|error| named(path, error))?;
    Ok(file.commit()?)
}

/// An error of a file.
pub(super) fn named(path: &Path, error: Error) -> DeliveryError {
    match error {
        Error::Stopped => DeliveryError::Stopped,
        Error::Io(source) => ExportError::new(path, source).into(),
        other => DeliveryError::Sog {
            path: path.to_owned(),
            what: other.to_string(),
        },
    }
}

impl Splats for Chosen<'_> {
    fn len(&self) -> usize {
        Chosen::len(self)
    }
    fn sh_degree(&self) -> u32 {
        Chosen::sh_degree(self)
    }
    fn mean(&self, index: usize) -> [f32; 3] {
        Chosen::mean(self, index)
    }
    fn quat(&self, index: usize) -> [f32; 4] {
        Chosen::quat(self, index)
    }
    fn log_scales(&self, index: usize) -> [f32; 3] {
        self.fused(index).log_scales
    }
    fn opacity(&self, index: usize) -> f32 {
        Chosen::opacity(self, index)
    }
    fn sh0(&self, index: usize) -> [f32; 3] {
        Chosen::sh0(self, index)
    }
    fn rest(&self, index: usize) -> &[f32] {
        self.sh_rest(index)
    }
    fn is_wanted(&self) -> bool {
        !self.stop().is_asked()
    }
}
