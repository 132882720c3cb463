//! Why runs cannot be shown.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::export::{ExportError, PlyError};

/// What keeps `kiln view` from serving or exporting.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The folder of the runs is not there or may not be read.
    #[error("cannot read the folder {}: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A folder of a format that the page does not show.
    #[error("{} is {what}, which the page does not show", path.display())]
    NotShown {
        /// The folder.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// A file that is no model.
    #[error(transparent)]
    Model(#[from] PlyError),
    /// An address that other machines reach, without permission.
    #[error("`--host {host}` lets other machines read the runs")]
    Beyond {
        /// The address.
        host: String,
    },
    /// The port is taken, or the address is not one of this machine.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Address and port.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// No random numbers, no timer or no threads.
    #[error("the system does not let a server start: {0}")]
    System(io::Error),
    /// The program was built without `viewer-wasm/dist`.
    #[error("this program was built without the viewer's page (viewer-wasm/dist)")]
    NoPage,
    /// The folder to export to holds something else.
    #[error("{} is not empty and no earlier export", path.display())]
    NotAnExport {
        /// The folder.
        path: PathBuf,
    },
    /// Nothing to export.
    #[error("{} holds no run", path.display())]
    NoRuns {
        /// The folder.
        path: PathBuf,
    },
    /// A file could not be copied.
    #[error(transparent)]
    Write(#[from] ExportError),
}

impl ServeError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Folder { .. } => Some("`kiln view PATH` names the folder of the runs, one run, a folder of Streamed SOG or a model's file".to_owned()),
            Self::NotShown { .. } => Some(
                "of models it shows folders of Streamed SOG (`kiln export MODEL --format streamed-sog`) and .sog, .spz, .glb, .ply and .splat files"
                    .to_owned(),
            ),
            Self::Beyond { .. } => Some(
                "an SSH tunnel keeps the runs private (docs/guide/viewer.md); `--allow-remote` serves them without encryption"
                    .to_owned(),
            ),
            Self::Listen { .. } => Some("`--port 0` takes a free port".to_owned()),
            Self::NoPage => Some("run `cargo xtask viewer`, then build again".to_owned()),
            Self::NotAnExport { .. } => Some("name a new folder, or empty this one".to_owned()),
            Self::NoRuns { .. } => Some("a run is a folder with a run.json; `kiln train` writes one".to_owned()),
            Self::Model(_) | Self::System(_) | Self::Write(_) => None,
        }
    }
}
