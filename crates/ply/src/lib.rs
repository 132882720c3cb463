//! PLY files: headers, number types and rows, for the engine, its meshes and the viewer.
//!
//! Owns the format (Turk 1994): the header in both directions, rows of text and of either byte order. Promises that no
//! count in a file is believed: memory is bounded by [`MAX_HEADER_BYTES`], [`MAX_LIST_ITEMS`] and the longest line. Refuses, with the line,
//! headers that are no PLY header or define a property twice. What the properties mean is for the caller to know.

mod header;
mod origin;
mod reader;
mod scalar;

pub use header::{BadLine, Element, Format, Header, MAX_HEADER_BYTES, Property};
pub use origin::{origin_comment, origin_of, parse_origin};
pub use reader::{Error, MAX_LIST_ITEMS, Reader};
pub use scalar::Scalar;

#[cfg(test)]
mod tests;
