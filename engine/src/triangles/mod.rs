//! The other kind of model: coloured triangles with shared vertices, and everything that their training goes on from.
//!
//! Vertices carry what is trained: position, a weight that stands for opacity, and colour as spherical harmonics; triangles are
//! three vertices each. The model itself, its file and its events are those of [`kiln_triangles`]; this layer adds the
//! optimiser's moments and knows nothing of Vulkan. The device keeps the same values as planes.

mod state;

pub use kiln_triangles::{Adjacency, Model as TriangleModel};
pub use state::{Changes, Limits, Maxima, State};

/// Planes of a vertex's geometry: x, y, z and the weight.
pub const GEOMETRY_PLANES: u32 = 4;
/// Plane of the weight.
pub const PLANE_WEIGHT: u32 = 3;
