//! Textures from photos: [`bake()`] gives a mesh texture coordinates and the picture that they point into.
//!
//! Every texel goes through all photos, in their order, and takes the weighted mean of those that see its place on the surface: the
//! drawn depths of the mesh itself say which those are. Nothing is scattered, so equal input gives equal bytes. Texels go by in
//! batches that the budget has room for; the photos go by once a batch, and the picture does not depend on its size. Texels
//! that no photo sees take the mean of their triangle, and what is left, the gaps between charts included, the mean of what
//! is around it. Exposures that a model learnt are not undone.

mod bake;
mod files;
mod fill;
mod texels;

pub use bake::{BakeSettings, Layout, PhotoOf, TextureProgress, Textured, bake};
pub use files::write_textured;

pub(in crate::mesh) use bake::least_bytes;
