//! Why a file is not read.

use std::borrow::Cow;

/// Why a file holds no splats that can be read, or cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused a read or a write.
    #[cfg(feature = "native")]
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// More than a format has room for.
    #[cfg(feature = "native")]
    #[error("{0}")]
    TooLarge(String),
    /// [`Splats::is_wanted`](crate::sog::Splats::is_wanted) said no.
    #[cfg(feature = "native")]
    #[error("stopped before the files were whole")]
    Stopped,
    /// Text, or big-endian, where only little-endian is read: compressed PLY.
    #[error("its format is \"{0}\", and only binary_little_endian 1.0 is read of such files; convert it")]
    Format(&'static str),
    /// A list property where sizes must be fixed.
    #[error("its element \"{0}\" holds a list; is it a mesh rather than a Gaussian splatting file?")]
    List(String),
    /// More splats than can be numbered.
    #[error("it announces {0} entries, more than can be read")]
    TooMany(u64),
    /// Properties without which there is no model.
    #[error("it lacks the properties {0}; is it a Gaussian splatting file?")]
    Missing(String),
    /// A number of `f_rest` properties that belongs to no degree.
    #[error(
        "it has {0} f_rest properties, which are not those of a degree; 0, 9, 24 or 45 in sequence are read, of 72 and more those up to degree 3"
    )]
    RestCount(usize),
    /// A GLB file that cannot be understood without what is not here.
    #[error(
        "it requires {0}, of which nothing is known here; export it again without, for example with splat-transform"
    )]
    Required(Cow<'static, str>),
    /// A file that does not go on as it begins.
    #[error("{0}; copy or export it again")]
    Damaged(String),
}

impl Error {
    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged(what.into())
    }
}

/// A name as it may be shown: a file from elsewhere must not write to terminals.
pub(crate) fn plain(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(60).collect()
}
