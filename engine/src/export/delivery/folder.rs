//! A folder of files that appears whole or not at all.
//!
//! Files are written into a hidden folder beside the wanted one, which gets its name when the last of them is safe.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use kiln_formats::Error;

use super::super::{ExportError, disk_of_process, make_folder, remove_left_of, temporary_name, write_atomic};
use super::{DeliveryError, Stop, sog};

/// The hidden folder, removed when dropped before it has its name.
struct Hidden(PathBuf);

impl Drop for Hidden {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// The folder while it is filled.
pub(super) struct Files<'a> {
    hidden: Hidden,
    stop: Stop<'a>,
    /// The first error with a path of its own, which those of [`kiln_formats`] have not.
    failed: Option<DeliveryError>,
}

impl Files<'_> {
    /// Where the files go for now.
    pub(super) fn root(&self) -> &Path {
        &self.hidden.0
    }

    /// Ends the work when the folder is not wanted any more.
    pub(super) fn check(&mut self) -> Result<(), Error> {
        self.stop.check().map_err(|error| self.fail(error))
    }

    /// Writes a file.
    pub(super) fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.check()?;
        let path = self.hidden.0.join(name);
        write_atomic(&path, |file| file.write_all(bytes)).map_err(|error| self.fail(error.into()))
    }

    /// Keeps an error, and gives the one that stands for it.
    pub(super) fn fail(&mut self, error: DeliveryError) -> Error {
        self.failed.get_or_insert(error);
        Error::Io(io::ErrorKind::Other.into())
    }
}

/// Makes the folder and has `fill` fill it.
pub(super) fn write<T>(
    path: &Path,
    stop: Stop<'_>,
    fill: impl FnOnce(&mut Files<'_>) -> Result<T, Error>,
) -> Result<T, DeliveryError> {
    if path.exists() {
        return Err(DeliveryError::Exists { path: path.to_owned() });
    }
    let refused = |source| DeliveryError::from(ExportError::new(path, source));
    let name = path
        .file_name()
        .ok_or_else(|| refused(io::ErrorKind::InvalidFilename.into()))?;
    let above = path
        .parent()
        .filter(|folder| *folder != Path::new(""))
        .unwrap_or(Path::new("."));
    make_folder(above)?;
    let hidden = above.join(temporary_name(name).map_err(refused)?);
    remove_left_of(path);
    // It must be new: rows of another export in its files would be taken for this one's.
    fs::create_dir(&hidden).map_err(|error| ExportError::new(&hidden, error))?;
    let mut files = Files {
        hidden: Hidden(hidden),
        stop,
        failed: None,
    };
    let filled = fill(&mut files);
    let filled = match (filled, files.failed.take()) {
        (Ok(filled), _) => filled,
        (Err(_), Some(error)) => return Err(error),
        (Err(error), None) => return Err(sog::named(path, error)),
    };
    let disk = disk_of_process();
    disk.rename(files.root(), path).map_err(refused)?;
    disk.sync_folder(above).map_err(refused)?;
    Ok(filled)
}

#[cfg(all(test, unix))]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    // The parent of a process is one that runs, which other systems do not say.
    #[test]
    fn what_a_killed_export_left_is_removed_and_not_taken() {
        let above = std::env::temp_dir().join(format!("kiln-folder-{}", std::process::id()));
        let of = |process: u32, name: &str| above.join(format!(".{name}.{process}-0.tmp"));
        let running = std::os::unix::process::parent_id();
        for (process, name) in [
            (u32::MAX, "city"),
            (std::process::id(), "city"),
            (running, "city"),
            (u32::MAX, "town"),
        ] {
            fs::create_dir_all(of(process, name)).unwrap();
            fs::write(of(process, name).join("bucket-0.tmp"), "old").unwrap();
        }
        let path = above.join("city");
        write(&path, Stop::default(), |files| files.put("new", b"1")).unwrap();
        let names: Vec<_> = fs::read_dir(&path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["new"]);
        assert!(!of(u32::MAX, "city").exists() && !of(std::process::id(), "city").exists());
        assert!(of(running, "city").exists() && of(u32::MAX, "town").exists());
        let again = write(&path, Stop::default(), |files| files.put("new", b"2")).unwrap_err();
        assert!(matches!(again, DeliveryError::Exists { .. }));
        fs::remove_dir_all(above).unwrap();
    }
}
