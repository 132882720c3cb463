//! The model of coloured triangles with shared vertices: what it is made of on the host.
//!
//! Vertices carry everything that is trained: position, a weight that stands for opacity, and colour as spherical harmonics;
//! triangles are three vertices each. This layer knows nothing of Vulkan. The device keeps the same values as planes, see
//! [`step::triangles`](crate::step).

mod adjacency;
mod model;

pub use adjacency::Adjacency;
pub use model::{GEOMETRY_PLANES, PLANE_WEIGHT, TriangleModel};
