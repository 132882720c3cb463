//! PLY files of meshes and of points.

mod read;
mod write;

#[cfg(test)]
mod tests;

pub use read::{read, read_from, read_with};
pub use write::{write, write_with};

/// Numbers of vertices that have no place in a mesh.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values {
    /// Their names in files.
    pub names: Vec<String>,
    /// A number per name, vertex after vertex.
    pub values: Vec<f32>,
    /// Comments of the file.
    pub comments: Vec<String>,
}
