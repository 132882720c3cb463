//! One writer to a folder.

use std::fs::{self, File};
use std::path::Path;

use super::ProjectError;
use crate::export::make_folder;
use crate::record::run_folder::try_for_a_moment;

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

    /// Locks a folder that is there, after whoever holds it.
    #[must_use]
    pub(super) fn wait(folder: &Path) -> Self {
        let file = File::open(folder).ok().filter(|_| cfg!(unix));
        // Without locks, work is no worse than before them.
        Self(file.filter(|file| file.lock().is_ok()))
    }

    /// Locks a folder that is there for one of many, against those that want it alone; a folder that is not there has no lock.
    ///
    /// # Errors
    /// [`ProjectError::Busy`] when another process holds it alone.
    pub fn share(folder: &Path) -> Result<Self, ProjectError> {
        let Some(file) = File::open(folder).ok().filter(|_| cfg!(unix)) else {
            return Ok(Self(None));
        };
        match try_for_a_moment(|| file.try_lock_shared()) {
            Ok(()) => Ok(Self(Some(file))),
            Err(fs::TryLockError::WouldBlock) => Err(ProjectError::Busy {
                path: folder.to_owned(),
            }),
            Err(fs::TryLockError::Error(_)) => Ok(Self(None)),
        }
    }

    #[cfg(unix)]
    pub(super) fn of(folder: &Path) -> Result<Self, ProjectError> {
        // Some network file systems have no locks; work there is no worse than without them.
        let Ok(file) = File::open(folder) else {
            return Ok(Self(None));
        };
        match try_for_a_moment(|| file.try_lock()) {
            Ok(()) => Ok(Self(Some(file))),
            Err(fs::TryLockError::WouldBlock) => Err(ProjectError::Busy {
                path: folder.to_owned(),
            }),
            Err(fs::TryLockError::Error(_)) => Ok(Self(None)),
        }
    }

    /// Folders cannot be opened elsewhere.
    #[cfg(not(unix))]
    pub(super) fn of(_folder: &Path) -> Result<Self, ProjectError> {
        Ok(Self(None))
    }
}
