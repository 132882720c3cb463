//! Levels of detail: a tree of leaves in space, and fewer Gaussians for each leaf that look like more.
//!
//! A level is made of the one before, leaf by leaf, so that memory is that of a few leaves, and levels of neighbouring
//! leaves go together whichever of them a viewer shows: no Gaussian stands for those of two leaves.

mod cloud;
mod leaves;
mod merge;
mod neighbors;
mod reduce;
mod shape;
mod tree;

pub use cloud::Cloud;
pub use leaves::{LEAF, each_leaf};
pub use reduce::reduce;
pub use tree::{Node, Tree};
