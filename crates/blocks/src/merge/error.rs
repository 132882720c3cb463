//! Why there is no merged model.

use std::io;
use std::path::{Path, PathBuf};

/// A refused, failed or ended merge.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A model cannot be read.
    #[error("{}: {found}", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        found: String,
    },
    /// Two models do not go together.
    #[error("{} and {} do not go together: {what}", first.display(), other.display())]
    Differ {
        /// A file.
        first: PathBuf,
        /// Another.
        other: PathBuf,
        /// In what they differ.
        what: String,
    },
    /// No Gaussian lies in the core of its block.
    #[error("no Gaussian lies in the core of its block: nothing is left of {0} models")]
    Nothing(usize),
    /// A model changed between the two times it was read.
    #[error("{} changed while it was merged", .0.display())]
    Changed(PathBuf),
    /// A file could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Whoever waits for the model does so no longer.
    #[error("stopped")]
    Stopped,
}

impl MergeError {
    pub(super) fn model(path: &Path, found: impl ToString) -> Self {
        Self::Model {
            path: path.to_owned(),
            found: found.to_string(),
        }
    }

    pub(super) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Write { path, source }
    }
}
