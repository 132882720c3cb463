//! One writer to a folder.

use std::fs::{self, File};
use std::path::Path;

use super::ProjectError;
use crate::export::make_folder;

/// A folder that no other process of Kiln writes to while this is held.
#[derive(Debug)]
pub struct FolderLock(#[expect(dead_code, reason = "held for its lock")] Option<File>);

impl FolderLock {
    /// Makes the folder where it is missing, and locks it.
    ///
    /// # Errors
    /// [`ProjectError::Busy`] when another process holds it, [`ProjectError::Write`] when it cannot be made.
    pub fn take(folder: &Path) -> Result<Self, ProjectError> {
        make_folder(folder)?;
        Self::of(folder)
    }

    #[cfg(unix)]
    fn of(folder: &Path) -> Result<Self, ProjectError> {
        // Some network file systems have no locks; work there is no worse than without them.
        let Ok(file) = File::open(folder) else {
            return Ok(Self(None));
        };
        match file.try_lock() {
            Ok(()) => Ok(Self(Some(file))),
            Err(fs::TryLockError::WouldBlock) => Err(ProjectError::Busy {
                path: folder.to_owned(),
            }),
            Err(fs::TryLockError::Error(_)) => Ok(Self(None)),
        }
    }

    /// Folders cannot be opened elsewhere.
    #[cfg(not(unix))]
    fn of(_folder: &Path) -> Result<Self, ProjectError> {
        Ok(Self(None))
    }
}
