//! The other kind of model: coloured triangles with shared vertices, and everything that their training goes on from.
//!
//! Vertices carry what is trained: position, a weight that stands for opacity, and colour as spherical harmonics; triangles are
//! three vertices each. Model, moments, file and events are those of [`kiln_triangles`], which knows nothing of Vulkan. The device
//! keeps the same values as planes.

pub use kiln_triangles::{Adjacency, Happened, Limits, Model as TriangleModel, State};

/// Planes of a vertex's geometry: x, y, z and the weight.
pub const GEOMETRY_PLANES: u32 = 4;
/// Plane of the weight.
pub const PLANE_WEIGHT: u32 = 3;

const _: () = assert!(GEOMETRY_PLANES as usize == kiln_triangles::GEOMETRY_PLANES);
