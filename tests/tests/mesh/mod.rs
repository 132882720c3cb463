//! Depth and normals of splats, voxels, and the meshes that come of them: each kernel against its twin, fusion of exact
//! depth against the solids it was cast from, and `kiln mesh` from the outside.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod bad_input;
mod fusion;
mod level;
mod program;
mod solids;
mod surface;
