//! SOG, the format of PlayCanvas: Gaussians as the pixels of lossless WebP images, in version 2; and Streamed SOG, levels of
//! detail in chunks of it, in version 1.
//!
//! Owns the layout of the images and of `meta.json`, the archive around them, codebooks and the palette of spherical
//! harmonics, and reads the same back, whoever wrote it. Promises equal bytes for equal Gaussians, whatever the number
//! of threads, and memory of a few images beside the Gaussians. Knows nothing of the engine: Gaussians come through
//! [`Splats`] and leave as a [`Model`].

mod archive;
mod codebook;
mod error;
mod huffman;
mod images;
pub mod levels;
mod meta;
mod palette;
mod pixels;
mod read;
mod splats;
mod streamed;
#[cfg(test)]
mod tests;
mod webp;
mod write;

pub use archive::{Archive, ArchiveWriter};
pub use error::Error;
pub use meta::Meta;
pub use read::{Get, Model, read_archive, read_archive_of, read_files};
pub use splats::Splats;
pub use streamed::{INDEX, StreamedIndex, n_levels, read_streamed, write_streamed};
pub use write::{Put, write_archive, write_files};

/// Name of the file that describes the images.
pub const META: &str = "meta.json";
