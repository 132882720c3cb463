//! Wavefront OBJ files with their material libraries.

mod read;
mod write;

#[cfg(test)]
mod tests;

pub use read::read;
pub use write::{Material, write, write_material};
