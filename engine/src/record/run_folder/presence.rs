//! Whether a folder holds a run, and who writes to it; removing a run and nothing else.

use std::fs::{self, File};
use std::path::Path;

use super::error::RunFolderError;
use super::paths::{
    BOUND_PLY, CAMERAS, CHECKPOINTS, COARSE_PLY, CONFIG, ENVIRONMENT, EVALS, GIVEN_CAMERAS, INPUT, LIVE, MODELS,
    REFINED, REPORT_FILE, RUN, TIMINGS,
};
use super::record::RunRecord;
use crate::export::{ExportError, refuse_links_below};
use crate::record::sinks::{EVENTS_PREFIX, MEMORY_FILE, METRICS_FILE};

/// Every name a run writes at the top of its folder, besides TensorBoard's event files. The index comes last: a folder that lost only some of these is
/// still known as a run.
const NAMES: [&str; 17] = [
    ENVIRONMENT,
    CONFIG,
    CAMERAS,
    GIVEN_CAMERAS,
    INPUT,
    LIVE,
    METRICS_FILE,
    MEMORY_FILE,
    MODELS,
    EVALS,
    CHECKPOINTS,
    TIMINGS,
    REPORT_FILE,
    REFINED,
    COARSE_PLY,
    BOUND_PLY,
    RUN,
];

/// Name of the run in `root`, if there is one that can be read.
#[must_use]
pub fn stored_name(root: &Path) -> Option<String> {
    RunRecord::read(&root.join(RUN)).ok().map(|record| record.name)
}

/// True while a process writes to the run in `root`; none where the file system cannot tell.
#[must_use]
#[cfg(unix)]
pub fn is_written_to(root: &Path) -> Option<bool> {
    match File::open(root).ok()?.try_lock_shared() {
        Ok(()) => Some(false),
        Err(fs::TryLockError::WouldBlock) => Some(true),
        Err(fs::TryLockError::Error(_)) => None,
    }
}

/// Folders cannot be opened elsewhere.
#[must_use]
#[cfg(not(unix))]
pub fn is_written_to(_root: &Path) -> Option<bool> {
    None
}

/// The index of the run in the folder, if there is one.
pub(super) fn present(root: &Path) -> Result<Option<RunRecord>, RunFolderError> {
    let path = root.join(RUN);
    if path.exists() {
        return RunRecord::read(&path).map(Some);
    }
    match NAMES.into_iter().find(|name| root.join(name).exists()) {
        Some(file) => Err(RunFolderError::NotARun {
            path: root.to_owned(),
            file,
        }),
        None => Ok(None),
    }
}

/// Removes a run's files and nothing else.
pub(super) fn clear(root: &Path) -> Result<(), RunFolderError> {
    let events = event_files(root)?;
    // The index comes last, see `NAMES`.
    for name in events.iter().map(String::as_str).chain(NAMES) {
        let path = root.join(name);
        let removed = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => Err(error),
            Ok(found) if found.is_dir() => fs::remove_dir_all(&path),
            Ok(_) => fs::remove_file(&path),
        };
        removed.map_err(|source| ExportError::new(&path, source))?;
    }
    Ok(())
}

/// Checks that nothing that a run writes to in its folder is a link, or holds one.
pub(super) fn refuse_links(root: &Path) -> Result<(), RunFolderError> {
    for name in event_files(root)?.iter().map(String::as_str).chain(NAMES) {
        refuse_links_below(&root.join(name))?;
    }
    Ok(())
}

/// Names of TensorBoard's event files in the folder.
fn event_files(root: &Path) -> Result<Vec<String>, RunFolderError> {
    let fail = |source| ExportError::new(root, source);
    let mut events = Vec::new();
    for entry in fs::read_dir(root).map_err(fail)? {
        let name = entry.map_err(fail)?.file_name();
        events.extend(
            name.to_str()
                .filter(|name| name.starts_with(EVENTS_PREFIX))
                .map(str::to_owned),
        );
    }
    Ok(events)
}

/// Locks the folder against other processes; the system lets go of the lock when the process ends, however it ends.
#[cfg(unix)]
pub(super) fn lock(root: &Path) -> Result<Option<File>, RunFolderError> {
    let folder = File::open(root).map_err(|source| ExportError::new(root, source))?;
    match folder.try_lock() {
        Ok(()) => Ok(Some(folder)),
        Err(fs::TryLockError::WouldBlock) => Err(RunFolderError::Busy { path: root.to_owned() }),
        // Some network file systems have no locks; training there is no worse than before locks.
        Err(fs::TryLockError::Error(_)) => Ok(None),
    }
}

/// Folders cannot be opened elsewhere.
#[cfg(not(unix))]
pub(super) fn lock(_root: &Path) -> Result<Option<File>, RunFolderError> {
    Ok(None)
}
