//! A folder of files that appears whole or not at all.
//!
//! Files are written into a hidden folder beside the wanted one, which gets its name when the last of them is safe.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use kiln_sog::Error;

use super::super::{ExportError, disk_of_process, make_folder, write_atomic};
use super::{DeliveryError, sog};

/// The hidden folder, removed when dropped before it has its name.
struct Hidden(PathBuf);

impl Drop for Hidden {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// The folder while it is filled.
pub(super) struct Files {
    hidden: Hidden,
    /// The first error with a path of its own, which those of `kiln-sog` have not.
    failed: Option<DeliveryError>,
}

impl Files {
    /// Where the files go for now.
    pub(super) fn root(&self) -> &Path {
        &self.hidden.0
    }

    /// Writes a file.
    pub(super) fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
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
pub(super) fn write<T>(path: &Path, fill: impl FnOnce(&mut Files) -> Result<T, Error>) -> Result<T, DeliveryError> {
    if path.exists() {
        return Err(DeliveryError::Exists { path: path.to_owned() });
    }
    let refused = |source| DeliveryError::from(ExportError::new(path, source));
    let name = path
        .file_name()
        .ok_or_else(|| refused(io::ErrorKind::InvalidFilename.into()))?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}-0.tmp", std::process::id()));
    let mut files = Files {
        hidden: Hidden(path.with_file_name(hidden)),
        failed: None,
    };
    make_folder(files.root())?;
    let filled = fill(&mut files);
    let filled = match (filled, files.failed.take()) {
        (Ok(filled), _) => filled,
        (Err(_), Some(error)) => return Err(error),
        (Err(error), None) => return Err(sog::named(path, error)),
    };
    let disk = disk_of_process();
    disk.rename(files.root(), path).map_err(refused)?;
    let above = path.parent().filter(|folder| *folder != Path::new(""));
    disk.sync_folder(above.unwrap_or(Path::new("."))).map_err(refused)?;
    Ok(filled)
}
