//! Triangle meshes on the host: files, cleaning, decimation, marching cubes, Poisson reconstruction, charts and scores.
//!
//! Owns what Kiln does with a mesh once it is in host memory; what a device does is the engine's. Every stage is a pure
//! function of its input: equal input gives equal bytes, on any number of threads. Long stages report the fraction
//! done and can be stopped ([`Progress`]). Bad input is an [`Error`] that names the thing, never a panic, and never an
//! allocation that the input does not justify. Refuses nothing silently: what a stage cannot do is counted in what it
//! returns.
//!
//! Conventions: coordinates in scene units, triangles counter-clockwise seen from outside, texture coordinates with
//! their origin in the upper left corner of the picture, colours as photos encode them (sRGB).

pub mod adjacency;
mod boxes;
pub mod charts;
pub mod clean;
mod crossing;
pub mod cull;
mod curve;
pub mod decimate;
pub mod delaunay;
mod edges;
mod error;
pub mod glb;
pub mod holes;
pub mod march;
mod mesh;
pub mod nearest;
pub mod obj;
pub mod orient;
mod parallel;
pub mod peel;
pub mod pieces;
pub mod ply;
pub mod poisson;
mod polygon;
mod progress;
mod random;
pub mod restricted;
pub mod sample;
pub mod score;
mod sets;
pub mod smooth;
pub mod solids;
pub mod spread;
pub mod topology;
mod vector;
mod wedges;
pub mod weld;

#[cfg(test)]
mod alone;
#[cfg(test)]
mod chain;
#[cfg(test)]
mod shapes;

pub use error::Error;
pub use mesh::Mesh;
pub use progress::Progress;
