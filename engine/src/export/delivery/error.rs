//! Why a model file cannot be handed out.

use std::path::PathBuf;

use super::super::{ExportError, PlyError};

/// Why a model was not handed out.
#[derive(Debug, thiserror::Error)]
pub enum DeliveryError {
    /// A model without Gaussians, or none with finite values.
    #[error("the model holds no Gaussian that can be drawn")]
    NoGaussians,
    /// A crop box beside the model.
    #[error(
        "no Gaussian lies in the crop box; the centres lie between {},{},{} and {},{},{}",
        low[0], low[1], low[2], high[0], high[1], high[2]
    )]
    OutsideCrop {
        /// Smallest coordinates of the centres, in those of the data set.
        low: [f64; 3],
        /// Largest coordinates of the centres.
        high: [f64; 3],
    },
    /// More than the format's 32-bit sizes can name.
    #[error(
        "{} would have {bytes} bytes with {gaussians} Gaussians, and a GLB file has at most 4294967295",
        path.display()
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Gaussians in it.
        gaussians: usize,
        /// Its size.
        bytes: u64,
    },
    /// A folder or file where a folder would go.
    #[error("{} is there already; remove it, or write elsewhere", path.display())]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// What SOG cannot hold.
    #[error("{} cannot be written: {what}", path.display())]
    Sog {
        /// The file.
        path: PathBuf,
        /// What it cannot hold.
        what: String,
    },
    /// It was not wanted any more; nothing is left of it.
    #[error("stopped before the output was whole")]
    Stopped,
    /// A model that is read in parts cannot be read.
    #[error(transparent)]
    Read(#[from] PlyError),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] ExportError),
}
