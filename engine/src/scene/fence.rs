//! Links must not lead out of a data set.
//!
//! A data set from elsewhere may hold links to any place of this machine. Files are read only where they really lie
//! inside the data set's folder, or inside an image folder that the user named, unless `dataset.follow_links` says
//! otherwise.

use std::path::{Path, PathBuf};

use super::SceneError;

/// Where files may really lie.
#[derive(Clone, Debug)]
pub(super) struct Fence {
    /// Canonical folders; `None` lets everything pass.
    inside: Option<Vec<PathBuf>>,
}

impl Fence {
    /// A fence that lets everything pass.
    pub(super) const fn open() -> Self {
        Self { inside: None }
    }

    /// A fence around a folder.
    pub(super) fn around(folder: &Path) -> Result<Self, SceneError> {
        let canonical = folder.canonicalize();
        let canonical = canonical.map_err(|e| SceneError::io(folder, "open the data set", e))?;
        Ok(Self {
            inside: Some(vec![canonical]),
        })
    }

    /// Lets a further folder pass, wherever it lies; one that does not exist changes nothing.
    pub(super) fn allow(&mut self, folder: &Path) {
        if let (Some(inside), Ok(canonical)) = (&mut self.inside, folder.canonicalize()) {
            inside.push(canonical);
        }
    }

    /// Refuses an existing file that really lies outside.
    pub(super) fn check(&self, path: &Path) -> Result<(), SceneError> {
        let Some(inside) = &self.inside else {
            return Ok(());
        };
        // what is not there is somebody else's error
        let Ok(target) = path.canonicalize() else {
            return Ok(());
        };
        if inside.iter().any(|folder| target.starts_with(folder)) {
            return Ok(());
        }
        Err(SceneError::LinkOut {
            path: path.to_owned(),
            target,
        })
    }
}
