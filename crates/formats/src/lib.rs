//! Files of splats: one reader a format, for the engine and for the viewer; and SOG written, with the feature `native`.
//!
//! Owns what the bytes of a format mean. Readers take bytes and hand out [`Splat`]s; where bytes come from, how much of a file is held
//! and what becomes of splats that cannot be drawn is for the caller to know. Promises that no count in a file is believed: memory
//! grows with the bytes that are there. Refuses with an [`Error`], whose text goes on after the name of the file.

pub mod axes;
pub mod compressed_ply;
mod error;
pub mod glb;
pub mod ply;
pub mod sog;
mod splat;
pub mod spz;
mod webp;
pub mod zip;

pub use error::Error;
pub use splat::{Opacity, REST_MAX, SH_C0, Splat, rest_count};

#[cfg(test)]
mod tests;
