//! Files that appear whole or not at all.
//!
//! Owns the only way the engine writes a file: a temporary file in the same folder, flushed to the disk, renamed over
//! the final name, and the folder flushed too. A crash or a full disk leaves the old file, or none, and at most a
//! hidden temporary file; an error or an early return removes that as well.

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::ExportError;

/// Numbers temporary files, so that two writers of one process never share one.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A file being written; it gets its name with [`AtomicFile::commit`] and is removed when dropped before.
#[derive(Debug)]
pub struct AtomicFile {
    path: PathBuf,
    temporary: PathBuf,
    /// `None` once committed.
    file: Option<BufWriter<File>>,
}

impl AtomicFile {
    /// Starts a file that will be called `path`, making missing folders.
    ///
    /// # Errors
    /// [`ExportError`] when the folder cannot be made or written to.
    pub fn create(path: &Path) -> Result<Self, ExportError> {
        let fail = |source| ExportError::new(path, source);
        let name = path
            .file_name()
            .ok_or_else(|| fail(io::Error::from(io::ErrorKind::InvalidFilename)))?;
        fs::create_dir_all(folder_of(path)).map_err(fail)?;
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(
            ".{}-{}.tmp",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        ));
        let temporary = path.with_file_name(hidden);
        let file = File::create(&temporary).map_err(fail)?;
        Ok(Self {
            path: path.to_owned(),
            temporary,
            file: Some(BufWriter::with_capacity(1 << 18, file)),
        })
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
            fs::remove_file(&self.temporary).ok();
        }
        result.map_err(|source| ExportError::new(&self.path, source))
    }

    fn put_in_place(&self, file: BufWriter<File>) -> io::Result<()> {
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        drop(file);
        fs::rename(&self.temporary, &self.path)?;
        sync_folder(folder_of(&self.path))
    }

    fn writer(&mut self) -> io::Result<&mut BufWriter<File>> {
        self.file
            .as_mut()
            .ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected))
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer()?.flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.writer()?.seek(to)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            // what is buffered is not wanted any more
            drop(file.into_parts());
            fs::remove_file(&self.temporary).ok();
        }
    }
}

/// Writes a whole file through `fill`.
///
/// # Errors
/// [`ExportError`] when the disk refuses or `fill` fails; the old file of that name is then untouched.
pub fn write_atomic(path: &Path, fill: impl FnOnce(&mut AtomicFile) -> io::Result<()>) -> Result<(), ExportError> {
    let mut file = AtomicFile::create(path)?;
    fill(&mut file).map_err(|source| ExportError::new(path, source))?;
    file.commit()
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Makes the rename itself durable.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        // network and foreign file systems may not know how to flush a folder
        Err(e) if matches!(e.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        other => other,
    }
}

/// Elsewhere folders cannot be opened; the system orders its own metadata.
#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::scene::scratch::Scratch;

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
        assert!(matches!(write_atomic(&taken, |_| Ok(())), Err(ExportError::Io { .. })));
        assert_eq!(entries(folder.path()), 2);
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
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut writer = BufWriter::new(full);
        writer.write_all(b"data").unwrap();
        let error = ExportError::new(Path::new("/dev/full"), writer.flush().unwrap_err());
        assert!(matches!(error, ExportError::DiskFull { .. }));
    }
}
