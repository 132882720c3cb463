//! Why a file could not be written.

use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// A refused or failed write; every variant names the path. The program maps all of them to one exit code.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// No space, or no quota, is left, or files may not be this large.
    #[error("no space left to write {} ({source}); free some disk space or choose another output folder", path.display())]
    DiskFull {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: Error,
    },
    /// The folder may not be written to.
    #[error(
        "{} is not writable; choose an output folder on a file system mounted for writing that you may write to",
        path.display()
    )]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: Error,
    },
    /// Any other refusal.
    #[error("cannot write {}: {reason}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        reason: Error,
    },
}

impl ExportError {
    /// Sorts a system error into the variants.
    #[must_use]
    pub fn new(path: &Path, source: Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                Self::DiskFull { path, source }
            }
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Self::NotWritable { path, source },
            _ => Self::Io { path, reason: source },
        }
    }

    /// The same error once more, for everyone else who meets it.
    #[must_use]
    pub fn again(&self) -> Self {
        let (path, source) = match self {
            Self::DiskFull { path, source } | Self::NotWritable { path, source } => (path, source),
            Self::Io { path, reason } => (path, reason),
        };
        Self::new(path, Error::new(source.kind(), source.to_string()))
    }
}
