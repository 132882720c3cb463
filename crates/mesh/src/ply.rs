//! PLY files of meshes and of points.

mod read;
mod write;

#[cfg(test)]
mod tests;

pub use read::read;
pub use write::write;
