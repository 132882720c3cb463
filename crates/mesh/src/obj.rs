//! Wavefront OBJ files with their material libraries.

mod library;
mod read;
mod write;

#[cfg(test)]
mod tests;

pub use library::{library, pictures};
pub use read::{read, read_from};
pub use write::{Material, write, write_material};
