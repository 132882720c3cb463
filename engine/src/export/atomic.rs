//! Files that appear whole or not at all.
//!
//! Owns the only way the engine writes a file: a temporary file in the same folder, flushed to the disk, renamed over
//! the final name, and the folder flushed too. A crash or a full disk leaves the old file, or none, and at most a
//! hidden temporary file; an error or an early return removes that as well.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ExportError;
use super::disk::{Disk, DiskFile, disk_of_process, make_folders};

/// How temporary files end.
const TEMPORARY: &str = ".tmp";

/// A file being written; it gets its name with [`AtomicFile::commit`] and is removed when dropped before.
#[derive(Debug)]
pub struct AtomicFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    temporary: PathBuf,
    /// `None` once committed.
    file: Option<BufWriter<Box<dyn DiskFile>>>,
    /// Where the next byte goes, and where the last one is: more space than that may be set aside.
    at: u64,
    end: u64,
}

impl AtomicFile {
    /// Starts a file that will be called `path`, making missing folders.
    ///
    /// # Errors
    /// [`ExportError`] when the folder cannot be made or written to.
    pub fn create(path: &Path) -> Result<Self, ExportError> {
        Self::create_on(disk_of_process(), path)
    }

    pub(crate) fn create_on(disk: Arc<dyn Disk>, path: &Path) -> Result<Self, ExportError> {
        let fail = |source| ExportError::new(path, source);
        let name = path
            .file_name()
            .ok_or_else(|| fail(io::Error::from(io::ErrorKind::InvalidFilename)))?;
        make_folders(&*disk, folder_of(path)).map_err(fail)?;
        let temporary = path.with_file_name(temporary_name(name).map_err(fail)?);
        let file = disk.create(&temporary).map_err(fail)?;
        Ok(Self {
            disk,
            path: path.to_owned(),
            temporary,
            file: Some(BufWriter::with_capacity(1 << 18, file)),
            at: 0,
            end: 0,
        })
    }

    /// Sets space aside for a file of about `bytes` bytes, so that a full disk shows before anything is written. The
    /// file ends where its last byte is all the same.
    ///
    /// # Errors
    /// `StorageFull` when there is not that much space; any other of the system's.
    pub fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        self.writer()?.get_mut().reserve(bytes)
    }

    /// Puts the file in place: after this it is whole and survives a power cut.
    ///
    /// # Errors
    /// [`ExportError`] when the disk refuses; the old file of that name is then untouched.
    pub fn commit(mut self) -> Result<(), ExportError> {
        let Some(file) = self.file.take() else {
            return Ok(());
        };
        let result = self.put_in_place(file);
        if result.is_err() {
            self.disk.remove(&self.temporary).ok();
        }
        result.map_err(|source| ExportError::new(&self.path, source))
    }

    fn put_in_place(&self, file: BufWriter<Box<dyn DiskFile>>) -> io::Result<()> {
        let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.set_len(self.end)?;
        file.sync()?;
        drop(file);
        self.disk.rename(&self.temporary, &self.path)?;
        self.disk.sync_folder(folder_of(&self.path))
    }

    fn writer(&mut self) -> io::Result<&mut BufWriter<Box<dyn DiskFile>>> {
        self.file
            .as_mut()
            .ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected))
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.writer()?.write(bytes)?;
        self.at += written as u64;
        self.end = self.end.max(self.at);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer()?.flush()
    }
}

impl Seek for AtomicFile {
    /// From the end means from the last byte written, not from that of the space set aside.
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::End(offset) => {
                let target = self.end.checked_add_signed(offset);
                SeekFrom::Start(target.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?)
            }
            other => other,
        };
        self.at = self.writer()?.seek(to)?;
        Ok(self.at)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            // what is buffered is not wanted any more
            drop(file.into_parts());
            self.disk.remove(&self.temporary).ok();
        }
    }
}

/// Writes a whole file through `fill`.
///
/// # Errors
/// [`ExportError`] when the disk refuses or `fill` fails; the old file of that name is then untouched.
pub fn write_atomic(path: &Path, fill: impl FnOnce(&mut AtomicFile) -> io::Result<()>) -> Result<(), ExportError> {
    write_atomic_on(disk_of_process(), path, fill)
}

