//! The versions of the format.

/// Versions of SPZ that are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpzVersion {
    /// One gzip stream, rotations in three bytes: for readers from before 2025.
    V2,
    /// One gzip stream, rotations in four bytes.
    #[default]
    V3,
    /// A zstd frame for each attribute.
    V4,
}

impl SpzVersion {
    /// The number in the file.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::V2 => 2,
            Self::V3 => 3,
            Self::V4 => 4,
        }
    }

    /// The version of a number.
    #[must_use]
    pub const fn of(number: u32) -> Option<Self> {
        match number {
            2 => Some(Self::V2),
            3 => Some(Self::V3),
            4 => Some(Self::V4),
            _ => None,
        }
    }
}
