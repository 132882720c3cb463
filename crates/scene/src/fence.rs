//! Links must not lead out of a data set.
//!
//! A data set from elsewhere may hold links to any place of this machine. Files are read only where they really lie
//! inside the data set's folder, inside an image folder that the user named, behind a folder that is itself a link
//! directly in the data set (`images`, `sparse`, `sparse/0`: the owner of the folder chose what it leads to), or in the
//! store that a mirror of data sets keeps its files in. Any other place needs `dataset.follow_links`.

use std::path::{Path, PathBuf};

use super::SceneError;

/// Most entries of a folder that are looked at for links.
const MOST_ENTRIES: usize = 10_000;

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
        let mut inside = kiln_files::stores_of(&canonical);
        inside.extend(linked_folders(&canonical));
        inside.extend(linked_folders(&canonical.join(super::formats::colmap::SPARSE)));
        inside.push(canonical);
        Ok(Self { inside: Some(inside) })
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

/// Where the folders lie that are links in `folder`.
fn linked_folders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .take(MOST_ENTRIES)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()))
        .filter_map(|entry| entry.path().canonicalize().ok())
        .filter(|target| target.is_dir())
        .collect()
}
