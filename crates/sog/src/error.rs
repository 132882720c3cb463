//! Why a SOG file cannot be written or read.

/// Why a SOG file cannot be written or read; whoever knows the file's name adds it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused a read or a write.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// More Gaussians than an image has pixels, or more bytes than an archive can name.
    #[error("{0}")]
    TooLarge(String),
    /// [`Splats::is_wanted`](crate::Splats::is_wanted) said no.
    #[error("stopped before the files were whole")]
    Stopped,
    /// The file is not what its beginning says, or not SOG of version 2.
    #[error("{0}")]
    Damaged(String),
}

impl Error {
    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged(what.into())
    }
}