pub(crate) fn write_atomic_on(
    disk: Arc<dyn Disk>,
    path: &Path,
    fill: impl FnOnce(&mut AtomicFile) -> io::Result<()>,
) -> Result<(), ExportError> {
    let mut file = AtomicFile::create_on(disk, path)?;
    fill(&mut file).map_err(|source| ExportError::new(path, source))?;
    file.commit()
}

/// Makes a folder and those above it that are missing; they survive a power cut.
///
/// # Errors
/// [`ExportError`] when a folder cannot be made.
pub fn make_folder(path: &Path) -> Result<(), ExportError> {
    make_folders(&*disk_of_process(), path).map_err(|source| ExportError::new(path, source))
}

/// Removes the temporary files that a writer left in `folder` and below when it was killed. For a caller that knows
/// that nobody writes there now; what cannot be removed stays.
pub(crate) fn remove_leftovers(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => remove_leftovers(&entry.path()),
            Ok(kind) if kind.is_file() && maker(&entry.file_name().to_string_lossy()).is_some() => {
                std::fs::remove_file(entry.path()).ok();
            }
            _ => {}
        }
    }
}

/// A random name beside `name`: `.NAME.PROCESS-RANDOM.tmp`. Where others may write, a name that can be foreseen can
/// be taken by a link to a file of theirs.
///
/// # Errors
/// When the system has no random bytes.
pub(crate) fn temporary_name(name: &OsStr) -> io::Result<OsString> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let mut hidden = OsString::from(".");
    hidden.push(name);
    let (process, random) = (std::process::id(), u64::from_ne_bytes(random));
    hidden.push(format!(".{process}-{random:016x}{TEMPORARY}"));
    Ok(hidden)
}

/// The process that made a temporary name, of whatever file; none of another name.
fn maker(name: &str) -> Option<u32> {
    let stem = name.strip_prefix('.')?.strip_suffix(TEMPORARY)?;
    let (process, random) = stem.rsplit_once('.')?.1.split_once('-')?;
    let is_random = !random.is_empty() && random.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_number = process.bytes().all(|byte| byte.is_ascii_digit());
    (is_random && is_number).then(|| process.parse().ok()).flatten()
}

