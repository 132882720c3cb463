//! One writer to a folder.

use std::path::Path;

use kiln_system::Locked;

use super::ProjectError;
use crate::export::make_folder;

/// A folder that no other process of Kiln writes to while this is held.
#[derive(Debug)]
pub struct FolderLock(#[expect(dead_code, reason = "held for its lock")] Locked);

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
        Self(kiln_system::lock_or_wait(folder).unwrap_or(Locked::Unknown))
    }

    /// Locks a folder that is there for one of many, against those that want it alone; a folder that is not there has no lock.
    ///
    /// # Errors
    /// [`ProjectError::Busy`] when another process holds it alone.
    pub fn share(folder: &Path) -> Result<Self, ProjectError> {
        Self::held(kiln_system::share(folder).unwrap_or(Locked::Unknown), folder)
    }

    /// Locks a folder that is there for this process alone; a folder that is not there has no lock.
    ///
    /// # Errors
    /// [`ProjectError::Busy`] when another process holds it.
    pub(super) fn of(folder: &Path) -> Result<Self, ProjectError> {
        Self::held(kiln_system::lock(folder).unwrap_or(Locked::Unknown), folder)
    }

    fn held(lock: Locked, folder: &Path) -> Result<Self, ProjectError> {
        match lock {
            Locked::Busy => Err(ProjectError::Busy {
                path: folder.to_owned(),
            }),
            lock => Ok(Self(lock)),
        }
    }
}
