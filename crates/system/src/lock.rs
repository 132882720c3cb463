//! Folders locked against other processes.
//!
//! The system lets go of a lock when its process ends, however it ends. Linux locks the folder itself; Windows has locks of files only, so
//! a hidden file in the folder stands for it. Each is seen by processes of the same system alone.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::system;

/// Name of the file that stands for a folder's lock on Windows.
pub const LOCK_FILE: &str = ".kiln.lock";
/// Who asks whether a folder is locked holds its lock for a moment; whoever works there holds it for longer than this.
const MOMENT: Duration = Duration::from_millis(500);
/// Between two tries.
const TRY_AGAIN: Duration = Duration::from_millis(5);

/// What came of a lock that was asked for.
#[derive(Debug)]
pub enum Locked {
    /// It is held as long as this lives.
    Held(File),
    /// Another process holds it.
    Busy,
    /// The file system has no locks, as some of networks; work there is no worse than without them.
    Unknown,
}

/// Locks a folder that is there for this process alone.
///
/// # Errors
/// When the folder cannot be opened.
pub fn lock(folder: &Path) -> io::Result<Locked> {
    Ok(take(system::open_for_lock(folder)?, File::try_lock))
}

/// Locks a folder that is there for one of many, against those that want it alone.
///
/// # Errors
/// When the folder cannot be opened.
pub fn share(folder: &Path) -> io::Result<Locked> {
    Ok(take(system::open_for_lock(folder)?, File::try_lock_shared))
}

/// Locks a folder that is there for this process alone, after whoever holds it.
///
/// # Errors
/// When the folder cannot be opened.
pub fn lock_or_wait(folder: &Path) -> io::Result<Locked> {
    let file = system::open_for_lock(folder)?;
    Ok(match file.lock() {
        Ok(()) => Locked::Held(file),
        Err(_) => Locked::Unknown,
    })
}

/// True while a process holds the folder alone; none where that is not known.
#[must_use]
pub fn is_locked(folder: &Path) -> Option<bool> {
    let Some(file) = system::open_to_look(folder).ok()? else {
        return Some(false);
    };
    match file.try_lock_shared() {
        Ok(()) => Some(false),
        Err(TryLockError::WouldBlock) => Some(true),
        Err(TryLockError::Error(_)) => None,
    }
}

/// Tries until that works, or a moment has passed.
fn take(file: File, lock: impl Fn(&File) -> Result<(), TryLockError>) -> Locked {
    let start = Instant::now();
    loop {
        match lock(&file) {
            Ok(()) => return Locked::Held(file),
            Err(TryLockError::WouldBlock) if start.elapsed() < MOMENT => std::thread::sleep(TRY_AGAIN),
            Err(TryLockError::WouldBlock) => return Locked::Busy,
            Err(TryLockError::Error(_)) => return Locked::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scratch::Scratch;

    #[test]
    fn one_writer_or_many_readers() {
        let folder = Scratch::new();
        let path = folder.path();
        assert_eq!(is_locked(path), Some(false));
        let alone = lock(path).unwrap();
        assert!(matches!(alone, Locked::Held(_)));
        assert_eq!(is_locked(path), Some(true));
        assert!(matches!(lock(path).unwrap(), Locked::Busy));
        assert!(matches!(share(path).unwrap(), Locked::Busy));
        drop(alone);
        let (one, other) = (share(path).unwrap(), share(path).unwrap());
        assert!(matches!((&one, &other), (Locked::Held(_), Locked::Held(_))));
        assert!(matches!(lock(path).unwrap(), Locked::Busy));
        drop((one, other));
        assert_eq!(is_locked(path), Some(false));
        assert_eq!(is_locked(&path.join("none")), None);
        assert!(lock(&path.join("none")).is_err());
    }

    #[test]
    fn who_looks_for_a_moment_keeps_no_writer_out() {
        let folder = Scratch::new();
        let looks = system::open_for_lock(folder.path()).unwrap();
        looks.try_lock_shared().unwrap();
        let writer = std::thread::scope(|scope| {
            let writer = scope.spawn(|| lock(folder.path()));
            std::thread::sleep(MOMENT / 5);
            drop(looks);
            writer.join().unwrap().unwrap()
        });
        assert!(matches!(writer, Locked::Held(_)));
    }
}
