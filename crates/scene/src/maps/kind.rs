//! The two kinds of maps.

/// What maps say of a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKind {
    /// Its depth.
    Depth,
    /// The normal of what it shows.
    Normal,
}

impl MapKind {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Depth => "depth",
            Self::Normal => "normal",
        }
    }

    /// The key that names the folder.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Depth => "dataset.depths",
            Self::Normal => "dataset.normals",
        }
    }

    /// Numbers of a pixel.
    pub(super) const fn channels(self) -> u32 {
        match self {
            Self::Depth => 1,
            Self::Normal => 3,
        }
    }

    /// Bytes of a map's pixel while it is decoded: file, decoder and numbers.
    pub(crate) const fn working_bytes_per_pixel(self) -> u64 {
        match self {
            Self::Depth => 28,
            Self::Normal => 60,
        }
    }
}
