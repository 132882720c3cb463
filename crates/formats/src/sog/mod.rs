//! SOG, the format of PlayCanvas: Gaussians as the pixels of lossless WebP images, in version 2; and Streamed SOG, levels of
//! detail in chunks of it, in version 1.
//!
//! Owns the meaning of `meta.json` and of the pixels, whoever wrote them: [`Meta::splats`]. Where images come from is for the caller
//! to know; with the feature `native` they come out of archives and folders, and are written.

#[cfg(feature = "native")]
mod files;
mod images;
mod meta;

#[cfg(feature = "native")]
pub use files::*;
pub use meta::{Coded, Files, Means, Meta, Palette};

/// Name of the file that describes the images.
pub const META: &str = "meta.json";
