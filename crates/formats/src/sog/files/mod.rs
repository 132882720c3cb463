//! SOG as files: archives, folders and levels of detail, written and read.
//!
//! Owns the layout of the images, the archive around them, codebooks and the palette of spherical harmonics. Promises equal bytes for
//! equal Gaussians, whatever the number of threads, and memory of a few images beside the Gaussians. Knows nothing of the engine:
//! Gaussians come through [`Splats`] and leave as a [`Model`].

mod archive;
mod codebook;
pub mod levels;
mod palette;
mod pixels;
mod read;
mod splats;
mod streamed;
#[cfg(test)]
mod tests;
mod write;

use super::{META, Meta, meta};
use crate::Error;

pub use archive::{Archive, ArchiveWriter};
pub use read::{Get, Model, read_archive, read_archive_of, read_files};
pub use splats::Splats;
pub use streamed::{INDEX, StreamedIndex, n_levels, read_streamed, write_streamed};
pub use write::{Put, write_archive, write_files};
