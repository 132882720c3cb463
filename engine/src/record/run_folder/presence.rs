//! Whether a folder holds a run, and whether a process writes to it; removing a run and nothing else.

use std::fs::{self, File};
#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use super::error::RunFolderError;
use super::paths::{
    BOUND_PLY, CAMERAS, CHECKPOINTS, COARSE_PLY, CONFIG, ENVIRONMENT, EVALS, GIVEN_CAMERAS, INPUT, LIVE, MODELS,
    REFINED, REPORT_FILE, RUN, TIMINGS,
};
use super::record::RunRecord;
use crate::export::{ExportError, refuse_links_below};
use crate::record::sinks::{EVENTS_PREFIX, MEMORY_FILE, METRICS_FILE};

/// Who asks whether a folder is written to holds its lock for a moment; whoever writes holds it for longer than this.
const MOMENT: Duration = Duration::from_millis(500);
/// Between two tries.
const TRY_AGAIN: Duration = Duration::from_millis(5);

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

/// True while a process writes to the run in `root`; none where the file system does not show it.
#[must_use]
#[cfg(unix)]
pub fn is_written_to(root: &Path) -> Option<bool> {
    // A pipe in the place of the folder would let whoever opens it wait.
    let flags = rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::NONBLOCK;
    let folder = File::options()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(root);
    match folder.ok()?.try_lock_shared() {
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

/// Tries to lock until that works, or a moment has passed.
///
/// # Errors
/// Those of `lock`.
pub fn try_for_a_moment(lock: impl Fn() -> Result<(), fs::TryLockError>) -> Result<(), fs::TryLockError> {
    let start = Instant::now();
    loop {
        match lock() {
            Err(fs::TryLockError::WouldBlock) if start.elapsed() < MOMENT => std::thread::sleep(TRY_AGAIN),
            result => return result,
        }
    }
}

/// Locks the folder against other processes; the system lets go of the lock when the process ends, however it ends.
#[cfg(unix)]
pub(super) fn lock(root: &Path) -> Result<Option<File>, RunFolderError> {
    let folder = File::open(root).map_err(|source| ExportError::new(root, source))?;
    match try_for_a_moment(|| folder.try_lock()) {
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

#[cfg(all(test, unix))]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scratch::Scratch;

    #[test]
    fn who_looks_for_a_moment_keeps_no_writer_out() {
        let folder = Scratch::new();
        let looks = File::open(folder.path()).unwrap();
        looks.try_lock_shared().unwrap();
        let writer = std::thread::scope(|scope| {
            let writer = scope.spawn(|| lock(folder.path()));
            std::thread::sleep(MOMENT / 5);
            looks.unlock().unwrap();
            writer.join().unwrap().unwrap()
        });
        assert_eq!(is_written_to(folder.path()), Some(true));
        assert!(matches!(lock(folder.path()), Err(RunFolderError::Busy { .. })));
        drop(writer);
        assert_eq!(is_written_to(folder.path()), Some(false));
        assert_eq!(is_written_to(&folder.path().join("none")), None);
    }
}
