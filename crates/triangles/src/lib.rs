//! Models of opaque triangles with shared vertices, on the host: what begins them, and what changes their triangles.
//!
//! Owns the events of MeshSplatting's training (Held et al. 2025): which come after which iteration ([`schedule`]), the
//! first triangles of sparse points ([`start`]), pruning, sampling, subdivision, the opacity floor, the connected surface at the
//! end of all subdivision, and the mesh that goes to files. Everything is a pure function of plain slices: equal input gives
//! equal results on any number of threads, random numbers come from the caller, and no result has more vertices or triangles
//! than the caller allows. Nothing here knows of devices or of a model's colours beyond degree 0: events read [`Triangles`], and say
//! which rows of a model stay or which new ones lie between two others.
//!
//! A vertex has a *weight*, a logit; its opacity is `floor + (1 - floor) sigmoid(weight)`. A triangle has the least opacity of
//! its vertices.

mod adjacency;
mod connect;
mod error;
mod model;
pub mod opacity;
mod prune;
pub mod rows;
mod sample;
pub mod schedule;
mod split;
pub mod start;
mod state;
mod triangles;

#[cfg(test)]
mod soups;

pub use adjacency::Adjacency;
pub use connect::Connected;
pub use error::Error;
pub use model::{Model, is_value};
pub use prune::Pruned;
pub use split::Split;
pub use state::{GEOMETRY_PLANES, Happened, Limits, State};
pub use triangles::{Triangles, host_bytes};
