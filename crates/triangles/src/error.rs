//! Why an event cannot take place.

/// Anything that stops an event. The model is as it was.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A list that has another length than it must.
    #[error("{found} {what}, and there are {wanted}: the model is damaged")]
    Length {
        /// What is listed.
        what: &'static str,
        /// Its length.
        found: usize,
        /// What it should be.
        wanted: usize,
    },
    /// A triangle names a vertex that is not there.
    #[error("triangle {triangle} names vertex {vertex}, and there are {vertices}: the model is damaged")]
    Index {
        /// The triangle.
        triangle: usize,
        /// The vertex.
        vertex: u32,
        /// Vertices there are.
        vertices: usize,
    },
    /// Pruning would leave nothing.
    #[error(
        "none of {triangles} triangles is opaque and small enough to stay: look at \
         the photos' exposure and at the scene's scale"
    )]
    NoneLeft {
        /// Triangles before.
        triangles: usize,
    },
    /// No triangle between the vertices lies on the surface.
    #[error(
        "no triangle between neighbouring vertices lies on the surface of {triangles} triangles: train on without connecting \
         them (`mesh_splatting.delaunay: false`)"
    )]
    Unconnected {
        /// Triangles before.
        triangles: usize,
    },
    /// A mesh that is no model.
    #[error("it is a mesh and no model of triangles: {what}")]
    NoModel {
        /// What is missing.
        what: String,
    },
    /// The mesh cannot be made, read or written.
    #[error(transparent)]
    Mesh(#[from] kiln_mesh::Error),
}
