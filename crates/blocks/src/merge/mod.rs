//! Models of blocks as one model, in memory that does not grow with it.
//!
//! Of each block those Gaussians are kept whose centres lie in its core. They come in Morton order of their centres; of equal
//! places the block and the place in its file decide, so the bytes depend on nothing but the models. [`Survey`] reads every model
//! once: it counts, digests and finds out how codes are spread. [`Survey::write`] reads them again, appends rows to bucket files by
//! code, at most 256 at a time, and sorts bucket after bucket in memory; a bucket that is too large is parted once more.
//! Rows are passed on as they are, whatever properties they have.

mod code;
mod error;
mod models;
mod sort;
mod survey;
#[cfg(test)]
mod tests;

pub use code::Frame;
pub use error::MergeError;
pub use models::Model;
pub use sort::{CHUNK_GAUSSIANS, Chunk, Merged};
pub use survey::{BorderCount, Kept, Survey};

/// How a merge works.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// What Gaussians are ordered by.
    pub frame: Frame,
    /// Host memory that a merge may take, bytes; at least [`LEAST_MEMORY_BYTES`] is taken.
    pub memory_bytes: u64,
}

/// Memory below which nothing gets smaller.
pub const LEAST_MEMORY_BYTES: u64 = 16 << 20;
