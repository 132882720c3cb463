//! Surfaces of a trained model: depth and normals of views, and the triangle mesh that they make.
//!
//! Owns the way from a model to files: depth of every training view into sparse bricks of voxels in a fixed amount of device memory, marching cubes,
//! colours, cleaning, files. Promises that what is allocated is what was planned; that a smaller budget gives the same bytes,
//! in more slabs; that equal input gives equal files; and that files appear whole or not at all. Refuses what cannot fit
//! before it begins, with the key that would. What triangles are and how they are cleaned is `kiln-mesh`'s.

mod colors;
mod draw;
mod error;
mod fusion;
mod make;
mod report;
mod space;
mod stage;

pub use draw::{DepthScale, Layers};
pub use error::MeshError;
pub use make::{Made, MeshOutlook, Tell};
pub use report::{Dropped, MeshEvent, MeshProgress, MeshReport, MeshStage, StageRow, Surface};
pub use space::Space;
pub use stage::StageSizes;

pub(crate) use draw::draw;
pub(crate) use make::MeshJob;