/// Removes what writers of `path` that were killed left beside it: temporary files, and folders, whose process is gone. Names of this
/// process are another's, from before, while it has not begun to write.
pub(crate) fn remove_left_of(path: &Path) {
    let Some(name) = path.file_name() else { return };
    let start = format!(".{}.", name.to_string_lossy());
    for entry in std::fs::read_dir(folder_of(path)).into_iter().flatten().flatten() {
        let found = entry.file_name();
        let found = found.to_string_lossy();
        let rest = found
            .strip_prefix(&start)
            .map(|rest| rest.strip_suffix(TEMPORARY).unwrap_or(rest));
        // The rest is `PROCESS-RANDOM` alone: `a.b` is another file than `a`.
        if rest.is_none_or(|rest| rest.contains('.')) {
            continue;
        }
        if maker(&found).is_some_and(|process| process == std::process::id() || kiln_system::is_gone(process)) {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => std::fs::remove_dir_all(entry.path()).ok(),
                _ => std::fs::remove_file(entry.path()).ok(),
            };
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scratch::Scratch;
    use std::fs;

    fn entries(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn files_appear_whole_and_replace_old_ones() {
        let folder = Scratch::new();
        let path = folder.path().join("deep/er/file.txt");
        for text in ["first", "second"] {
            let mut file = AtomicFile::create(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            assert_ne!(fs::read_to_string(&path).ok().as_deref(), Some(text));
            file.commit().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(entries(path.parent().unwrap()), 1);
    }

    #[test]
    fn failures_keep_the_old_file_and_leave_nothing_behind() {
        let folder = Scratch::new();
        let path = folder.write("file.txt", "old");
        drop(AtomicFile::create(&path).unwrap());
        let failed = write_atomic(&path, |file| {
            file.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        let error = failed.unwrap_err();
        assert!(matches!(&error, ExportError::DiskFull { path: named, .. } if *named == path));
        assert!(error.to_string().contains("file.txt"), "{error}");
        assert_eq!(
            (fs::read_to_string(&path).unwrap().as_str(), entries(folder.path())),
            ("old", 1)
        );
        // a folder in the way of the name
        let taken = folder.path().join("taken");
        fs::create_dir(&taken).unwrap();
        let error = write_atomic(&taken, |_| Ok(())).unwrap_err();
        // Windows calls that a refusal.
        let is_refused = cfg!(windows) && matches!(error, ExportError::NotWritable { .. });
        assert!(is_refused || matches!(error, ExportError::Io { .. }), "{error:?}");
        assert_eq!(entries(folder.path()), 2);
    }

    /// Space set aside is not part of the file, wherever its last byte was written.
    #[test]
    fn files_end_at_their_last_byte() {
        let folder = Scratch::new();
        let path = folder.path().join("file");
        write_atomic(&path, |file| {
            file.reserve(1 << 16)?;
            file.write_all(b"head, body")?;
            file.seek(SeekFrom::Start(0))?;
            file.write_all(b"HEAD")?;
            assert_eq!(file.seek(SeekFrom::End(0))?, 10);
            file.write_all(b"!")
        })
        .unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"HEAD, body!");
        let failed = write_atomic(&path, |file| file.reserve(1 << 60));
        assert!(failed.is_err());
        assert_eq!((fs::read(&path).unwrap().len(), entries(folder.path())), (11, 1));
    }

    #[test]
    fn what_a_killed_writer_left_is_removed_and_nothing_else() {
        let folder = Scratch::new();
        for name in ["deep/a.ply", "b.tmp"] {
            let file = AtomicFile::create(&folder.path().join(name)).unwrap();
            let temporary = file.temporary.clone();
            // Closed, as the files of a process that is gone are.
            drop(file);
            fs::write(temporary, "half").unwrap();
        }
        let kept = [
            "deep/.hidden.tmp",
            ".a.1-x.tmp",
            "a.1-2.tmp",
            ".a.1-2.tmp2",
            ".a.-2.tmp",
        ];
        for name in kept {
            folder.write(name, "");
        }
        remove_leftovers(folder.path());
        assert_eq!((entries(folder.path()), entries(&folder.path().join("deep"))), (5, 1));
        for name in kept {
            assert!(folder.path().join(name).exists(), "{name}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_export_removes_what_a_killed_one_of_its_name_left() {
        let folder = Scratch::new();
        let gone = [".a.spz.4294967295-0.tmp", ".a.spz.4294967295-00ff.tmp"];
        let running = format!(".a.spz.{}-1.tmp", std::os::unix::process::parent_id());
        let others = [".a.spz.b.4294967295-0.tmp", ".b.spz.4294967295-0.tmp", running.as_str()];
        for name in gone.iter().chain(&others) {
            folder.write(name, "");
        }
        folder.write(".a.spz.4294967295-1.tmp/inside", "");
        remove_left_of(&folder.path().join("a.spz"));
        assert_eq!(entries(folder.path()), others.len());
        for name in others {
            assert!(folder.path().join(name).exists(), "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_replaced_and_not_followed() {
        let folder = Scratch::new();
        let victim = folder.write("victim", "theirs");
        let path = folder.path().join("file");
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        write_atomic(&path, |file| file.write_all(b"ours")).unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "theirs");
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
    }

    #[test]
    fn causes_are_told_apart() {
        let kind = |kind: io::ErrorKind| ExportError::new(Path::new("x"), kind.into());
        assert!(matches!(
            kind(io::ErrorKind::QuotaExceeded),
            ExportError::DiskFull { .. }
        ));
        assert!(matches!(
            kind(io::ErrorKind::ReadOnlyFilesystem),
            ExportError::NotWritable { .. }
        ));
        assert!(matches!(
            kind(io::ErrorKind::PermissionDenied),
            ExportError::NotWritable { .. }
        ));
        assert!(matches!(kind(io::ErrorKind::NotFound), ExportError::Io { .. }));
        let folder = Scratch::new();
        folder.write("file", "");
        assert!(write_atomic(&folder.path().join("file/below"), |_| Ok(())).is_err());
        assert!(AtomicFile::create(Path::new("/")).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_device_is_reported_as_full() {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let mut writer = BufWriter::new(full);
        writer.write_all(b"data").unwrap();
        let error = ExportError::new(Path::new("/dev/full"), writer.flush().unwrap_err());
        assert!(matches!(error, ExportError::DiskFull { .. }));
    }
}
