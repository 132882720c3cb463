//! The few operations on a file system that writing needs, behind one trait.
//!
//! Owns the real implementation. A program that watches or fails file operations puts its own in front of it with
//! [`install_disk`]; the engine's tests use a simulated one that loses what was never flushed.

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
pub(crate) mod simulated;

use std::fmt::Debug;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// A file being written.
pub trait DiskFile: Write + Seek + Send + Debug {
    /// Sets `bytes` aside for the file, from its start, so that a full disk shows before anything is written. Does
    /// nothing where the file system cannot.
    ///
    /// # Errors
    /// The system's, `StorageFull` when there is not that much space.
    fn reserve(&mut self, bytes: u64) -> io::Result<()>;

    /// Cuts or fills the file to `bytes`.
    ///
    /// # Errors
    /// The system's.
    fn set_len(&mut self, bytes: u64) -> io::Result<()>;

    /// Returns when the content survives a power cut.
    ///
    /// # Errors
    /// The system's.
    fn sync(&mut self) -> io::Result<()>;
}

/// A file system to write to.
pub trait Disk: Debug + Send + Sync {
    /// Makes one folder; false when it is there.
    ///
    /// # Errors
    /// The system's, `NotFound` when the folder above is missing.
    fn make_folder(&self, path: &Path) -> io::Result<bool>;

    /// Makes an empty file; a link in its place is not followed.
    ///
    /// # Errors
    /// The system's, `AlreadyExists` when anything of that name is there.
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;

    /// Gives a file another name in the same folder, in the place of an old one.
    ///
    /// # Errors
    /// The system's.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// The system's.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Returns when the names in a folder survive a power cut.
    ///
    /// # Errors
    /// The system's.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;

    /// What a folder holds, in no order.
    ///
    /// # Errors
    /// The system's.
    fn names(&self, folder: &Path) -> io::Result<Vec<PathBuf>>;
}

static INSTALLED: OnceLock<Arc<dyn Disk>> = OnceLock::new();

/// Makes `disk` the one that this process writes to, before its first write. False when there is one already.
pub fn install_disk(disk: Arc<dyn Disk>) -> bool {
    INSTALLED.set(disk).is_ok()
}

/// The disk of this process.
pub(crate) fn disk_of_process() -> Arc<dyn Disk> {
    INSTALLED.get_or_init(|| Arc::new(RealDisk)).clone()
}

/// Makes a folder and those above it that are missing, each of them durable in the one above.
///
/// # Errors
/// Those of `disk`.
pub(crate) fn make_folders(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    let above = path.parent().map(|above| match above {
        above if above == Path::new("") => Path::new("."),
        above => above,
    });
    let made = match (disk.make_folder(path), above) {
        (Err(error), Some(above)) if error.kind() == io::ErrorKind::NotFound => {
            make_folders(disk, above)?;
            disk.make_folder(path)?
        }
        (made, _) => made?,
    };
    match above {
        Some(above) if made => disk.sync_folder(above),
        _ => Ok(()),
    }
}

/// The system's file systems.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn make_folder(&self, path: &Path) -> io::Result<bool> {
        if path.is_dir() {
            return Ok(false);
        }
        match fs::create_dir(path) {
            // Another process was faster.
            Err(_) if path.is_dir() => Ok(false),
            made => made.map(|()| true),
        }
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(patiently(path, || File::create_new(path))?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        patiently(to, || fs::rename(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        patiently(path, || fs::remove_file(path))
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
    }

    #[cfg(unix)]
    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        match File::open(path)?.sync_all() {
            // network and foreign file systems may not know how to flush a folder
            Err(e) if cannot(&e) => Ok(()),
            other => other,
        }
    }

    /// Elsewhere folders cannot be opened; the system orders its own metadata.
    #[cfg(not(unix))]
    fn sync_folder(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }
}

/// Does what another program may stand in the way of for a moment: on Windows a file that a scanner, an indexer or an editor has open can
/// be neither replaced nor removed.
#[cfg(windows)]
fn patiently<T>(path: &Path, mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    use std::os::windows::fs::OpenOptionsExt as _;
    use std::time::{Duration, Instant};
    /// Scanners let go within this.
    const PATIENCE: Duration = Duration::from_secs(2);
    /// `ERROR_SHARING_VIOLATION`, `ERROR_LOCK_VIOLATION`
    const HELD: [i32; 2] = [32, 33];
    /// The right to remove, which whoever has the file open keeps from others.
    const DELETE: u32 = 0x1_0000;
    /// `ERROR_ACCESS_DENIED`, which the replacement of an open file gives as well.
    const DENIED: i32 = 5;
    let is_held = || {
        let error = File::options().access_mode(DELETE).open(path).err();
        error
            .and_then(|e| e.raw_os_error())
            .is_some_and(|code| HELD.contains(&code))
    };

    let start = Instant::now();
    loop {
        let error = match work() {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        let code = error.raw_os_error().unwrap_or_default();
        if !HELD.contains(&code) && code != DENIED {
            return Err(error);
        }
        if start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(20));
        } else if HELD.contains(&code) || is_held() {
            return Err(io::Error::new(
                io::ErrorKind::ResourceBusy,
                "another program has it open: a scanner, an indexer, an editor or a preview; close it there and try again",
            ));
        } else {
            return Err(error);
        }
    }
}

#[cfg(not(windows))]
fn patiently<T>(_path: &Path, mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    work()
}

impl DiskFile for File {
    /// `ftruncate` would only make a hole on Unix, which takes no space.
    #[cfg(any(
        target_os = "linux",
        target_os = "android",
        target_os = "freebsd",
        target_vendor = "apple"
    ))]
    fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        match rustix::fs::fallocate(&*self, rustix::fs::FallocateFlags::empty(), 0, bytes).map_err(io::Error::from) {
            Err(e) if cannot(&e) => Ok(()),
            other => other,
        }
    }

    #[cfg(windows)]
    fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        Self::set_len(self, bytes)
    }

    #[cfg(not(any(
        target_os = "linux",
        target_os = "android",
        target_os = "freebsd",
        target_vendor = "apple",
        windows
    )))]
    fn reserve(&mut self, _bytes: u64) -> io::Result<()> {
        Ok(())
    }

    fn set_len(&mut self, bytes: u64) -> io::Result<()> {
        Self::set_len(self, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

/// The file system does not know the operation.
#[cfg(unix)]
fn cannot(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scratch::Scratch;

    #[test]
    fn reserved_space_is_really_taken_and_given_back() {
        let folder = Scratch::new();
        let path = folder.path().join("file");
        let mut file = RealDisk.create(&path).unwrap();
        file.reserve(1 << 20).unwrap();
        #[cfg(target_os = "linux")]
        {
            use std::os::unix::fs::MetadataExt;
            assert!(fs::metadata(&path).unwrap().blocks() * 512 >= 1 << 20);
        }
        file.write_all(b"text").unwrap();
        file.set_len(4).unwrap();
        file.sync().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"text");
        drop(file);
        // No disk has this much.
        fs::remove_file(&path).unwrap();
        assert!(RealDisk.create(&path).unwrap().reserve(1 << 60).is_err());
        let again = RealDisk.create(&path).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn folders_are_made_once_and_from_the_top() {
        let folder = Scratch::new();
        let deep = folder.path().join("a/b/c");
        make_folders(&RealDisk, &deep).unwrap();
        make_folders(&RealDisk, &deep).unwrap();
        assert!(deep.is_dir());
        make_folders(&RealDisk, Path::new(".")).unwrap();
        folder.write("file", "");
        assert!(make_folders(&RealDisk, &folder.path().join("file/below")).is_err());
    }
}
