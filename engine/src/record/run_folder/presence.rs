//! Whether a folder holds a run, and whether a process writes to it; removing a run and nothing else.

use std::fs;
use std::path::Path;

use kiln_system::Locked;

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

/// True while a process writes to the run in `root`; none where that is not known.
#[must_use]
pub fn is_written_to(root: &Path) -> Option<bool> {
    kiln_system::is_locked(root)
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

/// Locks the folder against other processes.
///
/// # Errors
/// [`RunFolderError::Busy`] when another process holds it, and when the folder cannot be opened.
pub(super) fn lock(root: &Path) -> Result<Locked, RunFolderError> {
    match kiln_system::lock(root).map_err(|source| ExportError::new(root, source))? {
        Locked::Busy => Err(RunFolderError::Busy { path: root.to_owned() }),
        lock => Ok(lock),
    }
}
