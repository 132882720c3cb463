//! Why a run folder cannot be used.

use std::path::PathBuf;

use crate::export::ExportError;
use kiln_config::ConfigError;

/// A refused or failed use of a run folder.
#[derive(Debug, thiserror::Error)]
pub enum RunFolderError {
    /// A file could not be written.
    #[error(transparent)]
    Write(#[from] ExportError),
    /// The configuration could not be written as YAML.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The folder belongs to another scene.
    #[error(
        "{} holds a run of the scene `{found}`, not of `{wanted}`; choose another output folder",
        path.display()
    )]
    OtherScene {
        /// The folder.
        path: PathBuf,
        /// Scene of the run in it.
        found: String,
        /// Scene of the new run.
        wanted: String,
    },
    /// The folder holds a run that would be lost.
    #[error(
        "{} already holds a run (status {status}, {done} of {total} iterations); resume it or choose another output folder",
        path.display()
    )]
    Exists {
        /// The folder.
        path: PathBuf,
        /// Its status.
        status: &'static str,
        /// Iterations done.
        done: u32,
        /// Iterations planned.
        total: u32,
    },
    /// The folder holds files with the names of a run's, but no index.
    #[error(
        "{} holds `{file}` but no run.json, so it is not known whose it is; choose another output folder",
        path.display()
    )]
    NotARun {
        /// The folder.
        path: PathBuf,
        /// One of the files in the way.
        file: &'static str,
    },
    /// Nothing to resume.
    #[error("{} holds no run", path.display())]
    NoRun {
        /// The folder.
        path: PathBuf,
    },
    /// The index cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Another process writes there.
    #[error("another process is writing to {}; wait for it or choose another output folder", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
}
